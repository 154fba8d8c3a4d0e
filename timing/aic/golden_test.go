package aic_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path"
	"strings"
	"testing"

	"fakellm/timing/aic"
)

// sharedData is where the tables lie that the golden files were made from: beside the project, not in it.
const sharedData = "../../../shared/data/aic"

// openShared opens the tables, or skips the test with the reason.
func openShared(t testing.TB) *aic.Data {
	t.Helper()
	root := sharedData
	if dir := os.Getenv("FAKELLM_AIC_DATA"); dir != "" {
		root = dir
	}
	if _, err := fs.Stat(os.DirFS(root), "systems"); err != nil {
		t.Skipf("NOT TESTED against the reference's tables: %s/systems is missing (%v); set FAKELLM_AIC_DATA to a directory "+
			"with systems/ and model_configs/", root, err)
	}
	data, err := aic.Open(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestGoldens answers every case of the golden files, made by the reference aisimulate 0.13.0.dev202610270000000085.
func TestGoldens(t *testing.T) {
	data := openShared(t)
	for _, name := range []string{"passes", "rare", "ops", "capacity"} {
		t.Run(name, func(t *testing.T) { compareFile(t, data, "testdata/"+name+".json") })
	}
}

// TestMoreGoldens answers the files named in FAKELLM_AIC_GOLDENS (separated by colons): further cases made with the
// reference. Their errors carry no category of ours, so that any refusal equals any other.
func TestMoreGoldens(t *testing.T) {
	files := os.Getenv("FAKELLM_AIC_GOLDENS")
	if files == "" {
		t.Skip("FAKELLM_AIC_GOLDENS names no files")
	}
	data := openShared(t)
	for file := range strings.SplitSeq(files, ":") {
		t.Run(path.Base(file), func(t *testing.T) { compareFile(t, data, file) })
	}
}

func compareFile(t *testing.T, data *aic.Data, file string) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Cases []map[string]any `json:"cases"`
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := aic.RunCases(bytes.NewReader(raw), &out, data); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, 1<<20)
	bad := 0
	for _, w := range want.Cases {
		if !lines.Scan() {
			t.Fatalf("case %v: no answer", w["id"])
		}
		var got map[string]any
		if err := json.Unmarshal(lines.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if why := differs(w, got); why != "" {
			bad++
			t.Errorf("case %v: %s\n  want %v\n  got  %v", w["id"], why, w, got)
		}
	}
	t.Logf("%d cases, %d differ", len(want.Cases), bad)
}

// differs compares the result keys of a golden with an answer; "" means equal.
func differs(want, got map[string]any) string {
	if want["id"] != got["id"] {
		return "another id"
	}
	if e, ok := want["error"].(map[string]any); ok {
		g, _ := got["error"].(map[string]any)
		if g != nil && e["category"] == "other" {
			return ""
		}
		if g == nil || g["category"] != e["category"] {
			return "another error"
		}
		return ""
	}
	for _, key := range []string{
		"latency_ms", "shared_ms", "context_attention_ms", "decode_attention_ms", "ops", "resolved", "gpu_bytes", "fraction",
		"weights_bytes", "activations_bytes", "other_bytes", "comm_bytes", "kv_bytes", "kv_bytes_per_token", "kv_tokens",
		"block_size", "num_gpu_blocks", "tolerance_adjusted",
	} {
		if w, ok := want[key]; ok && !same(w, got[key]) {
			return key
		}
	}
	return ""
}

// same compares numbers to 1e-9 relative, objects by field, anything else exactly.
func same(want, got any) bool {
	switch w := want.(type) {
	case float64:
		g, ok := got.(float64)
		return ok && math.Abs(g-w) <= 1e-9*math.Abs(w)
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for k, v := range w {
			if !same(v, g[k]) {
				return false
			}
		}
		return true
	}
	return want == got
}
