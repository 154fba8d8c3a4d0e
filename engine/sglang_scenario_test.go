package engine

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestSGLangScenarios runs the scenario files of testdata/sglang/scenarios; -rewrite updates them.
//
//	play page=4 pages=14 conservativeness=.3 [show=passes]   settings, fixed timing 10/2 ms unless prefill= or decode= say so
//	A 4/30 at 0                                              name, prompt/output, arrival in ms
//	B 8/2 at 1 abc                                           its prompt, a letter per page; the last may be cut
//	C 5/1 at 2 rank 1                                        its rank
//	cancel A at 3
//
// Without letters every request has tokens of its own; equal letters are equal pages.
func TestSGLangScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/sglang/scenarios", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "play" {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return playScenario(t, d)
		})
	})
}

// settings reads the arguments of play.
func settings(t *testing.T, d *datadriven.TestData) (cfg Config, model fixedModel, show string) {
	cfg = DefaultConfig(SGLang)
	cfg.MaxNumSeqs = 256
	model = fixedModel{10 * time.Millisecond, 2 * time.Millisecond}
	ints := map[string]*int{
		"page": &cfg.BlockSize, "pages": &cfg.NumGPUBlocks, "seqs": &cfg.MaxNumSeqs, "limit": &cfg.MaxModelLen,
		"chunk": &cfg.SGLang.ChunkedPrefillSize, "input": &cfg.SGLang.MaxPrefillTokens, "clip": &cfg.SGLang.ClipMaxNewTokens,
		"interval": &cfg.PrefillDecodeInterval, "ranks": &cfg.DPSize, "drafts": &cfg.NumSpeculativeTokens,
	}
	for _, a := range d.CmdArgs {
		v := a.Vals[0]
		number, err := strconv.ParseFloat(v, 64)
		if dst := ints[a.Key]; dst != nil && err == nil {
			*dst = int(number)
			continue
		}
		switch a.Key {
		case "conservativeness":
			cfg.SGLang.ScheduleConservativeness = number
		case "policy":
			cfg.SGLang.SchedulePolicy = v
		case "caching":
			cfg.EnablePrefixCaching = v == "on"
		case "rates":
			for _, r := range a.Vals {
				f, _ := strconv.ParseFloat(r, 64)
				cfg.AcceptRates = append(cfg.AcceptRates, f)
			}
		case "prefill":
			model.prefill = time.Duration(number * 1e6)
		case "decode":
			model.decode = time.Duration(number * 1e6)
		case "show":
			show = v
		default:
			d.Fatalf(t, "unknown setting %s", a.Key)
		}
	}
	return cfg, model, show
}

func playScenario(t *testing.T, d *datadriven.TestData) string {
	cfg, model, show := settings(t, d)
	var load []arrival
	var order []*Request
	names := map[string]*Request{}
	for i, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
		f := strings.Fields(line)
		if f[0] == "cancel" {
			load = append(load, arrival{at: millis(f[3]), cancel: names[f[1]]})
			continue
		}
		r := &Request{ID: RequestID(i), Owner: f[0]}
		_, err := fmt.Sscanf(f[1], "%d/%d", &r.PromptTokens, &r.MaxOutput)
		if err != nil {
			d.Fatalf(t, "%s: %v", line, err)
		}
		for j := 4; j < len(f); j++ {
			if f[j] == "rank" {
				r.Rank, _ = strconv.Atoi(f[j+1])
				break
			}
			r.Content = letters(f[j], r.PromptTokens, cfg.BlockSize)
		}
		names[f[0]] = r
		order = append(order, r)
		load = append(load, arrival{at: millis(f[3]), req: r})
	}
	w := newWorld(cfg, model, newSGLang)
	var out strings.Builder
	if show == "passes" {
		w.heard = func(rank int, start, end Time, p *Pass) { showPass(&out, rank, start, end, p, w.cores[rank].state()) }
	}
	w.play(load)
	for _, r := range order {
		showRecord(&out, r, w.records[r])
	}
	return out.String()
}

func millis(s string) Time {
	f, _ := strconv.ParseFloat(s, 64)
	return Time(f * 1e6)
}

// letters is a prompt with one letter per page.
func letters(pages string, prompt, size int) stream {
	s := stream{known: prompt}
	for i := range prompt {
		letter := pages[min(i/size, len(pages)-1)]
		s.ids = append(s.ids, uint32(letter)*10_000+uint32(i%size))
	}
	return s
}

func showPass(out *strings.Builder, rank int, start, end Time, p *Pass, s RankState) {
	fmt.Fprintf(out, "%v..%v", start.Milliseconds(), end.Milliseconds())
	if rank > 0 {
		fmt.Fprintf(out, " rank %d", rank)
	}
	if b := p.Prefill; b.Requests > 0 {
		fmt.Fprintf(out, " prefill(%d,%d,%d) computed %d", b.Requests, b.MeanISL, b.MeanPrefix, p.PromptTokens)
	}
	if b := p.Decode; b.Requests > 0 {
		fmt.Fprintf(out, " decode(%d,%d,%d)", b.Requests, b.ActiveKV, b.MeanContext)
	}
	for _, a := range p.Admitted {
		fmt.Fprintf(out, " +%v:%d", a.Req.Owner, a.Cached)
	}
	for _, a := range p.Preempted {
		fmt.Fprintf(out, " -%v:%d", a.Req.Owner, a.Blocks)
	}
	for _, o := range p.Outputs {
		fmt.Fprintf(out, " %v*%d", o.Req.Owner, o.Tokens)
	}
	fmt.Fprintf(out, " | running %d waiting %d, active %d cached %d, ratio %.4f\n",
		s.Running, s.Waiting, s.ActiveBlocks, s.InactiveBlocks, s.NewTokenRatio)
}

func showRecord(out *strings.Builder, r *Request, rec *record) {
	fmt.Fprintf(out, "%v: ", r.Owner)
	if rec.admit >= 0 {
		fmt.Fprintf(out, "admitted %v reuse %d, ", rec.admit.Milliseconds(), rec.reused)
	}
	if rec.admits > 1 {
		fmt.Fprintf(out, "%d times, ", rec.admits)
	}
	if rec.first >= 0 {
		fmt.Fprintf(out, "first %v, ", rec.first.Milliseconds())
	}
	fmt.Fprintf(out, "%d tokens, %v %v", rec.tokens, rec.how, rec.end.Milliseconds())
	if w := rec.why; w != nil {
		fmt.Fprintf(out, ": %s, needs %d of %d %s", w.Setting, w.Need, w.Have, w.Unit)
	}
	out.WriteByte('\n')
}
