//go:build unix

package engine_test

import (
	"bufio"
	"encoding/json"
	"os"
	"syscall"
	"testing"
	"time"

	"fakellm/engine"
	"fakellm/engine/kv"
	"fakellm/internal/enginetest"
)

// traceRow is a line of a Mooncake trace.
type traceRow struct {
	Timestamp int64    `json:"timestamp"`
	Input     int      `json:"input_length"`
	Output    int      `json:"output_length"`
	IDs       []uint32 `json:"hash_ids"`
}

// blockIDs is a prompt of hash ids, size tokens each; memo keeps the hash of a whole id at one block size.
type blockIDs struct {
	ids          []uint32
	size, prompt int
	memo         *[]kv.LocalHash
}

func (b blockIDs) Local(i, size int) (kv.LocalHash, bool) {
	if (i+1)*size > b.prompt {
		return 0, false
	}
	id := b.ids[i*size/b.size]
	for int(id) >= len(*b.memo) {
		*b.memo = append(*b.memo, 0)
	}
	h := (*b.memo)[id]
	if h == 0 {
		tokens := make([]uint32, size)
		for j := range tokens {
			tokens[j] = id
		}
		h = kv.HashTokens(tokens)
		(*b.memo)[id] = h
	}
	return h, true
}

func (b blockIDs) AppendLocals(dst []kv.LocalHash, from, to, size int) []kv.LocalHash {
	for i := from; i < to; i++ {
		h, ok := b.Local(i, size)
		if !ok {
			break
		}
		dst = append(dst, h)
	}
	return dst
}

// quiet is a RunSink that only counts.
type quiet struct{ passes, tokens, ended int }

func (q *quiet) Began(*engine.Pass) {}
func (q *quiet) Ended(p *engine.Pass) {
	q.passes++
	q.count(p.Outputs)
	for i := range p.Outputs {
		q.tokens += p.Outputs[i].Tokens
	}
}

func (q *quiet) Ran(r *engine.Run) {
	q.passes += len(r.Ends)
	q.tokens += len(r.Ends) * len(r.Requests)
	q.count(r.Outputs)
}
func (q *quiet) Left(engine.Departure) { q.ended++ }
func (q *quiet) count(outs []engine.Output) {
	for i := range outs {
		if outs[i].End != engine.Running {
			q.ended++
		}
	}
}

func readTrace(b *testing.B, path string) []traceRow {
	f, err := os.Open(path)
	if err != nil {
		b.Skip(err)
	}
	defer func() { _ = f.Close() }() // read only
	var rows []traceRow
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var row traceRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			b.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// cpuTime is the user and system time of the process: this machine is shared, wall time says little.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkTrace replays the trace named by FAKELLM_TRACE on 8 workers, round robin; reading it and hashing its blocks
// is not counted.
func BenchmarkTrace(b *testing.B) {
	rows := readTrace(b, os.Getenv("FAKELLM_TRACE"))
	for _, backend := range []engine.Backend{engine.VLLM, engine.TRTLLM, engine.SGLang} {
		for _, size := range []int{512, 64} {
			b.Run(string(backend)+"-"+map[int]string{512: "512", 64: "64"}[size], func(b *testing.B) {
				b.ReportAllocs()
				memo := &[]kv.LocalHash{}
				playTrace(b, rows, backend, size, memo)
				before := cpuTime()
				for b.Loop() {
					playTrace(b, rows, backend, size, memo)
				}
				b.ReportMetric((cpuTime()-before).Seconds()*1000/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

func playTrace(b *testing.B, rows []traceRow, backend engine.Backend, size int, memo *[]kv.LocalHash) {
	engines := make([]*engine.Engine, 8)
	for i := range engines {
		c := engine.DefaultConfig(backend)
		c.BlockSize, c.Runs, c.WorkerID = size, true, i
		c.SGLang.ChunkedPrefillSize = 8192
		e, err := engine.New(c, enginetest.Poly{})
		if err != nil {
			b.Fatal(err)
		}
		engines[i] = e
	}
	var sink quiet
	advance := func(e *engine.Engine, to engine.Time) {
		for at, ok := e.Next(); ok && at < to; at, ok = e.Next() {
			e.Complete(at, &sink)
			if err := e.Drive(at, &sink); err != nil {
				b.Fatal(err)
			}
		}
		if at, ok := e.Next(); ok && at == to {
			e.Complete(at, &sink)
		}
	}
	for i, row := range rows {
		e, at := engines[i%8], engine.Time(row.Timestamp*1e6)
		advance(e, at)
		err := e.Submit(at, &engine.Request{
			ID: engine.RequestID(i), PromptTokens: row.Input, MaxOutput: row.Output, Rank: engine.AnyRank,
			Content: blockIDs{row.IDs, 512, row.Input, memo},
		})
		if err != nil {
			b.Fatal(err)
		}
		if err := e.Drive(at, &sink); err != nil {
			b.Fatal(err)
		}
	}
	for _, e := range engines {
		advance(e, 1<<62)
	}
	if sink.ended != len(rows) {
		b.Fatalf("%d of %d ended", sink.ended, len(rows))
	}
	b.ReportMetric(float64(sink.passes), "passes")
	b.ReportMetric(float64(sink.tokens), "tokens")
}
