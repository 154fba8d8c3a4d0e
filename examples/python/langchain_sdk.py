"""LangChain (Python): streaming, tools and structured output through ChatOpenAI."""
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

llm = ChatOpenAI(model="gpt-4o", api_key="none", max_tokens=40)
assert "".join(c.text if isinstance(c.text, str) else c.text() for c in llm.stream("Hi"))


class Weather(BaseModel):
    """Say the weather of a city."""

    city: str


calls = llm.bind_tools([Weather], tool_choice="any").invoke("Weather in Paris?").tool_calls
assert calls[0]["name"] == "Weather" and isinstance(calls[0]["args"]["city"], str), calls
assert isinstance(llm.with_structured_output(Weather).invoke("Weather in Paris?"), Weather)
print("LangChain (Python): fine")
