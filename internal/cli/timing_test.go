package cli

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fakellm/timing/analytic"
	"fakellm/timing/compare"
	"fakellm/timing/profile"
)

// runTiming runs one of the commands in process.
func runTiming(t *testing.T, environ []string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := newTiming(Env{Environ: environ})
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	err := cmd.Execute()
	return out.String(), err
}

func mustTiming(t *testing.T, into any, args ...string) {
	t.Helper()
	out, err := runTiming(t, nil, args...)
	if err != nil {
		t.Fatalf("timing %s: %v", strings.Join(args, " "), err)
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		t.Fatalf("timing %s: %v in %s", strings.Join(args, " "), err, out)
	}
}

// sharedTables is a systems directory beside the project, or the test is skipped.
func sharedTables(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("FAKELLM_AIC_DATA")
	if dir == "" {
		dir = "../../../shared/data/aic"
	}
	dir = filepath.Join(dir, "systems")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("NOT TESTED with AIConfigurator's tables: %v; set FAKELLM_AIC_DATA to a directory with systems/", err)
	}
	return dir
}

func TestPredict(t *testing.T) {
	var got predictions
	mustTiming(t, &got, "predict", "--gpu", "h100", "--model", "llama-3.1-8b", "--prefill", "1:1024,4:2048",
		"--decode", "16:1024", "--mixed", "1:2048+16:1500", "--vs", "polynomial", "--ops", "--json")
	// Source: spec analytic-timing §6 and engine-core §6.2.
	want := [][2]float64{{23.170757, 32.490712}, {171.674042, 169.136918}, {7.273353, 6.577622}}
	for i, w := range want {
		for j, ms := range w {
			if a := got.Rows[i].Answers[j]; math.Abs(a.MS-ms) > 1e-6*ms {
				t.Errorf("%s, model %d: %v ms, want %v", got.Rows[i].Pass, j, a.MS, ms)
			}
		}
	}
	mixed := got.Rows[3].Answers[0]
	if mixed.OnePassMS == nil || math.Abs(*mixed.OnePassMS-46.524099) > 1e-4 || mixed.MS <= *mixed.OnePassMS {
		t.Errorf("mixed pass: %+v", mixed)
	}
	sum := 0.0
	for _, op := range got.Rows[0].Answers[0].PrefillOps {
		sum += op.MS
	}
	if math.Abs(sum-got.Rows[0].Answers[0].MS) > 1e-9 {
		t.Errorf("operators add up to %v, the pass takes %v", sum, got.Rows[0].Answers[0].MS)
	}
}

func TestPredictTable(t *testing.T) {
	out, err := runTiming(t, nil, "predict", "--gpu", "mi300x", "--model", "qwen3-8b", "--vs", "fixed",
		"--decode", "1:100", "--ops")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"A: analytic Qwen/Qwen3-8B on mi300x, tp 1, gemm bfloat16, kv bfloat16\n   not verified: AMD",
		"B: fixed 10/2 ms", "decode 1:100", "  A decode qkv_gemm", "2.000000", "A/B",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.Contains(out, "prefill") {
		t.Errorf("nobody asked for a prefill:\n%s", out)
	}
}

func TestPlot(t *testing.T) {
	file := filepath.Join(t.TempDir(), "latency.svg")
	_, err := runTiming(t, nil, "predict", "--gpu", "b200", "--model", "gpt-oss-20b", "--vs", "polynomial", "--plot", file)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(raw)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
	}
	for _, want := range []string{"analytic, batch 8", "polynomial, context 1024", "requests"} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the plot does not say %q", want)
		}
	}
}

func TestInspect(t *testing.T) {
	const file = "../../timing/profile/testdata/reference.npz"
	var s profile.Summary
	mustTiming(t, &s, "inspect", file, "--json")
	if s.PrefillISL.Max != 8192 || s.DecodeKV.Points != 3 || s.PrefillMS != [2]float64{12, 230} {
		t.Errorf("inspect %s: %+v", file, s)
	}
	out, err := runTiming(t, nil, "inspect", file)
	if err != nil || !strings.Contains(out, "covers 128 to 8192 new tokens per pass") {
		t.Errorf("%v:\n%s", err, out)
	}
}

func TestCapacityCommand(t *testing.T) {
	var c analytic.Capacity
	mustTiming(t, &c, "capacity", "--gpu", "h100", "--model", "llama-3.1-8b", "--json")
	if c.KVTokens != 432992 || c.NumGPUBlocks != 6765 { // golden case c01
		t.Errorf("capacity: %+v", c)
	}
	mustTiming(t, &c, "capacity", "--gpu", "h100", "--model", "llama-3.1-8b", "--backend", "sglang", "--json",
		"--mem-fraction-static", "0.88")
	if c.KVTokens != 423911 { // golden case c14
		t.Errorf("capacity of sglang: %+v", c)
	}
}

func TestTimingRefuses(t *testing.T) {
	for _, c := range []struct {
		want string
		args []string
	}{
		{`unknown command "frob"`, []string{"frob"}},
		{
			`prefill "x": NEW is missing: want REQUESTS:NEW[:PREFIX], for example 4:1024`,
			[]string{"predict", "--prefill", "x"},
		},
		{`decode "16": CONTEXT is missing: want REQUESTS:CONTEXT, for example 16:1024`, []string{"predict", "--decode", "16"}},
		{`decode "1:2:3": "3" is one number too many: want REQUESTS:CONTEXT`, []string{"predict", "--decode", "1:2:3"}},
		{`prefill "1:": NEW: "" is not a number`, []string{"predict", "--prefill", "1:"}},
		{`prefill "0:5": requests and new tokens`, []string{"predict", "--prefill", "0:5"}},
		{`prefill "1:2:3:4"`, []string{"predict", "--prefill", "1:2:3:4"}},
		{`decode "1:99999999999"`, []string{"predict", "--decode", "1:99999999999"}},
		{`mixed "1:2": no decode half: want`, []string{"predict", "--mixed", "1:2"}},
		{`source "magic": known are`, []string{"predict", "--source", "magic"}},
		{`source "magic": known are`, []string{"predict", "--vs", "magic"}},
		{`gpu "h1": known are`, []string{"predict", "--gpu", "h1", "--model", "qwen3-8b"}},
		{"model: missing", []string{"predict", "--gpu", "h100"}},
		{"aic_systems_dir: missing", []string{"predict", "--ais-system", "h100_sxm"}},
		{"stat absent: no such file", []string{"predict", "--aic-system", "h100_sxm", "--aic-systems-dir", "absent"}},
		{"neither a directory nor a wheel", []string{"data", "--aic-systems-dir", "timing.go"}},
		{"planner-profile-data: the profile needs", []string{"predict", "--source", "profile"}},
		{"prefill_ms -1", []string{"predict", "--source", "fixed", "--prefill-ms", "-1"}},
		{"cases: open absent", []string{"predict", "--cases", "absent"}},
		{"takes one file", []string{"inspect"}},
		{"stat absent", []string{"inspect", "absent"}},
		{"not an .npz", []string{"inspect", "timing.go"}},
		{"polynomial: knows no GPU", []string{"capacity"}},
		{"memory fraction of sglang given, but the backend is vllm", []string{
			"capacity", "--gpu", "h100", "--model", "qwen3-8b", "--mem-fraction-static", "0.5",
		}},
		{"aic_systems_dir: missing", []string{"compare"}},
	} {
		_, err := runTiming(t, nil, c.args...)
		if usage := new(usageError); !errors.As(err, usage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("timing %s: %v, want bad input with %q", strings.Join(c.args, " "), err, c.want)
		}
	}
	out, err := runTiming(t, nil, "data")
	if err != nil || !strings.Contains(out, "FAKELLM_AIC_SYSTEMS_DIR") {
		t.Errorf("data without a directory: %v:\n%s", err, out)
	}
}

func TestWithTables(t *testing.T) {
	dir := sharedTables(t)
	environ := []string{"FAKELLM_AIC_SYSTEMS_DIR=" + dir}
	out, err := runTiming(t, environ, "predict", "--gpu", "h100", "--model", "llama-3.1-8b", "--prefill", "1:1024",
		"--source", "aic", "--vs", "analytic")
	// Source: spec aic-timing §8.3 and analytic-timing §6.
	if err != nil || !strings.Contains(out, "22.109287") || !strings.Contains(out, "23.170757") {
		t.Errorf("%v:\n%s", err, out)
	}
	out, err = runTiming(t, environ, "data")
	if err != nil || !strings.Contains(out, "h100_sxm") || !strings.Contains(out, "0.24.0") {
		t.Errorf("%v:\n%s", err, out)
	}
	out, err = runTiming(t, environ, "compare", "--json")
	var r compare.Report
	if err == nil {
		err = json.Unmarshal([]byte(out), &r)
	}
	if err != nil || r.All.N < 1000 || r.All.Median < .97 || r.All.Median > 1.05 || r.All.P10 < .88 || r.All.P90 > 1.15 {
		t.Errorf("compare: %v, %+v", err, r.All)
	}
}
