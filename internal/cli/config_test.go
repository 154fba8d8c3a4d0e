package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSettingsNameTheirOrigin: problems that are found while building are told like those found while parsing, with file
// and line, variable or flag.
func TestSettingsNameTheirOrigin(t *testing.T) {
	others := map[string]string{ // what a setting needs beside it
		"tensor_parallel_size": "gpu: h100_sxm\ngpu_model: llama-3.1-8b\n", "gpu_model": "gpu: h100_sxm\n",
		"zmq_fpm_port": "num_workers: 2\n",
	}
	for _, row := range []struct{ why, setting, value, want string }{
		{"a limit", "limit", `n=x/1`, `limit: "n=x/1": "x" is no whole number`},
		{"an unknown GPU", "gpu", `h999`, `gpu "h999": known are`},
		{"a GPU without a model", "gpu", `h100_sxm`, `gpu: gpu_model is empty: model "gpt-4o": neither`},
		{"a model that no GPU is known for", "gpu_model", `gpt-9`, `gpu_model: model "gpt-9": neither`},
		{"a degree that the model forbids", "tensor_parallel_size", `3`, `tensor_parallel_size: tp 3: does not divide`},
		{"rates without drafts", "acceptance_rates", `0.5`, `acceptance_rates: set num_speculative_tokens`},
		{"a setting of another backend", "prefill_decode_interval", `1`, `prefill_decode_interval 1: only sglang has it`},
		{"an endpoint without a tape", "record_from", `http://x`, `record_from "http://x": needs record_to`},
		{"a file that is not there", "mappings", `nofile.yaml`, `mappings: open nofile.yaml`},
		{"faults that are not there", "faults", `nofile.yaml`, `faults: open nofile.yaml`},
		{"a tape that is not there", "replay_tape", `no.jsonl`, `replay_tape: open no.jsonl`},
		{"a model without its settings", "timing", `profile`, `timing: profile needs planner_profile_data`},
		{"a profile that is not there", "planner_profile_data", `no.npz`, `planner_profile_data no.npz`},
		{"tables that are not named", "aic_system", `h200_sxm`, `aic_system h200_sxm: needs aic_systems_dir`},
		{"a topic that would stay", "kv_events_topic", `{foo}`, `kv_events_topic: "{foo}": {foo} is none of {worker}`},
		{"a spread that no answer has", "output_sigma", `11`, `output_sigma 11: want 0 to 10`},
		{"ports beyond the last", "zmq_fpm_port", `65535`, `zmq_fpm_port 65535: the port of the last`},
	} {
		folder := t.TempDir()
		file, more := filepath.Join(folder, "cc.yaml"), filepath.Join(folder, "more.yaml")
		for name, text := range map[string]string{
			file: "host: localhost\n" + row.setting + ": '" + row.value + "'\n" + others[row.setting], more: others[row.setting],
		} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		flag, variable := "--"+strings.ReplaceAll(row.setting, "_", "-"), "FAKELLM_"+strings.ToUpper(row.setting)
		for _, from := range []struct {
			at   string
			args []string
			env  []string
		}{
			{file + ":2", []string{"--config", file}, nil},
			{"environment " + variable, []string{"--config", more}, []string{variable + "=" + row.value}},
			{"flag " + flag, []string{"--config", more, flag, row.value}, nil},
		} {
			for _, cmd := range [][]string{{"config", "check"}, {"serve", "--port", "0"}} {
				var out, stderr bytes.Buffer
				code := Main(Env{
					Args: append(cmd, from.args...), Environ: from.env, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &stderr,
				})
				if want := from.at + ": " + row.want; code != ExitUsage || !strings.Contains(stderr.String(), want) {
					t.Errorf("%s, %s: exit %d, %q, want %q in it", row.why, cmd[0], code, stderr.String(), want)
				}
			}
		}
	}
}

// TestEverySettingProblem: a bad timing model hides no problem of the engine.
func TestEverySettingProblem(t *testing.T) {
	_, _, stderr := command("config", "check", "--gpu", "h999", "--model", "gpt-9", "--backend", "sglang", "--block-size", "3")
	for _, want := range []string{
		`flag --gpu: gpu "h999"`, `flag --model: model "gpt-9"`, `flag --block-size: chunked_prefill_size 8192`,
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%s lacks %s", stderr, want)
		}
	}
}

// TestEveryProblemAtOnce: a value out of range hides nothing that is found while building.
func TestEveryProblemAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.yaml")
	text := "max_num_seqs: -3\nlimit: [b]\nmappings: /nope\nacceptance_rates: \"2\"\nnum_speculative_tokens: 2\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range [][]string{{"config", "check"}, {"serve"}} {
		code, _, stderr := command(append(cmd, "--config", path)...)
		if code != ExitUsage || strings.Count(stderr, "bad.yaml:") != 4 {
			t.Errorf("exit %d, %s", code, stderr)
		}
		for _, want := range []string{
			`bad.yaml:1: max_num_seqs: -3 is below 0`, `bad.yaml:2: limit: `, `bad.yaml:3: mappings: open /nope`,
			`bad.yaml:4: acceptance_rates 2: must be between 0 and 1`,
		} {
			if !strings.Contains(stderr, want) {
				t.Errorf("%v: %s lacks %s", cmd, stderr, want)
			}
		}
	}
}

// TestMessagesSayWhere: messages name what is wrong and where it was given.
func TestMessagesSayWhere(t *testing.T) {
	faults := filepath.Join(t.TempDir(), "flts.yaml")
	if err := os.WriteFile(faults, []byte("faults:\n  - fautl: x\n  - first: [a]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(t.TempDir(), "open.yaml")
	if err := os.WriteFile(open, []byte("faults:\n  - fault: [x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"--block-size", "3000000000"}, "flag --block-size: block_size 3000000000: is too large, at most 2147483647"},
		{[]string{"--tpm", "99999999999999999999"}, `"--tpm" flag: too large, at most 9223372036854775807`},
		{[]string{"--tpm", "-99999999999999999999"}, `"--tpm" flag: too small, at least -9223372036854775808`},
		{[]string{"--tpm", "many"}, `must be an integer`},
		{[]string{"--config", "/nope"}, "flag --config: open /nope"},
		{[]string{"--faults", faults}, "flts.yaml:2: unknown key fautl"},
		{[]string{"--faults", faults}, "flts.yaml:3: "},
		{[]string{"--faults", open}, "open.yaml:2: did not find expected ',' or ']'"},
		{[]string{"--zmq-replay-port", "5558"}, "flag --zmq-replay-port: zmq_replay_port 5558: needs zmq_kv_events_port"},
	} {
		code, _, stderr := command(append([]string{"config", "check"}, row.args...)...)
		if code != ExitUsage || !strings.Contains(stderr, row.want) {
			t.Errorf("%v: exit %d, %s lacks %s", row.args, code, stderr, row.want)
		}
	}
	var stderr strings.Builder
	code := Main(Env{Args: []string{"config", "check"}, Environ: []string{"FAKELLM_CONFIG=/nope"}, Stdout: io.Discard, Stderr: &stderr})
	if code != ExitUsage || !strings.Contains(stderr.String(), "environment FAKELLM_CONFIG: open /nope") {
		t.Errorf("exit %d, %s", code, stderr.String())
	}
	for _, flag := range []string{"--report-json", "--per-request-jsonl"} {
		code, _, stderr, _ := traced(t, "", flag, "/nope/x")
		if code != ExitFailure || !strings.Contains(stderr, "flag "+flag+": open /nope/x") {
			t.Errorf("exit %d, %s", code, stderr)
		}
	}
}

// TestReplayNamesOrigins: what the reference's arguments set is theirs, whatever a file says.
func TestReplayNamesOrigins(t *testing.T) {
	_, _, stderr, _ := traced(t, "", "--gpu", "h999")
	if !strings.Contains(stderr, `fakellm: flag --gpu: gpu "h999": known are`) {
		t.Error(stderr)
	}
	_, _, stderr, _ = traced(t, "", "--backend", "sglang", "--block-size", "3",
		"--extra-engine-args", `{"engine": {"block_size": 7}}`)
	if !strings.Contains(stderr, `flag --extra-engine-args: chunked_prefill_size 8192: must be a multiple of block_size`) {
		t.Error(stderr)
	}
}
