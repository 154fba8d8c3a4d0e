// Vercel AI SDK: its chunk readers are the strictest.
import assert from 'node:assert'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateObject, generateText, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'

const model = createOpenAICompatible({ name: 'fakellm', baseURL: process.env.OPENAI_BASE_URL, supportsStructuredOutputs: true, includeUsage: true })('gpt-4o')
const streamed = streamText({ model, prompt: 'Hi', maxOutputTokens: 12 })
let text = ''
for await (const part of streamed.textStream) text += part
assert(text && (await streamed.usage).outputTokens <= 12)

let asked = 0
const weather = tool({ description: 'weather', inputSchema: z.object({ city: z.string() }), execute: async () => (asked++, 'sunny') })
const answer = await generateText({ model, prompt: 'Weather in Paris?', tools: { weather }, stopWhen: stepCountIs(4) })
assert(asked > 0 && answer.text, 'the tool is called, then an answer ends the loop')

const { object } = await generateObject({ model, prompt: 'A city', schema: z.object({ name: z.string(), size: z.number() }) })
assert.equal(typeof object.name, 'string')
console.log('AI SDK: fine')
