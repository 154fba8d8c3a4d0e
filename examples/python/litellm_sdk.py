"""LiteLLM: completion, stream with usage, tools."""
import json
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # do not look for prices on the network

import litellm

common = {"model": "openai/m", "api_base": os.environ["OPENAI_BASE_URL"], "api_key": "none",
          "messages": [{"role": "user", "content": "Hi"}]}
assert litellm.completion(**common, max_tokens=8).usage.completion_tokens <= 8
parts = list(litellm.completion(**common, max_tokens=8, stream=True, stream_options={"include_usage": True}))
assert "".join(p.choices[0].delta.content or "" for p in parts if p.choices)
tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}}}
call = litellm.completion(**common, tools=[tool], tool_choice="required").choices[0].message.tool_calls[0]
assert isinstance(json.loads(call.function.arguments)["x"], int)
print("LiteLLM: fine")
