package table

import (
	"io/fs"
	"slices"
)

// manifest says which kernels' rows one backend may borrow from another: op file, then kernel source, to backends.
type manifest map[string]map[string][]string

// loadManifest reads SYS/perf_data_reuse_manifest.yaml; an absent file declares nothing.
func loadManifest(fsys fs.FS) (manifest, error) {
	var raw struct {
		Groups []struct {
			File       string   `yaml:"op_file"`
			Kernel     string   `yaml:"kernel_source"`
			Tier       string   `yaml:"tier"`
			Frameworks []string `yaml:"frameworks"`
		} `yaml:"groups"`
	}
	if err := readYAML(fsys, "perf_data_reuse_manifest.yaml", &raw); err != nil {
		if isAbsent(err) {
			return nil, nil
		}
		return nil, err
	}
	m := manifest{}
	for _, g := range raw.Groups {
		if g.Tier != "shared" && g.Tier != "shared_fallback" {
			continue
		}
		if m[g.File] == nil {
			m[g.File] = map[string][]string{}
		}
		m[g.File][g.Kernel] = append(m[g.File][g.Kernel], g.Frameworks...)
	}
	return m, nil
}

// kernels lists the kernel sources of a file that both backends are declared for, sorted.
func (m manifest) kernels(file, a, b string) []string {
	var out []string
	for kernel, frameworks := range m[file] {
		if slices.Contains(frameworks, a) && slices.Contains(frameworks, b) {
			out = append(out, kernel)
		}
	}
	slices.Sort(out)
	return out
}
