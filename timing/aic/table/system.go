package table

import (
	"fmt"
	"io/fs"
	"math"
	"path"

	"fakellm/timing/aic/fault"

	"go.yaml.in/yaml/v3"
)

// System is what a system's yaml file says about one GPU and its node, in SI base units. Fields that are absent are 0.
type System struct {
	Name    string `yaml:"-"`
	DataDir string `yaml:"data_dir"`
	GPU     struct {
		MemBW       float64 `yaml:"mem_bw"`                          // bytes/s
		MemScale    float64 `yaml:"mem_bw_empirical_scaling_factor"` // ratio; absent means 1
		MemLatency  float64 `yaml:"mem_empirical_constant_latency"`  // seconds
		MemCapacity float64 `yaml:"mem_capacity"`                    // bytes
		BF16        float64 `yaml:"bfloat16_tc_flops"`               // FLOP/s, dense; 0 means no such arithmetic
		INT8        float64 `yaml:"int8_tc_flops"`
		FP8         float64 `yaml:"fp8_tc_flops"`
		FP4         float64 `yaml:"fp4_tc_flops"`
		SM          int     `yaml:"sm_version"`
	} `yaml:"gpu"`
	Node struct {
		GPUs        int     `yaml:"num_gpus_per_node"`
		RackGPUs    int     `yaml:"num_gpus_per_rack"` // 0 means that there is no rack tier
		IntraBW     float64 `yaml:"intra_node_bw"`     // bytes/s per GPU, one direction
		InterBW     float64 `yaml:"inter_node_bw"`
		InterRackBW float64 `yaml:"inter_rack_bw"`
		P2PLatency  float64 `yaml:"p2p_latency"` // seconds
	} `yaml:"node"`
	Misc struct {
		NCCLMem       map[int]float64 `yaml:"nccl_mem"`  // bytes by min(tp, 8)
		OtherMem      float64         `yaml:"other_mem"` // bytes
		NCCLVersion   string          `yaml:"nccl_version"`
		OneCCLVersion string          `yaml:"oneccl_version"`
	} `yaml:"misc"`
}

// maxYAML bounds a yaml file: the largest real one, the reuse manifest, is far below.
const maxYAML = 4 << 20

// LoadSystem reads SYS/<name>.yaml. A name without a file is UnknownSystem; a file that cannot be used is BadData.
func LoadSystem(fsys fs.FS, name string) (*System, error) {
	if !fs.ValidPath(name) || path.Base(name) != name {
		return nil, fault.New(fault.UnknownSystem, "system %q is not a name", name)
	}
	file := name + ".yaml"
	s := &System{Name: name}
	s.GPU.MemScale = 1
	if err := readYAML(fsys, file, s); err != nil {
		if isAbsent(err) {
			return nil, fault.New(fault.UnknownSystem, "system %q: no file %s in the systems directory", name, file)
		}
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, fault.New(fault.BadData, "%s: %v", file, err)
	}
	return s, nil
}

// check refuses values no formula can use; what only some operators need stays unchecked until they are asked.
func (s *System) check() error {
	if s.DataDir == "" {
		return fmt.Errorf("data_dir is absent")
	}
	if !fs.ValidPath(path.Clean(s.DataDir)) {
		return fmt.Errorf("data_dir %q leaves the systems directory", s.DataDir)
	}
	required := []struct {
		name  string
		value float64
	}{
		{"gpu.mem_bw", s.GPU.MemBW},
		{"gpu.mem_bw_empirical_scaling_factor", s.GPU.MemScale},
		{"node.num_gpus_per_node", float64(s.Node.GPUs)},
		{"node.intra_node_bw", s.Node.IntraBW},
		{"node.inter_node_bw", s.Node.InterBW},
	}
	for _, f := range required {
		if !(f.value > 0) || math.IsInf(f.value, 0) {
			return fmt.Errorf("%s is %v, want a positive number", f.name, f.value)
		}
	}
	optional := []struct {
		name  string
		value float64
	}{
		{"gpu.mem_empirical_constant_latency", s.GPU.MemLatency},
		{"gpu.mem_capacity", s.GPU.MemCapacity},
		{"gpu.bfloat16_tc_flops", s.GPU.BF16},
		{"gpu.int8_tc_flops", s.GPU.INT8},
		{"gpu.fp8_tc_flops", s.GPU.FP8},
		{"gpu.fp4_tc_flops", s.GPU.FP4},
		{"node.num_gpus_per_rack", float64(s.Node.RackGPUs)},
		{"node.inter_rack_bw", s.Node.InterRackBW},
		{"node.p2p_latency", s.Node.P2PLatency},
		{"misc.other_mem", s.Misc.OtherMem},
	}
	for _, f := range optional {
		if !(f.value >= 0) || math.IsInf(f.value, 0) {
			return fmt.Errorf("%s is %v, want a number that is not negative", f.name, f.value)
		}
	}
	for tp, v := range s.Misc.NCCLMem {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("misc.nccl_mem[%d] is %v, want a number that is not negative", tp, v)
		}
	}
	return nil
}

// Bandwidth returns the bytes/s per GPU and direction inside a group of g GPUs (spec aic-timing §1).
func (s *System) Bandwidth(g int) float64 {
	switch {
	case g <= s.Node.GPUs:
		return s.Node.IntraBW
	case s.Node.RackGPUs == 0 || g <= s.Node.RackGPUs || s.Node.InterRackBW == 0:
		return s.Node.InterBW
	}
	return s.Node.InterRackBW
}

// MemOp returns the milliseconds of a memory-bound operator that moves so many bytes (spec aic-timing §3.4).
func (s *System) MemOp(bytes float64) float64 {
	return (bytes/(s.GPU.MemBW*s.GPU.MemScale) + s.GPU.MemLatency) * 1000
}

// readYAML decodes one bounded yaml file into out. A wrong type is an error, an unknown field is not.
func readYAML(fsys fs.FS, file string, out any) error {
	data, err := ReadBounded(fsys, file, maxYAML)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(data, out); err != nil {
		return fault.New(fault.BadData, "%s: %v", file, err)
	}
	return nil
}
