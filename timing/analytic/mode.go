package analytic

import (
	"fmt"
	"strings"
)

// Mode is how the numbers of a matrix are stored and multiplied.
type Mode string

// The known modes. KV caches use BF16 and FP8 only.
const (
	BF16      Mode = "bfloat16"
	FP8       Mode = "fp8"         // per tensor, activation scales computed on the fly
	FP8Static Mode = "fp8_static"  // per tensor, activation scales from the checkpoint
	FP8Block  Mode = "fp8_block"   // 128 by 128 blocks
	NVFP4     Mode = "nvfp4"       // 4-bit weights and activations
	MXFP4     Mode = "w4a16_mxfp4" // 4-bit expert weights, 16-bit activations
	INT8      Mode = "int8_wo"     // weights only
	INT4      Mode = "int4_wo"     // weights only
)

// What matrices, experts and KV caches may use.
func gemmModes() []Mode { return []Mode{BF16, FP8, FP8Static, FP8Block, NVFP4, INT8, INT4} }
func moeModes() []Mode  { return []Mode{BF16, FP8, FP8Static, FP8Block, NVFP4, MXFP4, INT4} }
func kvModes() []Mode   { return []Mode{BF16, FP8} }

// parseMode accepts the name of one of the modes, and the usual short names. The error lists the known names.
func parseMode(field, name string, known []Mode) (Mode, error) {
	alias := Mode(strings.ToLower(name))
	switch string(alias) {
	case "bf16", "float16", "fp16", "half":
		alias = BF16
	case "mxfp4":
		alias = MXFP4
	case "int4":
		alias = INT4
	case "int8":
		alias = INT8
	case "fp8_e4m3", "fp8_e5m2":
		alias = FP8
	}
	names := make([]string, 0, len(known))
	for _, m := range known {
		if m == alias {
			return m, nil
		}
		names = append(names, string(m))
	}
	return "", fmt.Errorf("%s %q: known are %s", field, name, strings.Join(names, ", "))
}

// weightBytes is the size of a stored weight with its scales, in bytes.
func (m Mode) weightBytes() float64 {
	switch m {
	case FP8, FP8Static, FP8Block, INT8:
		return 1
	case NVFP4, INT4:
		return 9.0 / 16
	case MXFP4:
		return 17.0 / 32
	case BF16:
	}
	return 2
}

// capacityBytes is weightBytes as the reference's memory model has it.
func (m Mode) capacityBytes() float64 {
	if m == MXFP4 || m == INT4 {
		return 0.5
	}
	return m.weightBytes()
}

// kvBytes is the size of one cached number.
func (m Mode) kvBytes() float64 {
	if m == FP8 {
		return 1
	}
	return 2
}

// quantPasses is the number of passes that quantise the activations in front of a product. A producer that already
// writes fp8 (attention, the gated activation) spares the one of static scales.
func quantPasses(m Mode, quantisedInput bool) float64 {
	switch {
	case m == FP8:
		return 2
	case m == FP8Block, m == NVFP4:
		return 1
	case m == FP8Static && !quantisedInput:
		return 1
	}
	return 0
}

// quantisesActivations reports whether activations are narrow too, as they then are in the KV cache.
func (m Mode) quantisesActivations() bool {
	return m == FP8 || m == FP8Static || m == FP8Block || m == NVFP4
}
