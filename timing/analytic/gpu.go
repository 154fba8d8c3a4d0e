package analytic

import (
	"fmt"
	"strings"
)

// class groups GPUs that share fitted constants.
type class int

const (
	ampere class = iota
	ada
	hopper
	blackwell
)

// linkKind says how the GPUs of one domain reach each other.
type linkKind int

const (
	nvlink   linkKind = iota
	pcie              // peer to peer over PCIe
	pcieHost          // peers meet through the host's memory
)

// GPU is what a data sheet says of an accelerator.
type GPU struct {
	// Name is the name used in settings, such as h100_sxm.
	Name string `json:"name"`
	// BF16, FP8 and FP4 are dense peaks in TFLOPS, without sparsity; 0 means that the GPU lacks the mode.
	BF16 float64 `json:"bf16_tflops"`
	FP8  float64 `json:"fp8_tflops"`
	FP4  float64 `json:"fp4_tflops"`
	// HBM is the memory bandwidth and Link the bandwidth to peers, one direction, both in GB/s (1e9).
	HBM  float64 `json:"hbm_gbps"`
	Link float64 `json:"link_gbps"`
	// Network is the bandwidth per GPU beyond a domain of Domain GPUs, in GB/s.
	Network float64 `json:"network_gbps"`
	Domain  int     `json:"domain"`
	// MemoryBytes is the capacity of one GPU.
	MemoryBytes int64 `json:"memory_bytes"`
	// Source says where the figures are from, Caution what was not verified.
	Source  string `json:"source"`
	Caution string `json:"caution,omitempty"`

	class class
	kind  linkKind
	// derate multiplies every compute efficiency; 0 means 1.
	derate float64
}

// Where the figures of a GPU are from.
const (
	fromYAML  = "AIConfigurator systems yaml (spec analytic-timing §1.1)"
	fromSheet = "vendor data sheet (spec analytic-timing §1.1)"

	cautionAMD = "AMD: Hopper's constants with every compute efficiency times 0.75, checked against no measurement"
	cautionL4  = "L4: Ada constants, fitted on L40S"
	cautionPCI = "PCIe card: constants of the class and of its kind of link, checked against no measurement"
)

const (
	gib = int64(1) << 30
	amd = 0.75
)

// gpuTable returns the built-in GPUs, in the order in which they are listed.
func gpuTable() []GPU {
	return []GPU{
		{
			Name: "a100_sxm", class: ampere, BF16: 312, HBM: 2039, MemoryBytes: 80 * gib, Link: 300, Network: 25,
			Source: fromYAML,
		},
		{
			Name: "a100_sxm_40gb", class: ampere, BF16: 312, HBM: 1555, MemoryBytes: 40 * gib, Link: 300, Network: 25,
			Source: fromSheet,
		},
		{
			Name: "a100_pcie", class: ampere, BF16: 312, HBM: 1935, MemoryBytes: 80 * gib, Link: 32, kind: pcie, Network: 25,
			Source: fromYAML, Caution: cautionPCI,
		},
		{
			Name: "a100_pcie_40gb", class: ampere, BF16: 312, HBM: 1555, MemoryBytes: 40 * gib, Link: 32, kind: pcie,
			Network: 25,
			Source:  fromSheet, Caution: cautionPCI,
		},
		{
			Name: "h100_sxm", class: hopper, BF16: 989, FP8: 1978, HBM: 3350, MemoryBytes: 85899345920, Link: 450,
			Source: fromYAML,
		},
		{
			Name: "h100_pcie", class: hopper, BF16: 756.5, FP8: 1513, HBM: 2000, MemoryBytes: 85899345920, Link: 64, kind: pcie,
			Source: fromYAML, Caution: cautionPCI,
		},
		{
			Name: "h200_sxm", class: hopper, BF16: 989, FP8: 1978, HBM: 4800, MemoryBytes: 151397597184, Link: 450,
			Source: fromYAML,
		},
		{
			Name: "b200_sxm", class: blackwell, BF16: 2250, FP8: 4500, FP4: 9000, HBM: 7700, MemoryBytes: 193273528320,
			Link:   900,
			Source: fromYAML,
		},
		{
			Name: "b300_sxm", class: blackwell, BF16: 2250, FP8: 4500, FP4: 14000, HBM: 7750, MemoryBytes: 288400343040,
			Link:    900,
			Network: 100, Source: fromYAML,
		},
		{
			Name: "gb200", class: blackwell, BF16: 2500, FP8: 5000, FP4: 10000, HBM: 8000, MemoryBytes: 198674743296, Link: 900,
			Domain: 72, Source: fromYAML,
		},
		{
			Name: "gb300", class: blackwell, BF16: 2500, FP8: 5000, FP4: 15000, HBM: 8000, MemoryBytes: 298013687808, Link: 900,
			Domain: 72, Network: 100, Source: fromYAML,
		},
		{
			Name: "l4", class: ada, BF16: 121, FP8: 242, HBM: 300, MemoryBytes: 24 * gib, Link: 32, kind: pcieHost, Network: 25,
			Source: fromYAML, Caution: cautionL4,
		},
		{
			Name: "l40s", class: ada, BF16: 362.05, FP8: 733, HBM: 864, MemoryBytes: 48305799168, Link: 32, kind: pcieHost,
			Source: fromYAML,
		},
		{
			Name: "rtx_pro_6000_server", class: ada, BF16: 467.800534963698, FP8: 935.601069927397, FP4: 1871.202139854795,
			HBM: 1792, MemoryBytes: 102641958912, Link: 64, kind: pcie, Source: fromYAML,
		},
		{
			Name: "mi300x", class: hopper, BF16: 1307.4, FP8: 2614.9, HBM: 5300, MemoryBytes: 192 * gib, Link: 448, derate: amd,
			Source: fromSheet, Caution: cautionAMD,
		},
		{
			Name: "mi325x", class: hopper, BF16: 1307.4, FP8: 2614.9, HBM: 6000, MemoryBytes: 256 * gib, Link: 448, derate: amd,
			Source: fromSheet, Caution: cautionAMD,
		},
	}
}

// gpuAlias returns the full name of a short one.
func gpuAlias(name string) string {
	switch name {
	case "a100", "h100", "h200", "b200", "b300":
		return name + "_sxm"
	case "rtx_pro_6000":
		return "rtx_pro_6000_server"
	}
	return name
}

// GPUs returns the built-in GPUs in a fixed order.
func GPUs() []GPU {
	gpus := gpuTable()
	for i := range gpus {
		g := &gpus[i]
		if g.Domain == 0 {
			g.Domain = 8
		}
		if g.Network == 0 {
			g.Network = 50
		}
		if g.derate == 0 {
			g.derate = 1
		}
	}
	return gpus
}

// LookupGPU returns a built-in GPU by name or short name (h100 for h100_sxm), whatever the case and with - for _. The
// error lists the known names.
func LookupGPU(name string) (GPU, error) {
	plain := gpuAlias(strings.ReplaceAll(strings.ToLower(name), "-", "_"))
	names := []string{}
	for _, g := range GPUs() {
		if g.Name == plain {
			return g, nil
		}
		names = append(names, g.Name)
	}
	return GPU{}, fmt.Errorf("gpu %q: known are %s", name, strings.Join(names, ", "))
}

// hbm is the memory bandwidth in bytes per millisecond.
func (g *GPU) hbm() float64 { return g.HBM * 1e6 }

// link is the bandwidth to peers in bytes per millisecond.
func (g *GPU) link() float64 { return g.Link * 1e6 }
