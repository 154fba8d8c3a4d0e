package cli

import (
	"bytes"
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
