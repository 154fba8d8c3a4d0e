"""pydantic-ai: an agent with a tool, a structured result, and a stream."""
import asyncio
import os

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

model = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(base_url=os.environ["OPENAI_BASE_URL"], api_key="none"))
seen = []


class Answer(BaseModel):
    city: str
    degrees: int


agent = Agent(model)


@agent.tool_plain
def weather(city: str) -> str:
    """The weather of a city."""
    seen.append(city)
    return "sunny"


assert agent.run_sync("What is the weather in Paris?").output and seen, seen
assert isinstance(Agent(model, output_type=Answer).run_sync("Weather?").output, Answer)


async def stream() -> str:
    async with Agent(model).run_stream("Hi") as result:
        return "".join([part async for part in result.stream_text(delta=True)])


assert asyncio.run(stream())
print("pydantic-ai: fine")
