package workload

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"fakellm/internal/rng"
)

// Synthetic describes a load that is made up (spec simulation-harness §2.2).
type Synthetic struct {
	// Prompt and Output are the lengths of every request in tokens, Sessions the number of sessions, Turns that of
	// requests in each; all at least 1.
	Prompt, Output, Sessions, Turns int
	// Block is the block size at which prompts share: the engine's own.
	Block int
	// Rate (per second, Poisson) or Interval (ms, constant) spaces the sessions of an open loop; both 0 for a closed one.
	Rate, Interval float64
	// Seed is that of the arrivals.
	Seed uint64
	// SharedRatio of the blocks of a prompt, the leading ones, are those of one of Groups prefix groups.
	SharedRatio float64
	Groups      int
	// Delay is the think time between turns in ms.
	Delay float64
}

// groupSeed is that of the choice of prefix groups in the reference.
const groupSeed = 42

// Validate returns every problem, each with the name of its setting.
func (s Synthetic) Validate() []error {
	var errs []error
	for _, f := range []struct {
		name  string
		value int
	}{
		{"input_tokens", s.Prompt},
		{"output_tokens", s.Output},
		{"request_count", s.Sessions},
		{"turns_per_session", s.Turns},
		{"block_size", s.Block},
	} {
		if f.value < 1 {
			errs = append(errs, fmt.Errorf("%s %d: must be at least 1", f.name, f.value))
		}
	}
	if s.Sessions > 0 && s.Turns > math.MaxInt32/s.Sessions {
		errs = append(errs, fmt.Errorf("request_count %d times turns_per_session %d: too many requests", s.Sessions, s.Turns))
	}
	for _, f := range []struct {
		name  string
		value float64
	}{{"request_rate", s.Rate}, {"arrival_interval_ms", s.Interval}, {"inter_turn_delay_ms", s.Delay}} {
		if !(f.value >= 0) || math.IsInf(f.value, 0) {
			errs = append(errs, fmt.Errorf("%s %v: must be finite and not negative", f.name, f.value))
		} else if f.value > 1e9 || f.value > 0 && f.value < 1e-6 {
			errs = append(errs, fmt.Errorf("%s %v: must be from 1e-6 to 1e9", f.name, f.value))
		}
	}
	if s.Rate > 0 && s.Interval > 0 {
		errs = append(errs, errors.New("request_rate: give this or arrival_interval_ms, not both"))
	}
	if !(s.SharedRatio >= 0 && s.SharedRatio <= 1) {
		errs = append(errs, fmt.Errorf("shared_prefix_ratio %v: must be from 0 to 1", s.SharedRatio))
	}
	if s.Groups < 0 {
		errs = append(errs, fmt.Errorf("num_prefix_groups %d: must not be negative", s.Groups))
	}
	return errs
}

// Load makes the sessions: bit-identical to the reference's arrivals and prefix groups. It costs memory for every
// block id.
func (s Synthetic) Load() (*Load, error) {
	if errs := s.Validate(); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	l := &Load{
		Source: "synthetic load", Sessions: make([]Session, s.Sessions), Turns: make([]Turn, 0, s.Sessions*s.Turns),
		Named: s.Turns > 1 || s.SharedRatio > 0 || s.Groups > 0 || s.Delay > 0,
	}
	arrival := s.arrivals()
	prompt := s.prompts()
	for i := range l.Sessions {
		l.Sessions[i] = Session{
			Name: fmt.Sprintf("session_%d", i), Start: arrival(), First: int32(len(l.Turns)), Count: int32(s.Turns),
		}
		group := prompt.group()
		for k := range s.Turns {
			t := Turn{Prompt: s.Prompt, Output: s.Output, Content: prompt.next(group)}
			if k > 0 {
				t.Delay = s.Delay
			}
			l.Turns = append(l.Turns, t)
		}
	}
	return l, nil
}

// arrivals returns the generator of session starts: request 0 at 0, then by repeated addition of gaps.
func (s Synthetic) arrivals() func() float64 {
	at, first := 0.0, true
	gap := func() float64 { return s.Interval }
	if s.Rate > 0 {
		mean := 1000 / s.Rate
		stream := rng.NewStdRng(s.Seed)
		gap = func() float64 {
			u := float64(stream.Uint64()>>11) * 0x1p-53
			return -mean * ln(min(max(1-u, 2.2250738585072014e-308), 1))
		}
	}
	return func() float64 {
		if first {
			first = false
			return 0
		}
		at += gap()
		return at
	}
}

// prompts makes the block ids of synthetic prompts.
type prompts struct {
	table        *Table
	tokens       int
	blocks, lead int
	groups       int
	stream       *rng.StdRng
	fresh        uint32
	shared       [][]uint32
}

func (s Synthetic) prompts() *prompts {
	p := &prompts{table: NewNamedTable(s.Block), tokens: s.Prompt, blocks: (s.Prompt + s.Block - 1) / s.Block}
	p.lead = min(p.blocks, int(math.Round(float64(p.blocks)*s.SharedRatio)))
	if s.SharedRatio > 0 && s.Groups > 0 {
		p.groups, p.stream = s.Groups, rng.NewStdRng(groupSeed)
		p.shared = make([][]uint32, s.Groups)
	}
	return p
}

// group draws the prefix group of a session; -1 if there are none. A draw whose low product word is so large that the
// groups would not be equally likely is refined by a second one, as the reference's generator does.
func (p *prompts) group() int {
	if p.groups == 0 {
		return -1
	}
	n := uint32(p.groups)
	hi, lo := bits.Mul32(p.stream.Uint32(), n)
	if lo > -n {
		more, _ := bits.Mul32(p.stream.Uint32(), n)
		if _, carry := bits.Add32(lo, more, 0); carry == 1 {
			hi++
		}
	}
	return int(hi)
}

// next returns the content of one more prompt of a group.
func (p *prompts) next(group int) *Prompt {
	ids := make([]uint32, 0, p.blocks)
	if group >= 0 {
		if p.shared[group] == nil {
			p.shared[group] = p.draw(nil, p.lead)
		}
		ids = append(ids, p.shared[group]...)
	}
	ids = p.draw(ids, p.blocks-len(ids))
	out := p.table.Prompt(ids, p.tokens)
	return &out
}

// draw appends n ids never used before.
func (p *prompts) draw(ids []uint32, n int) []uint32 {
	for range n {
		ids = append(ids, p.fresh)
		p.fresh++
	}
	return ids
}
