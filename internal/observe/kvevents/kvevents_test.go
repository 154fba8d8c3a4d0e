package kvevents

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/google/go-cmp/cmp"
	"github.com/tinylib/msgp/msgp"

	"fakellm/engine"
	"fakellm/engine/kv"
)

func stored(seq kv.SequenceHash, parent kv.SequenceHash, has bool) kv.Event {
	return kv.Event{Parent: parent, HasParent: has, Blocks: []kv.EventBlock{{Sequence: seq, Local: 5, Tokens: []uint32{1, 2}}}}
}

// decode reads a payload back into plain values.
func decode(t *testing.T, payload []byte) any {
	t.Helper()
	v, rest, err := msgp.ReadIntfBytes(payload)
	if err != nil || len(rest) > 0 {
		t.Fatalf("%v, %d bytes left over", err, len(rest))
	}
	return v
}

func TestWireLayout(t *testing.T) {
	got := decode(t, appendBatch(nil, 1.5, []kv.Event{
		stored(7, 3, true), stored(8, 0, false), {Removed: true, Blocks: []kv.EventBlock{{Sequence: 1 << 63}}},
	}, 2, 2))
	want := []any{1.5, []any{
		map[string]any{
			"type": "BlockStored", "block_hashes": []any{int64(7)}, "parent_block_hash": int64(3),
			"token_ids": []any{int64(1), int64(2)}, "block_size": int64(2), "group_idx": int64(0),
		},
		map[string]any{
			"type": "BlockStored", "block_hashes": []any{int64(8)}, "parent_block_hash": nil,
			"token_ids": []any{int64(1), int64(2)}, "block_size": int64(2), "group_idx": int64(0),
		},
		map[string]any{"type": "BlockRemoved", "block_hashes": []any{uint64(1 << 63)}, "group_idx": int64(0)},
	}, int64(2)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRing(t *testing.T) {
	var r ring
	for i := range uint64(3 * ringBatches) {
		r.add(batch{seq: i, payload: []byte{1}})
	}
	const first = 2 * ringBatches
	for _, row := range []struct {
		why         string
		start       uint64
		wantFrom    uint64
		wantBatches int
	}{
		{"what is gone is not invented", 0, first, ringBatches},
		{"from the middle", first + 10, first + 10, ringBatches - 10},
		{"the newest alone", 3*ringBatches - 1, 3*ringBatches - 1, 1},
		{"the future is empty", 3 * ringBatches, 0, 0},
	} {
		got := r.since(row.start)
		if len(got) != row.wantBatches || len(got) > 0 && got[0].seq != row.wantFrom {
			t.Errorf("%s: %d batches from %v", row.why, len(got), got[:min(1, len(got))])
		}
	}
	if len(r.items) > 2*ringBatches {
		t.Errorf("the ring holds %d slots for %d batches", len(r.items), ringBatches)
	}
}

// freePorts returns a port with the next one free as well.
func freePorts(t *testing.T) int {
	t.Helper()
	for range 50 {
		a, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := a.Addr().(*net.TCPAddr).Port
		b, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", itoa(port+1)))
		_ = a.Close()
		if err == nil {
			_ = b.Close()
			return port
		}
	}
	t.Fatal("no two ports in a row are free")
	return 0
}

func itoa(n int) string { return strconv.Itoa(n) }

func TestSubscribeAndReplay(t *testing.T) {
	port := freePorts(t)
	e, err := NewEvents(Config{
		Host: "127.0.0.1", Port: port, ReplayPort: port + 1, Topic: "kv@{worker}@{model}", Model: "m", Workers: 1, Ranks: 1, BlockSize: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for i := range kv.SequenceHash(3) {
		if i == 1 { // between passes
			e.Changed(engine.CacheChange{Events: []kv.Event{{Removed: true, Blocks: []kv.EventBlock{{Sequence: 0}}}}})
			continue
		}
		e.Ended(&engine.Pass{Events: []kv.Event{stored(i, 0, false)}})
		e.Ended(&engine.Pass{}) // nothing to say: no number is taken
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ask := zmq4.NewDealer(ctx)
	defer func() { _ = ask.Close() }()
	if err := ask.Dial("tcp://127.0.0.1:" + itoa(port+1)); err != nil {
		t.Fatal(err)
	}
	if err := ask.SendMulti(zmq4.NewMsgFrom(nil, be64(1))); err != nil {
		t.Fatal(err)
	}
	var seqs []int64
	for {
		m, err := ask.Recv()
		if err != nil {
			t.Fatal(err)
		}
		frames := m.Frames[len(m.Frames)-2:]
		seqs = append(seqs, int64(binary.BigEndian.Uint64(frames[0])))
		if seqs[len(seqs)-1] < 0 {
			break
		}
	}
	if diff := cmp.Diff([]int64{1, 2, -1}, seqs); diff != "" {
		t.Error(diff)
	}
	if got := string(e.ranks[0].topic); got != "kv@0@m" {
		t.Errorf("topic %q", got)
	}
}

func TestBindErrorNamesTheAddress(t *testing.T) {
	port := freePorts(t)
	taken, err := net.Listen("tcp", "127.0.0.1:"+itoa(port))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	if _, err := NewEvents(Config{Host: "127.0.0.1", Port: port, Workers: 1, Ranks: 1}); err == nil {
		t.Error("two servers on one port")
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestPassesAsLines(t *testing.T) {
	var out bytes.Buffer
	p, err := NewPasses(Config{Workers: 1, Ranks: 1, Origin: time.Unix(100, 0)}, &out)
	if err != nil {
		t.Fatal(err)
	}
	p.Ended(&engine.Pass{End: 2e6, Load: &engine.Load{PrefillRequests: 3, PrefillVar: 1.5, QueuedDecodeRequests: 4}})
	p.Ended(&engine.Pass{End: 3e6}) // no record, no line
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	var line struct {
		Version   int     `json:"version"`
		Wall      float64 `json:"wall_time"`
		End       float64 `json:"end_ms"`
		Scheduled struct {
			Prefill int     `json:"num_prefill_requests"`
			Var     float64 `json:"var_prefill_length"`
		} `json:"scheduled_requests"`
		Queued struct {
			Decode int `json:"num_decode_requests"`
		} `json:"queued_requests"`
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line.Version != 1 || line.Wall != 100.002 || line.End != 2 || line.Scheduled.Prefill != 3 || line.Scheduled.Var != 1.5 || line.Queued.Decode != 4 {
		t.Errorf("%+v", line)
	}
	bad, err := NewPasses(Config{Workers: 1, Ranks: 1}, brokenWriter{})
	if err != nil {
		t.Fatal(err)
	}
	bad.Ended(&engine.Pass{Load: &engine.Load{}})
	if bad.Close() == nil {
		t.Error("a full disk went unnoticed")
	}
}

func TestLoadWire(t *testing.T) {
	got := decode(t, appendLoad(nil, "0", 1, 9, 2.5, &engine.Load{DecodeKVTokens: 7, DecodeVar: .25})).(map[string]any)
	if got["dp_rank"] != int64(1) || got["counter_id"] != int64(9) || got["wall_time"] != 2.5 {
		t.Errorf("%v", got)
	}
	scheduled := got["scheduled_requests"].(map[string]any)
	if scheduled["sum_decode_kv_tokens"] != int64(7) || scheduled["var_decode_kv_tokens"] != .25 || len(scheduled) != 7 {
		t.Errorf("%v", scheduled)
	}
}

func BenchmarkEncodeBatch(b *testing.B) {
	tokens := make([]uint32, 64)
	events := []kv.Event{{Blocks: []kv.EventBlock{{Sequence: 1, Tokens: tokens}, {Sequence: 2, Tokens: tokens}}}}
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		buf = appendBatch(buf[:0], 1, events, 0, 64)
	}
}
