// openai-agents (JS): an agent that calls a tool and then answers.
import assert from 'node:assert'
import { Agent, OpenAIChatCompletionsModel, Runner, setTracingDisabled, tool } from '@openai/agents'
import OpenAI from 'openai'
import { z } from 'zod'

setTracingDisabled(true)
let asked = 0
const weather = tool({ name: 'weather', description: 'weather of a city', parameters: z.object({ city: z.string() }), execute: async () => (asked++, 'sunny') })
const model = new OpenAIChatCompletionsModel(new OpenAI({ apiKey: 'none' }), 'gpt-4o')
const agent = new Agent({ name: 'a', instructions: 'Use the tool.', tools: [weather], model })
const result = await new Runner().run(agent, 'Weather in Paris?', { maxTurns: 5 })
assert(asked > 0 && result.finalOutput)
console.log('openai-agents (JS): fine')
