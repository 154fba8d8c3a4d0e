"""LlamaIndex: chat and stream through its OpenAI-like client."""
import os

from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike

llm = OpenAILike(model="m", api_base=os.environ["OPENAI_BASE_URL"], api_key="none", is_chat_model=True, max_tokens=20)
messages = [ChatMessage(role="user", content="Hi")]
assert llm.chat(messages).message.content
assert "".join(part.delta or "" for part in llm.stream_chat(messages))
print("LlamaIndex: fine")
