"""Every fault as the openai SDK for Python sees it: the exception, the number of attempts, and that neighbours go on."""
import json
import os
import urllib.request

import httpx
import openai

base = os.environ["OPENAI_BASE_URL"]
root = base.removesuffix("/v1")
client = openai.OpenAI(api_key="none", timeout=5)


def journal():
    body = json.dumps({}).encode()
    request = urllib.request.Request(root + "/sim/requests/find", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)["requests"]


def ask(fault, stream=False, retries=2, timeout=5):
    """One request under a fault: the answer or the exception, and how many attempts it took."""
    urllib.request.urlopen(urllib.request.Request(root + "/sim/requests", method="DELETE"))
    c = client.with_options(max_retries=retries, timeout=timeout)
    try:
        out = c.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "Hi"}], max_tokens=8, stream=stream,
            extra_headers={"x-sim-fault": fault}, extra_body={"ignore_eos": True})
        result = [chunk for chunk in out] if stream else out
    except Exception as e:
        result = e
    return result, len(journal())


for fault, kind, attempts in [
    ("status=400", openai.BadRequestError, 1),
    ("status=401", openai.AuthenticationError, 1),
    ("status=404", openai.NotFoundError, 1),
    ("status=429;retry-after-ms=1", openai.RateLimitError, 3),
    ("status=429;should-retry=false", openai.RateLimitError, 1),
    ("status=500;retry-after-ms=1", openai.InternalServerError, 3),
    ("status=503;retry-after-ms=1", openai.InternalServerError, 3),
    ("reset;at=0", openai.APIConnectionError, 3),
]:
    result, n = ask(fault)
    assert isinstance(result, kind) and n == attempts, (fault, result, n)

result, n = ask("hang", retries=0, timeout=0.5)
assert isinstance(result, openai.APITimeoutError) and n == 1, result
result, _ = ask("hang=200ms")
assert result.choices[0].message.content, result
result, _ = ask("error;at=3;message=overloaded", stream=True)
assert isinstance(result, openai.APIError) and "overloaded" in str(result), result
result, _ = ask("malformed;at=3", stream=True)
assert isinstance(result, json.JSONDecodeError), result
for fault in ("reset;at=3", "truncate;at=3", "close;at=3"):
    result, n = ask(fault, stream=True)
    assert isinstance(result, (httpx.TransportError, openai.APIError, json.JSONDecodeError)) and n == 1, (fault, result, n)
for fault in ("no-done", "double-done", "stall=100ms;at=3", "drip=1ms;bytes=64"):
    result, _ = ask(fault, stream=True)
    assert isinstance(result, list) and result[-1].choices[0].finish_reason, (fault, result)
assert client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}]).choices[0].message.content
print("openai (Python) under faults: fine")
