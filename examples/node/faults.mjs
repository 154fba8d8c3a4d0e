// Faults as the openai SDK for Node sees them: the exception and the number of attempts.
import assert from 'node:assert'
import OpenAI from 'openai'

const root = process.env.OPENAI_BASE_URL.replace(/\/v1$/, '')
const journal = async () => (await (await fetch(root + '/sim/requests/find', { method: 'POST', body: '{}' })).json()).requests

async function ask(fault, { stream = false, timeout = 5000 } = {}) {
  await fetch(root + '/sim/requests', { method: 'DELETE' })
  const client = new OpenAI({ apiKey: 'none', timeout, maxRetries: 2 })
  let result
  try {
    const out = await client.chat.completions.create(
      { model: 'm', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 8, stream, ignore_eos: true },
      { headers: { 'x-sim-fault': fault } })
    result = out
    if (stream) {
      result = []
      for await (const chunk of out) result.push(chunk)
    }
  } catch (e) {
    result = e
  }
  return [result, (await journal()).length]
}

for (const [fault, kind, attempts] of [
  ['status=400', OpenAI.BadRequestError, 1],
  ['status=429;retry-after-ms=1', OpenAI.RateLimitError, 3],
  ['status=429;should-retry=false', OpenAI.RateLimitError, 1],
  ['status=500;retry-after-ms=1', OpenAI.InternalServerError, 3],
  ['reset;at=0', OpenAI.APIConnectionError, 3],
]) {
  const [result, n] = await ask(fault)
  assert(result instanceof kind && n === attempts, `${fault}: ${result} after ${n}`)
}
const [hung] = await ask('hang', { timeout: 300 })
assert(hung instanceof OpenAI.APIConnectionTimeoutError, `${hung}`)
const [broken] = await ask('error;at=3;message=overloaded', { stream: true })
assert(broken instanceof OpenAI.APIError && /overloaded/.test(broken.message), `${broken}`)
for (const fault of ['reset;at=3', 'malformed;at=3', 'truncate;at=3']) {
  const [result, n] = await ask(fault, { stream: true })
  assert(result instanceof Error && n === 1, `${fault}: ${result} after ${n}`)
}
for (const fault of ['no-done', 'double-done', 'stall=100ms;at=3', 'drip=1ms;bytes=64']) {
  const [result] = await ask(fault, { stream: true })
  assert(Array.isArray(result) && result.at(-1).choices[0].finish_reason, `${fault}: ${result}`)
}
console.log('openai (Node) under faults: fine')
