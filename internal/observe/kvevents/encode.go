package kvevents

import (
	"github.com/tinylib/msgp/msgp"

	"fakellm/engine"
	"fakellm/engine/kv"
)

// appendBatch appends one payload: [unix seconds, events, rank]. Each event is a map tagged "type"; token ids are flat,
// blocks*blockSize of them (spec engine-core §10.4).
func appendBatch(b []byte, unix float64, events []kv.Event, rank, blockSize int) []byte {
	b = msgp.AppendArrayHeader(b, 3)
	b = msgp.AppendFloat64(b, unix)
	b = msgp.AppendArrayHeader(b, uint32(len(events)))
	for i := range events {
		if events[i].Removed {
			b = appendRemoved(b, &events[i])
		} else {
			b = appendStored(b, &events[i], blockSize)
		}
	}
	return msgp.AppendInt(b, rank)
}

func appendStored(b []byte, e *kv.Event, blockSize int) []byte {
	b = msgp.AppendMapHeader(b, 6)
	b = msgp.AppendString(msgp.AppendString(b, "type"), "BlockStored")
	b = appendHashes(b, e)
	b = msgp.AppendString(b, "parent_block_hash")
	if e.HasParent {
		b = msgp.AppendUint64(b, uint64(e.Parent))
	} else {
		b = msgp.AppendNil(b)
	}
	b = msgp.AppendString(b, "token_ids")
	n := 0
	for i := range e.Blocks {
		n += len(e.Blocks[i].Tokens)
	}
	b = msgp.AppendArrayHeader(b, uint32(n))
	for i := range e.Blocks {
		for _, id := range e.Blocks[i].Tokens {
			b = msgp.AppendUint32(b, id)
		}
	}
	b = msgp.AppendInt(msgp.AppendString(b, "block_size"), blockSize)
	return msgp.AppendInt(msgp.AppendString(b, "group_idx"), 0)
}

func appendRemoved(b []byte, e *kv.Event) []byte {
	b = msgp.AppendMapHeader(b, 3)
	b = msgp.AppendString(msgp.AppendString(b, "type"), "BlockRemoved")
	b = appendHashes(b, e)
	return msgp.AppendInt(msgp.AppendString(b, "group_idx"), 0)
}

func appendHashes(b []byte, e *kv.Event) []byte {
	b = msgp.AppendString(b, "block_hashes")
	b = msgp.AppendArrayHeader(b, uint32(len(e.Blocks)))
	for i := range e.Blocks {
		b = msgp.AppendUint64(b, uint64(e.Blocks[i].Sequence))
	}
	return b
}

// appendLoad appends one forward-pass metrics record, version 1 (spec engine-core §10.3).
func appendLoad(b []byte, worker string, rank int, counter uint64, wall float64, l *engine.Load) []byte {
	b = msgp.AppendMapHeader(b, 7)
	b = msgp.AppendInt(msgp.AppendString(b, "version"), 1)
	b = msgp.AppendString(msgp.AppendString(b, "worker_id"), worker)
	b = msgp.AppendInt(msgp.AppendString(b, "dp_rank"), rank)
	b = msgp.AppendUint64(msgp.AppendString(b, "counter_id"), counter)
	b = msgp.AppendFloat64(msgp.AppendString(b, "wall_time"), wall)
	b = msgp.AppendMapHeader(msgp.AppendString(b, "scheduled_requests"), 7)
	for _, f := range scheduled(l) {
		b = f.append(b)
	}
	b = msgp.AppendMapHeader(msgp.AppendString(b, "queued_requests"), 6)
	for _, f := range queued(l) {
		b = f.append(b)
	}
	return b
}

// number is one named figure of a record: a count, or a variance when isVar is set.
type number struct {
	name     string
	count    int
	variance float64
	isVar    bool
}

func (f *number) append(b []byte) []byte {
	b = msgp.AppendString(b, f.name)
	if f.isVar {
		return msgp.AppendFloat64(b, f.variance)
	}
	return msgp.AppendInt(b, f.count)
}

func scheduled(l *engine.Load) [7]number {
	return [7]number{
		{name: "num_prefill_requests", count: l.PrefillRequests},
		{name: "sum_prefill_tokens", count: l.PrefillTokens},
		{name: "var_prefill_length", variance: l.PrefillVar, isVar: true},
		{name: "sum_prefill_kv_tokens", count: l.PrefillKVTokens},
		{name: "num_decode_requests", count: l.DecodeRequests},
		{name: "sum_decode_kv_tokens", count: l.DecodeKVTokens},
		{name: "var_decode_kv_tokens", variance: l.DecodeVar, isVar: true},
	}
}

func queued(l *engine.Load) [6]number {
	return [6]number{
		{name: "num_prefill_requests", count: l.QueuedPrefillRequests},
		{name: "sum_prefill_tokens", count: l.QueuedPrefillTokens},
		{name: "var_prefill_length", variance: l.QueuedPrefillVar, isVar: true},
		{name: "num_decode_requests", count: l.QueuedDecodeRequests},
		{name: "sum_decode_kv_tokens", count: l.QueuedDecodeKVTokens},
		{name: "var_decode_kv_tokens", variance: l.QueuedDecodeVar, isVar: true},
	}
}
