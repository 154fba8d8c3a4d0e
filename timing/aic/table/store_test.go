package table

import (
	"strings"
	"testing"
	"testing/fstest"

	"fakellm/timing/aic/fault"
	"fakellm/timing/aic/internal/fixture"
)

func file(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

// tree is a directory with versions, a donor that is newer, an older version, another backend and a vetoed directory.
func tree() fstest.MapFS {
	const dir = "data/toy/gemm/vllm/"
	return fstest.MapFS{
		"toy.yaml":                                               file(fixture.System),
		"old.yaml":                                               file(strings.ReplaceAll(fixture.System, "data/toy", "data/old")),
		"query_versions.yaml":                                    file("defaults: {vllm: {current: '2.0.0', previous: null}}\noverrides: {old: {vllm: {current: '1.0.0', previous: '0.9.0'}}}"),
		"attention_lane_defaults.yaml":                           file("sglang: {'0.5.14': {90: fa3, 100: triton}}\narchitectures: {X: {sglang: {'9': {90: no}}}}"),
		"perf_data_reuse_manifest.yaml":                          file("groups: [{op_file: gemm_perf.parquet, kernel_source: k1, tier: shared, frameworks: [vllm, sglang]}, {op_file: gemm_perf.parquet, kernel_source: k2, tier: absence_load_bearing, frameworks: [vllm, sglang]}]"),
		dir + "2.0.0/gemm_perf.parquet":                          file("x"),
		dir + "2.0.0/reuse.yaml":                                 file("reuse: [{table: gemm_perf, from_version: '2.5.0', reason: r, approved_by: me}]"),
		dir + "2.5.0/gemm_perf.parquet":                          file("x"),
		dir + "1.9.0/gemm_perf.parquet":                          file("x"),
		dir + "1.10.0/gemm_perf.parquet":                         file("x"),
		dir + "nightly/gemm_perf.parquet":                        file("x"),
		dir + "1.8.0/gemm_perf.parquet":                          file("x"),
		dir + "1.8.0/INCOMPLETE.txt":                             file(""),
		"data/toy/gemm/sglang/0.5.14/gemm_perf.parquet":          file("x"),
		"data/toy/comm/vllm/2.0.0/custom_allreduce_perf.parquet": file("x"),
		"data/toy/comm/vllm/1.9.0/custom_allreduce_perf.parquet": file("x"),
		"data/toy/vllm/1.7.0/gemm_perf.parquet":                  file("x"),
	}
}

func open(t *testing.T, fsys fstest.MapFS) (*Store, *Index) {
	t.Helper()
	st, err := Open(fsys)
	if err != nil {
		t.Fatal(err)
	}
	sys, err := st.System("toy")
	if err != nil {
		t.Fatal(err)
	}
	ix, err := st.Index(sys)
	if err != nil {
		t.Fatal(err)
	}
	return st, ix
}

func paths(sources []Source) string {
	var out []string
	for _, s := range sources {
		p := strings.TrimPrefix(s.Path, "data/toy/")
		if s.Kernels != nil {
			p += " " + strings.Join(s.Kernels, ",")
		}
		out = append(out, p)
	}
	return strings.Join(out, "\n")
}

// TestSources checks the order in which files win.
func TestSources(t *testing.T) {
	st, ix := open(t, tree())
	rows := []struct {
		why, table string
		shared     bool
		want       string
	}{
		{
			"own, declared newer donor, earlier ones nearest first, the older layout, declared kernels of other backends; no vetoed directory",
			"gemm_perf", true, "gemm/vllm/2.0.0/gemm_perf.parquet\ngemm/vllm/2.5.0/gemm_perf.parquet\n" +
				"gemm/vllm/1.10.0/gemm_perf.parquet\ngemm/vllm/1.9.0/gemm_perf.parquet\nvllm/1.7.0/gemm_perf.parquet\n" +
				"gemm/sglang/0.5.14/gemm_perf.parquet k1",
		},
		{"estimates see the own version alone", "gemm_perf", false, "gemm/vllm/2.0.0/gemm_perf.parquet"},
		{
			"collectives take no donors", "custom_allreduce_perf", true,
			"comm/vllm/2.0.0/custom_allreduce_perf.parquet\ncomm/vllm/1.9.0/custom_allreduce_perf.parquet",
		},
		{"no file anywhere", "moe_perf", true, ""},
	}
	for _, r := range rows {
		sources, err := st.Sources(ix, "vllm", "2.0.0", r.table, r.shared)
		if err != nil {
			t.Fatal(err)
		}
		if got := paths(sources); got != r.want {
			t.Errorf("%s: got\n%s\nwant\n%s", r.why, got, r.want)
		}
	}
}

// TestReuseIncomplete refuses a donor without a reason.
func TestReuseIncomplete(t *testing.T) {
	fsys := tree()
	fsys["data/toy/gemm/vllm/2.0.0/reuse.yaml"] = file("reuse: [{table: gemm_perf, from_version: '2.5.0'}]")
	st, ix := open(t, fsys)
	if _, err := st.Sources(ix, "vllm", "2.0.0", "gemm_perf", true); fault.Of(err) != fault.BadData {
		t.Errorf("got %v", err)
	}
}

// TestResolveVersion checks slots, aliases and refusals.
func TestResolveVersion(t *testing.T) {
	st, ix := open(t, tree())
	rows := []struct {
		backend, request, want string
		category               fault.Category
	}{
		{"vllm", "", "2.0.0", ""},
		{"vllm", "current", "2.0.0", ""},
		{"vllm", "next", "2.5.0", ""}, // the highest directory above current
		{"vllm", "2.5.0", "2.5.0", ""},
		{"vllm", "1.9.0", "", fault.UnlistedVersion},
		{"vllm", "previous", "", fault.UnlistedVersion},
		{"sglang", "", "0.5.14", ""}, // no slot: the newest directory
		{"sglang", "7.7", "7.7", ""}, // no slot: unchecked
		{"sglang", "next", "", fault.UnlistedVersion},
		{"trtllm", "", "", fault.MissingTable},
	}
	for _, r := range rows {
		got, err := st.ResolveVersion(ix, r.backend, r.request)
		if got != r.want || fault.Of(err) != r.category {
			t.Errorf("%s %q: %q, %v; want %q, %q", r.backend, r.request, got, err, r.want, r.category)
		}
	}
	sys, err := st.System("old")
	if err != nil {
		t.Fatal(err)
	}
	empty, err := st.Index(sys)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.ResolveVersion(empty, "vllm", ""); fault.Of(err) != fault.MissingTable {
		t.Errorf("a system without directories: %v", err)
	}
}

// TestLaneDefault takes the highest listed version that is not above the asked one.
func TestLaneDefault(t *testing.T) {
	st, _ := open(t, tree())
	rows := []struct {
		backend, version string
		sm               int
		lane             string
		found            bool
	}{
		{"sglang", "0.5.14", 90, "fa3", true},
		{"sglang", "0.5.20", 100, "triton", true},
		{"sglang", "0.5.9", 90, "", false},
		{"sglang", "0.5.14", 80, "", false},
		{"vllm", "0.24.0", 90, "", false},
		{"architectures", "9", 90, "", false},
	}
	for _, r := range rows {
		lane, found := st.Lanes().Default(r.backend, r.version, r.sm)
		if lane != r.lane || found != r.found {
			t.Errorf("%v: %q, %t", r, lane, found)
		}
	}
}

// TestSystemRefuses checks that unusable system files are refused with the field's name.
func TestSystemRefuses(t *testing.T) {
	rows := []struct{ why, from, to, word string }{
		{"wrong type", "mem_bw: 1000000000000", "mem_bw: fast", "toy.yaml"},
		{"negative", "mem_bw: 1000000000000", "mem_bw: -1", "gpu.mem_bw"},
		{"not a number", "mem_bw: 1000000000000", "mem_bw: .nan", "gpu.mem_bw"},
		{"infinite", "mem_capacity: 80000000000", "mem_capacity: .inf", "gpu.mem_capacity"},
		{"absent", "data_dir: data/toy\n", "", "data_dir"},
		{"outside", "data_dir: data/toy", "data_dir: ../secret", "data_dir"},
		{"git-lfs pointer", "data_dir", "version https://git-lfs.github.com/spec/v1\ndata_dir", "git-lfs"},
		{"truncated", "node:", "node: {", "toy.yaml"},
	}
	for _, r := range rows {
		fsys := fstest.MapFS{"toy.yaml": file(strings.Replace(fixture.System, r.from, r.to, 1))}
		_, err := LoadSystem(fsys, "toy")
		if fault.Of(err) != fault.BadData || !strings.Contains(err.Error(), r.word) {
			t.Errorf("%s: %v, want bad_data naming %s", r.why, err, r.word)
		}
	}
}
