// LangChain (JS): streaming, tools, structured output.
import assert from 'node:assert'
import { ChatOpenAI } from '@langchain/openai'
import { z } from 'zod'

const llm = new ChatOpenAI({ model: 'gpt-4o', apiKey: 'none', maxTokens: 40, configuration: { baseURL: process.env.OPENAI_BASE_URL } })
let text = ''
for await (const chunk of await llm.stream('Hi')) text += chunk.content
assert(text)
const Weather = z.object({ city: z.string() })
const bound = llm.bindTools([{ name: 'weather', description: 'w', schema: Weather }], { tool_choice: 'any' })
const calls = (await bound.invoke('Weather in Paris?')).tool_calls
assert.equal(typeof calls[0].args.city, 'string')
assert(Weather.safeParse(await llm.withStructuredOutput(Weather).invoke('Weather?')).success)
console.log('LangChain (JS): fine')
