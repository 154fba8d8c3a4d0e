#!/usr/bin/env bash
# A load generator: 50 requests a second for two seconds. The engine's own histogram and the client's agree on what a
# request costs: one prefill of 40 ms and nine decode steps of 5 ms.
set -euo pipefail
vegeta="$(go env GOPATH)/bin/vegeta"
[ -x "$vegeta" ] || go install github.com/tsenart/vegeta/v12@v12.12.0
body=$(mktemp)
trap 'rm -f "$body"' EXIT
echo '{"model":"m","max_tokens":10,"ignore_eos":true,"messages":[{"role":"user","content":"Hi"}]}' >"$body"
printf 'POST %s/chat/completions\nContent-Type: application/json\n@%s\n' "$OPENAI_BASE_URL" "$body" |
  "$vegeta" attack -rate 50 -duration 2s | "$vegeta" report -type json |
  python3 -c 'import json, sys
r = json.load(sys.stdin)
assert r["success"] == 1 and r["requests"] == 100, r
assert r["latencies"]["min"] >= 85e6, r["latencies"]
print("vegeta: 100 requests, all answered, none faster than the engine")'
