"""instructor: a typed answer through tools and through a JSON schema."""
import instructor
from openai import OpenAI
from pydantic import BaseModel, Field


class User(BaseModel):
    name: str = Field(min_length=1)
    age: int = Field(ge=0, le=150)
    tags: list[str]


for mode in (instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA):
    client = instructor.from_openai(OpenAI(api_key="none"), mode=mode)
    user = client.chat.completions.create(model="gpt-4o", response_model=User, messages=[{"role": "user", "content": "A user"}])
    assert isinstance(user, User), user
print("instructor: fine")
