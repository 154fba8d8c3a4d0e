"""openai-agents (Python): an agent that calls a tool and then answers."""
import asyncio

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)
seen = []


@function_tool
def weather(city: str) -> str:
    """The weather of a city."""
    seen.append(city)
    return "sunny"


async def main() -> None:
    model = OpenAIChatCompletionsModel(model="gpt-4o", openai_client=AsyncOpenAI(api_key="none"))
    agent = Agent(name="a", instructions="Use the tool.", tools=[weather], model=model)
    result = await Runner.run(agent, "Weather in Paris?", max_turns=5)
    assert result.final_output and seen, (result, seen)
    streamed = Runner.run_streamed(agent, "Weather in Rome?", max_turns=5)
    kinds = {event.type async for event in streamed.stream_events()}
    assert "raw_response_event" in kinds, kinds


asyncio.run(main())
print("openai-agents (Python): fine")
