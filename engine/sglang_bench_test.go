package engine

import (
	"fmt"
	"testing"
	"time"

	"fakellm/engine/kv"
)

// BenchmarkSGLangDecode measures passes of steady decode, one by one and in runs. ns/token is per scheduled token.
func BenchmarkSGLangDecode(b *testing.B) {
	for _, batch := range []int{8, 256, 2048} {
		for _, page := range []int{1, 64} {
			for _, runs := range []bool{false, true} {
				b.Run(fmt.Sprintf("running=%d/page=%d/runs=%v", batch, page, runs), func(b *testing.B) {
					benchDecode(b, batch, page, runs)
				})
			}
		}
	}
}

func benchDecode(b *testing.B, batch, page int, runs bool) {
	cfg := DefaultConfig(SGLang)
	cfg.BlockSize, cfg.MaxNumSeqs, cfg.NumGPUBlocks = page, batch, 1<<24/page
	cfg.SGLang.ScheduleConservativeness, cfg.SGLang.ClipMaxNewTokens = 0, 0
	c := newSGLang(cfg, 0, fixedModel{time.Millisecond, time.Millisecond})
	var p Pass
	submitted, now := 0, Time(0)
	refill := func() {
		for ; c.state().Running+c.state().Waiting < batch; submitted++ {
			c.submit(&Request{ID: RequestID(submitted), PromptTokens: 100, MaxOutput: 4000})
		}
		for c.state().Waiting > 0 {
			p.reset(0, 0, now)
			if _, err := c.pass(&p, turn{}); err != nil {
				b.Fatal(err)
			}
		}
	}
	refill()
	b.ReportAllocs()
	passes := 0
	var ends []Time
	var r Run
	for b.Loop() {
		if c.state().Running < batch {
			b.StopTimer()
			refill()
			b.StartTimer()
		}
		if runs {
			ends, _ = c.run(now, ends[:0], 256)
			r.Requests, r.Outputs = r.Requests[:0], r.Outputs[:0]
			c.commit(len(ends), &r)
			passes += len(ends)
			now = ends[len(ends)-1]
			continue
		}
		p.reset(0, 0, now)
		if _, err := c.pass(&p, turn{}); err != nil {
			b.Fatal(err)
		}
		passes++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(passes*batch), "ns/token")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(passes), "ns/pass")
}

// BenchmarkSGLangPrefill measures admission with a cached half, per computed or reused prompt token.
func BenchmarkSGLangPrefill(b *testing.B) {
	for _, page := range []int{1, 64} {
		b.Run(fmt.Sprintf("page=%d", page), func(b *testing.B) {
			cfg := DefaultConfig(SGLang)
			cfg.BlockSize, cfg.NumGPUBlocks = page, 1<<16/page
			cfg.SGLang.ChunkedPrefillSize = 16384
			c := newSGLang(cfg, 0, fixedModel{time.Millisecond, time.Millisecond})
			const length = 12_288
			var p Pass
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				s := benchContent{half: uint64(n % 4), rest: uint64(n)}
				c.submit(&Request{ID: RequestID(n), PromptTokens: length, MaxOutput: 1, Content: s})
				for c.ready() {
					p.reset(0, 0, 0)
					if _, err := c.pass(&p, turn{}); err != nil {
						b.Fatal(err)
					}
				}
				n++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*length), "ns/token")
		})
	}
}

// benchContent has one of a few first halves and a second half of its own.
type benchContent struct{ half, rest uint64 }

func (c benchContent) Local(i, size int) (kv.LocalHash, bool) {
	if i*size < 6144 {
		return kv.Own(c.half, i), true
	}
	return kv.Own(c.rest+1000, i), true
}
