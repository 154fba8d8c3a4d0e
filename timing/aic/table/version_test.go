package table

import (
	"slices"
	"testing"
)

// TestVersionOrder lists versions in ascending PEP 440 order.
func TestVersionOrder(t *testing.T) {
	order := []string{
		"0.5.6.post2", "0.5.9", "0.5.10", "0.5.14", "1.0.0.dev1", "1.0a1", "1.0b2.dev3", "1.0b2", "1.0rc1", "1.0", "1.0.post1",
		"1.1.dev0", "1.2.0rc5", "1.3.0rc3", "1.3.0rc20", "1.3.0", "1!0.1",
	}
	for i, a := range order {
		for j, b := range order {
			va, okA := ParseVersion(a)
			vb, okB := ParseVersion(b)
			if !okA || !okB {
				t.Fatalf("%s or %s does not parse", a, b)
			}
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := va.Compare(vb); got != want {
				t.Errorf("%s against %s: %d, want %d", a, b, got, want)
			}
		}
	}
	for _, equal := range [][2]string{{"1.0", "1.0.0"}, {"1.0-rc.1", "1.0rc1"}, {"v1.0c1", "1.0rc1"}} {
		a, _ := ParseVersion(equal[0])
		b, _ := ParseVersion(equal[1])
		if a.Compare(b) != 0 {
			t.Errorf("%v differ", equal)
		}
	}
	for _, bad := range []string{"", "current", "1.x", "vllm", "1.0 beta gamma"} {
		if _, ok := ParseVersion(bad); ok {
			t.Errorf("%q parses", bad)
		}
	}
}

// TestSlotRank orders release candidates below their release and by number.
func TestSlotRank(t *testing.T) {
	order := []string{"0.5.14", "0.5.20", "0.24.0", "0.31.0", "1.3.0rc9", "1.3.0rc20", "1.3.0rc23", "1.3.0", "1.3.0.post1"}
	for i := 1; i < len(order); i++ {
		if slices.Compare(slotRank(order[i-1]), slotRank(order[i])) >= 0 {
			t.Errorf("%s is not below %s", order[i-1], order[i])
		}
	}
}

// TestLeading reads the numbers that lane defaults are compared by.
func TestLeading(t *testing.T) {
	for text, want := range map[string][]int{"1.3.0rc20": {1, 3, 0}, "0.24.0": {0, 24, 0}, "x": nil, "2": {2}} {
		if got := leading(text); !slices.Equal(got, want) {
			t.Errorf("leading(%q) = %v, want %v", text, got, want)
		}
	}
}
