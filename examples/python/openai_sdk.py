"""openai (Python): streaming, usage, tools, structured output. OPENAI_BASE_URL says where fakellm listens."""
import json

from openai import OpenAI
from pydantic import BaseModel

client = OpenAI(api_key="none")


class City(BaseModel):
    name: str
    inhabitants: int


stream = client.chat.completions.create(
    model="gpt-4o", messages=[{"role": "user", "content": "Hi"}], max_completion_tokens=12, stream=True,
    stream_options={"include_usage": True}, extra_body={"ignore_eos": True},
)
text, usage = "", None
for chunk in stream:
    usage = chunk.usage or usage
    if chunk.choices:
        text += chunk.choices[0].delta.content or ""
assert text and usage.completion_tokens == 12, usage

weather = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
messages = [{"role": "user", "content": "What is the weather in Paris?"}]
first = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[weather], tool_choice="required").choices[0]
assert first.finish_reason == "tool_calls", first
call = first.message.tool_calls[0]
assert isinstance(json.loads(call.function.arguments)["city"], str)
messages += [first.message, {"role": "tool", "tool_call_id": call.id, "content": "sunny"}]
second = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[weather]).choices[0]
assert second.finish_reason in ("stop", "length") and second.message.content, second  # the agent loop ends

with client.chat.completions.stream(model="gpt-4o", messages=messages[:1], tools=[weather], tool_choice="required") as events:
    calls = events.get_final_completion().choices[0].message.tool_calls
assert json.loads(calls[0].function.arguments)

city = client.chat.completions.parse(model="gpt-4o", messages=messages[:1], response_format=City).choices[0].message.parsed
assert isinstance(city, City)

assert client.completions.create(model="m", prompt="Once", max_tokens=3).usage.completion_tokens == 3
assert client.models.list().data
print("openai (Python): fine")
