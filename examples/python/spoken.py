"""openai (Python): an answer in sound, whole and streamed, and the turn after it."""
import base64
import io
import wave

from openai import BadRequestError, OpenAI

client = OpenAI(api_key="none")
messages = [{"role": "user", "content": "Say hello"}]
spoken = {"model": "gpt-4o-audio-preview", "modalities": ["text", "audio"], "max_completion_tokens": 70}

whole = client.chat.completions.create(messages=messages, audio={"voice": "alloy", "format": "wav"}, **spoken)
message, usage = whole.choices[0].message, whole.usage
sound = wave.open(io.BytesIO(base64.b64decode(message.audio.data)))
assert message.content is None and message.audio.transcript, message
assert sound.getframerate() == 24000 and usage.completion_tokens_details.audio_tokens == sound.getnframes() // 1200 > 0, usage

transcript, pcm, ident = "", b"", None
for chunk in client.chat.completions.create(
    messages=messages, audio={"voice": "alloy", "format": "pcm16"}, stream=True, **spoken
):
    part = getattr(chunk.choices[0].delta, "audio", None) or {}
    ident = part.get("id", ident)
    transcript += part.get("transcript", "")
    pcm += base64.b64decode(part.get("data", ""))
assert transcript == message.audio.transcript and pcm == sound.readframes(sound.getnframes()) and ident

messages += [{"role": "assistant", "audio": {"id": ident}}, {"role": "user", "content": "And now in text"}]
second = client.chat.completions.create(model="gpt-4o-audio-preview", messages=messages)
assert second.usage.prompt_tokens > usage.prompt_tokens and second.choices[0].message.content

try:
    client.chat.completions.create(messages=messages, audio={"voice": "alloy", "format": "mp3"}, **spoken)
    raise SystemExit("mp3 was answered")
except BadRequestError as e:
    assert e.param == "audio.format", e
print("openai (Python), spoken: fine")
