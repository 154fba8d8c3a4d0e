package aic

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"fakellm/timing/aic/fault"
)

// SystemContents is what a systems directory holds for one GPU node.
type SystemContents struct {
	System string
	// Problem says why the system's file cannot be used; "" when it can.
	Problem string
	// MemoryBytes and Bandwidth (bytes/s) of one GPU; TFLOPS of 16-bit, fp8 and fp4 arithmetic, 0 for none.
	MemoryBytes, Bandwidth float64
	BF16TFLOPS, FP8TFLOPS  float64
	FP4TFLOPS              float64
	Backends               []BackendContents
	NCCLVersion            string
	HasNCCL                bool
}

// BackendContents is what it holds of one serving backend.
type BackendContents struct {
	Backend string
	// Current, Next and Previous are the versions that may be asked for, "" for none.
	Current, Next, Previous string
	Versions                []VersionContents
}

// VersionContents lists the tables with rows of one version; others come from earlier versions or declared donors.
type VersionContents struct {
	Version string
	Tables  []string
}

// Contents lists what the directory holds, by system in order of names. It reads no table.
func (d *Data) Contents() ([]SystemContents, error) {
	names, err := d.store.Systems()
	if err != nil {
		return nil, err
	}
	var out []SystemContents
	for _, name := range names {
		c, err := d.systemContents(name)
		if err != nil {
			c = SystemContents{System: name, Problem: err.Error()}
		}
		out = append(out, c)
	}
	return out, nil
}

func (d *Data) systemContents(name string) (SystemContents, error) {
	sys, err := d.store.System(name)
	if err != nil {
		return SystemContents{}, err
	}
	ix, err := d.index(sys)
	if err != nil {
		return SystemContents{}, err
	}
	c := SystemContents{
		System: name, MemoryBytes: sys.GPU.MemCapacity, Bandwidth: sys.GPU.MemBW,
		BF16TFLOPS: sys.GPU.BF16 / 1e12, FP8TFLOPS: sys.GPU.FP8 / 1e12, FP4TFLOPS: sys.GPU.FP4 / 1e12,
		NCCLVersion: sys.Misc.NCCLVersion, HasNCCL: ix.Fixed("nccl", sys.Misc.NCCLVersion, "nccl_perf") != nil,
	}
	for _, backend := range ix.Backends() {
		acc, err := d.store.AcceptedVersions(ix, backend)
		if err != nil {
			return SystemContents{}, err
		}
		b := BackendContents{Backend: backend, Current: acc.Current, Next: acc.Next, Previous: acc.Previous}
		for _, v := range ix.Versions(backend) {
			b.Versions = append(b.Versions, VersionContents{Version: v, Tables: ix.Tables(backend, v)})
		}
		c.Backends = append(c.Backends, b)
	}
	return c, nil
}

// Models lists the names of the model configurations that are found, sorted.
func (d *Data) Models() ([]string, error) {
	var out []string
	for _, fsys := range d.models {
		entries, err := fs.ReadDir(fsys, ".")
		if err != nil {
			return nil, fault.New(fault.BadData, "model configurations: %v", err)
		}
		for _, e := range entries {
			name, ok := strings.CutSuffix(e.Name(), "_config.json")
			if ok && !strings.HasSuffix(name, "_hf_quant") {
				out = append(out, strings.ReplaceAll(name, "--", "/"))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Describe writes Contents and Models as text for people.
func (d *Data) Describe(w io.Writer) error {
	contents, err := d.Contents()
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, c := range contents {
		if c.Problem != "" {
			fmt.Fprintf(&b, "%s: unusable: %s\n", c.System, c.Problem)
			continue
		}
		fmt.Fprintf(&b, "%s: %.1f GiB, %.0f GB/s, %.0f/%.0f/%.0f TFLOP/s (bf16/fp8/fp4)\n", c.System,
			c.MemoryBytes/(1<<30), c.Bandwidth/1e9, c.BF16TFLOPS, c.FP8TFLOPS, c.FP4TFLOPS)
		if len(c.Backends) == 0 {
			b.WriteString("  no tables: mode SOL with an explicit backend version only\n")
			continue
		}
		if c.HasNCCL {
			fmt.Fprintf(&b, "  nccl %s\n", c.NCCLVersion)
		}
		for _, backend := range c.Backends {
			fmt.Fprintf(&b, "  %s: current %s, next %s, previous %s\n", backend.Backend, orNone(backend.Current),
				orNone(backend.Next), orNone(backend.Previous))
			for _, v := range backend.Versions {
				fmt.Fprintf(&b, "    %s: %s\n", v.Version, strings.Join(v.Tables, " "))
			}
		}
	}
	models, err := d.Models()
	if err != nil {
		return err
	}
	fmt.Fprintf(&b, "model configurations: %s\n", orNone(strings.Join(models, " ")))
	_, err = io.WriteString(w, b.String())
	return err
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
