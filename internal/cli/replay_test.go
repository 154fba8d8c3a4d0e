package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fakellm/config"
	"fakellm/internal/assembly"
)

// traced runs `fakellm replay` over a trace of one good row and the rows given, in a folder of its own.
func traced(t *testing.T, rows string, args ...string) (code int, stdout, stderr, folder string) {
	t.Helper()
	folder = t.TempDir()
	name := filepath.Join(folder, "t.jsonl")
	const row = `{"timestamp": 0, "input_length": 128, "output_length": 3, "hash_ids": [1]}` + "\n"
	if err := os.WriteFile(name, []byte(row+rows), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "$DIR", folder)
	}
	code, stdout, stderr = command(append([]string{"replay", name}, args...)...)
	return code, stdout, stderr, folder
}

func command(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = Main(Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err, Version: "test"})
	return code, out.String(), err.String()
}

func TestReplayWritesWhatItSaw(t *testing.T) {
	code, stdout, stderr, folder := traced(t, "", "--per-request-jsonl", "$DIR/r.jsonl", "--report-json", "$DIR/r.json")
	if code != ExitOK || !strings.HasPrefix(stdout, "1 requests, 1 completed, 0.030 s simulated") {
		t.Fatalf("exit %d, %q, %q", code, stdout, stderr)
	}
	line, err := os.ReadFile(filepath.Join(folder, "r.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	// Source: the reference's answer to 128 tokens in, 3 out, defaults (spec engine-core §2.10).
	for _, part := range []string{`"first_token_ms": 18.451798,`, `"last_token_ms": 29.945138,`, `"ttst_ms": 5.746644,`} {
		if !bytes.Contains(line, []byte(part)) {
			t.Errorf("%s lacks %s", line, part)
		}
	}
	data, err := os.ReadFile(filepath.Join(folder, "r.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report struct{ Summary map[string]any }
	if err := json.Unmarshal(data, &report); err != nil || report.Summary["total_output_tokens"] != 3.0 {
		t.Errorf("report %s, %v", data, err)
	}
}

// TestReplayWarnsWhenNothingCompleted: that nobody was served may be the finding; it must not be overlooked.
func TestReplayWarnsWhenNothingCompleted(t *testing.T) {
	const fits = `{"timestamp": 1, "input_length": 1, "output_length": 1, "hash_ids": [2]}` + "\n"
	for _, row := range []struct {
		why, rows string
		args      []string
		stderr    string
	}{
		{
			"one of two is served", fits, []string{"--num-gpu-blocks", "1"}, "",
		},
		{
			"the only one fits no pool", "",
			[]string{"--num-gpu-blocks", "1"},
			"fakellm: warning: none of 1 requests completed; 1 rejected: ",
		},
		{
			"time is over before the first token", "",
			[]string{"--max-sim-time-seconds", "0.001"},
			"fakellm: warning: none of 1 requests ended within max_sim_time_seconds",
		},
	} {
		args := []string{"--per-request-jsonl", "$DIR/r.jsonl", "--report-json", "$DIR/r.json"}
		code, stdout, stderr, folder := traced(t, row.rows, append(args, row.args...)...)
		if code != ExitOK || !strings.Contains(stderr, row.stderr) || stdout == "" {
			t.Errorf("%s: exit %d, %q, %q", row.why, code, stdout, stderr)
		}
		for _, name := range []string{"r.jsonl", "r.json"} {
			if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
				t.Errorf("%s: %v", row.why, err)
			}
		}
	}
}

// TestReplayOfNothing: an empty trace is a mistake of whoever made it.
func TestReplayOfNothing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "empty.jsonl")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := command("replay", name); code != ExitFailure || !strings.Contains(stderr, "no request to replay") {
		t.Errorf("exit %d, %q", code, stderr)
	}
}

func TestReplayTwiceIsEqualToTheByte(t *testing.T) {
	args := []string{
		"replay", "--input-tokens", "200", "--output-tokens", "30", "--request-count", "50", "--request-rate", "40",
		"--shared-prefix-ratio", "0.5", "--num-prefix-groups", "3", "--num-workers", "2", "--num-gpu-blocks", "60",
		"--per-request-jsonl",
	}
	var lines [2][]byte
	for i := range lines {
		name := filepath.Join(t.TempDir(), "r.jsonl")
		if code, _, stderr := command(append(args, name)...); code != ExitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		var err error
		if lines[i], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(lines[0], lines[1]) {
		t.Error("two runs differ")
	}
}

func TestReplayEngineArguments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "args.json")
	const fixed = `{"engine": {"max_num_batched_tokens": null,
		"timing_model": {"type": "fixed", "prefill_ms": 10, "decode_ms": 2}}}`
	if err := os.WriteFile(file, []byte(fixed), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ why, args, first string }{
		{"inline", fixed, `"first_token_ms": 10,`},
		{"from a file", "@" + file, `"first_token_ms": 10,`},
		{"a ratio of 0 leaves durations alone", `{"engine": {"speedup_ratio": 0}}`, `"first_token_ms": 18.451798,`},
		{"a speed-up", `{"engine": {"speedup_ratio": 2}, "dp_size": 1}`, `"first_token_ms": 9.225899,`},
		{
			"keys without effect here", `{"engine": {"emit_kv_events": true}, "dynamo": {"bootstrap_port": null}}`,
			`18.451798,`,
		},
		{"rates as a list", `{"engine": {"aic_nextn": 2, "aic_nextn_accept_rates": "1, 1"}}`, `"first_token_ms": 24.198391,`},
	} {
		code, _, stderr, folder := traced(t, "", "--extra-engine-args", c.args, "--per-request-jsonl", "$DIR/r")
		line, _ := os.ReadFile(filepath.Join(folder, "r"))
		if code != ExitOK || !bytes.Contains(line, []byte(c.first)) {
			t.Errorf("%s: exit %d, %s, %s", c.why, code, stderr, line)
		}
	}
}

func TestReplayRefuses(t *testing.T) {
	for _, c := range []struct {
		why, rows string
		args      []string
		want      string
	}{
		{"a bad row", `{"timestamp": 0}`, nil, "t.jsonl:2: hash_ids: missing"},
		{"a row without a stamp", `{"output_length": 1, "hash_ids": [1]}`, nil, "t.jsonl:2: timestamp: missing"},
		{
			"an unknown key", "",
			[]string{"--extra-engine-args", `{"engine": {"blok_size": 4}}`},
			"engine.blok_size: unknown key",
		},
		{"an engine key at the top", "", []string{"--extra-engine-args", `{"block_size": 4}`}, "block_size: unknown key"},
		{"no JSON", "", []string{"--extra-engine-args", `{"engine"`}, "extra_engine_args: line 1"},
		{"no object", "", []string{"--extra-engine-args", `[]`}, "must be a JSON object"},
		{"no file", "", []string{"--extra-engine-args", "@/nowhere"}, "/nowhere"},
		{"a text for a number", "", []string{"--extra-engine-args", `{"engine": {"block_size": "4"}}`}, "engine.block_size"},
		{
			"null for the pool", "",
			[]string{"--extra-engine-args", `{"engine": {"num_gpu_blocks": 0}}`},
			"engine.num_gpu_blocks",
		},
		{
			"another backend", "",
			[]string{"--extra-engine-args", `{"engine": {"backend": "tgi"}}`},
			"vllm or sglang or trtllm",
		},
		{"offload", "", []string{"--extra-engine-args", `{"engine": {"g3_offload": {}}}`}, "g3_offload: not supported yet"},
		{"a KV router", "", []string{"--router-mode", "kv_router"}, `router_mode "kv_router"`},
		{"another format", "", []string{"--trace-format", "weka"}, `trace_format "weka"`},
		{"disaggregation", "", []string{"--prefill-engine-args", "{}"}, "prefill-engine-args: not supported yet"},
		{"no block", "", []string{"--trace-block-size", "0"}, "trace_block_size 0"},
		{"no concurrency", "", []string{"--replay-concurrency", "0"}, "replay_concurrency 0"},
		{"no speed", "", []string{"--arrival-speedup-ratio", "0"}, "arrival_speedup_ratio 0"},
		{"negative time", "", []string{"--max-sim-time-seconds", "-1"}, "max_sim_time_seconds -1"},
		{"trace and made-up load", "", []string{"--request-count", "1"}, "request-count: belongs to a made-up load"},
		{"no worker", "", []string{"--num-workers", "0"}, "num-workers"},
		{"an unknown flag", "", []string{"--colour"}, "--colour"},
	} {
		code, stdout, stderr, _ := traced(t, c.rows, c.args...)
		if code != ExitUsage || !strings.Contains(stderr, c.want) || stdout != "" {
			t.Errorf("%s: exit %d, %q, want %q", c.why, code, stderr, c.want)
		}
	}
	for _, c := range []struct {
		why, args, want string
	}{
		{"nothing", "", "a trace file, or"},
		{"no such file", "/nowhere.jsonl", "/nowhere.jsonl"},
		{
			"two rates", "--input-tokens 1 --output-tokens 1 --request-count 1 --request-rate 1 --arrival-interval-ms 1",
			"exactly one",
		},
		{"no rate", "--input-tokens 1 --output-tokens 1 --request-count 1", "exactly one"},
		{"a rate of 0", "--input-tokens 1 --output-tokens 1 --request-count 1 --request-rate 0", "request_rate 0"},
		{"no output", "--input-tokens 1 --request-count 1 --request-rate 1", "output_tokens 0"},
	} {
		code, _, stderr := command(append([]string{"replay"}, strings.Fields(c.args)...)...)
		if code != ExitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d, %q, want %q", c.why, code, stderr, c.want)
		}
	}
}

func TestReplayFailsWhenItCannotWrite(t *testing.T) {
	code, _, stderr, _ := traced(t, "", "--report-json", "$DIR/no/such/folder.json")
	if code != ExitFailure || !strings.Contains(stderr, "folder.json") {
		t.Errorf("exit %d, %q", code, stderr)
	}
}

// TestReplaySizesThePool: a named GPU sizes the pool in replay as it does in serve, unless the reference's own arguments
// describe the engine.
func TestReplaySizesThePool(t *testing.T) {
	for _, row := range []struct {
		why, extra string
		want       int
	}{
		{"flags: what an H100 holds beside an 8B model (spec analytic-timing §5)", "", 6765},
		{"the reference's arguments: its default", `{"engine": {}}`, 16384},
	} {
		c := config.Default()
		c.GPU, c.GPUModel = "h100_sxm", "llama-3.1-8b"
		timing, err := assembly.Timing(&c)
		if err != nil {
			t.Fatal(err)
		}
		f := replayFlags{engineArgs: row.extra}
		if got, err := f.worker(&c, timing); err != nil || got.NumGPUBlocks != row.want {
			t.Errorf("%s: %d blocks, want %d (%v)", row.why, got.NumGPUBlocks, row.want, err)
		}
	}
}
