// openai (Node): streaming, tools, structured output. OPENAI_BASE_URL says where fakellm listens.
import assert from 'node:assert'
import OpenAI from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import { z } from 'zod'

const client = new OpenAI({ apiKey: 'none' })
const messages = [{ role: 'user', content: 'Weather in Paris?' }]
const stream = await client.chat.completions.create({ model: 'gpt-4o', messages, max_completion_tokens: 9, stream: true, stream_options: { include_usage: true } })
let text = '', usage
for await (const chunk of stream) {
  text += chunk.choices[0]?.delta?.content ?? ''
  usage = chunk.usage ?? usage
}
assert(text && usage.completion_tokens <= 9)

const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } } }]
const calls = client.chat.completions.stream({ model: 'gpt-4o', messages, tools, tool_choice: 'required' })
const final = await calls.finalChatCompletion()
assert.equal(final.choices[0].finish_reason, 'tool_calls')
assert.equal(typeof JSON.parse(final.choices[0].message.tool_calls[0].function.arguments).city, 'string')

const City = z.object({ name: z.string(), inhabitants: z.number().int() })
const parsed = await client.chat.completions.parse({ model: 'gpt-4o', messages, response_format: zodResponseFormat(City, 'city') })
assert(City.safeParse(parsed.choices[0].message.parsed).success)

const runner = client.chat.completions.runTools({
  model: 'gpt-4o', messages,
  tools: [{ type: 'function', function: { name: 'weather', parse: JSON.parse, function: () => 'sunny', parameters: tools[0].function.parameters } }],
})
assert(await runner.finalContent())
console.log('openai (Node): fine')
