package enginetest

import (
	"fmt"
	"slices"
	"time"

	"fakellm/engine"
	"fakellm/engine/kv"
	"fakellm/internal/rng"
)

// Timed is an input and its instant.
type Timed struct {
	At engine.Time
	In engine.Input
}

// Twin is the vLLM and TensorRT-LLM core of one lone rank once more: spec engine-core §2, §3, §5 and §8 in the plainest
// words, for comparison. It writes the lines that PassLog writes.
type Twin struct {
	cfg   engine.Config
	model engine.StepModel
	pool  *twinPool
	dice  *rng.StdRng

	waiting, running []*twinSeq
	count            uint64
	preemptions      uint64
	eventID          uint64
	evictions        int // since anybody got a token
	cleared          []uint64

	now    engine.Time
	flying *engine.Pass
	Lines  []string
}

type twinSeq struct {
	req       *engine.Request
	ordinal   uint64
	limit     int
	length    int // known tokens
	computed  int
	ids       []int
	allocated int
	shown     int // published blocks
	cached    int
	admitted  bool
	evicted   bool
	scheduled *twinShare // in this pass
}

type twinShare struct{ tokens, prompt, prefix int }

// NewTwin returns an idle twin.
func NewTwin(cfg engine.Config, model engine.StepModel) *Twin {
	t := &Twin{cfg: cfg, model: model, pool: newTwinPool(cfg.NumGPUBlocks)}
	t.dice = rng.NewStdRng(cfg.AcceptSeed + uint64(cfg.WorkerID)*uint64(cfg.DPSize))
	return t
}

// Run plays the inputs, which must be in order, until nothing is left to do.
func (t *Twin) Run(inputs []Timed) {
	for {
		switch {
		case t.flying != nil && (len(inputs) == 0 || t.flying.End <= inputs[0].At):
			t.now = t.flying.End
		case len(inputs) > 0:
			t.now = inputs[0].At
		default:
			return
		}
		if t.flying != nil && t.flying.End == t.now {
			t.land()
		}
		for len(inputs) > 0 && inputs[0].At == t.now {
			t.apply(inputs[0].In)
			inputs = inputs[1:]
		}
		t.drive()
	}
}

func (t *Twin) land() {
	p := t.flying
	t.flying = nil
	p.After = engine.RankState{
		Running: len(t.running), Waiting: len(t.waiting), ActiveBlocks: t.pool.active(),
		InactiveBlocks: len(t.pool.idle), Preemptions: t.preemptions,
	}
	t.Lines = append(t.Lines, FormatPass(p, 0))
}

func (t *Twin) apply(in engine.Input) {
	switch in := in.(type) {
	case engine.Submit:
		t.count++
		s := &twinSeq{req: in.Request, ordinal: t.count, length: in.Request.PromptTokens, limit: in.Request.MaxOutput}
		if t.trt() {
			if t.cfg.MaxModelLen > 0 {
				s.limit = min(s.limit, max(0, t.cfg.MaxModelLen-s.prompt()))
			}
			if room := t.cfg.NumGPUBlocks * t.cfg.BlockSize; s.prompt() < room {
				s.limit = min(s.limit, room-s.prompt())
			}
		}
		t.waiting = append(t.waiting, s)
	case engine.Cancel:
		t.cancel(in.ID)
	case engine.ResetPrefixCache:
		t.cleared = append(t.cleared, t.pool.clear()...)
	}
}

func (t *Twin) cancel(id engine.RequestID) {
	var req *engine.Request
	gone := func(s *twinSeq) bool {
		if s.req.ID != id {
			return false
		}
		req = s.req
		t.release(s)
		return true
	}
	t.waiting = slices.DeleteFunc(t.waiting, gone)
	t.running = slices.DeleteFunc(t.running, gone)
	if t.flying != nil {
		t.flying.Outputs = slices.DeleteFunc(t.flying.Outputs, func(o engine.Output) bool {
			if o.Req.ID == id {
				req = o.Req
			}
			return o.Req.ID == id
		})
	}
	if req != nil {
		t.left(engine.Output{Req: req, End: engine.Cancelled})
	}
}

func (t *Twin) left(o engine.Output) {
	t.Lines = append(t.Lines, fmt.Sprintf("%d left %s", t.now, formatOutput(o)))
}

func (t *Twin) drive() {
	for t.flying == nil && len(t.waiting)+len(t.running) > 0 {
		p := t.pass()
		p.End = p.Start.Add(p.PrefillTime + p.DecodeTime)
		if p.ScheduledTokens > 0 || len(p.Admitted)+len(p.Preempted)+len(p.Outputs) > 0 {
			t.flying = p
			if p.End == t.now {
				t.land()
			}
			continue
		}
		if len(t.waiting) == 0 {
			return
		}
		t.left(t.endHead())
	}
}

// endHead ends the head of the queue, which can never run.
func (t *Twin) endHead() engine.Output {
	s := t.waiting[0]
	t.waiting = t.waiting[1:]
	why := engine.Refusal{Setting: "num_gpu_blocks", Have: t.cfg.NumGPUBlocks}
	why.Need = max(t.blocks(s.length), t.cfg.NumGPUBlocks+1)
	switch {
	case !t.cfg.EnableChunkedPrefill && s.prompt()-s.computed > t.cfg.MaxNumBatchedTokens:
		why.Setting, why.Need, why.Have = "max_num_batched_tokens", s.prompt()-s.computed, t.cfg.MaxNumBatchedTokens
	case t.trt():
		why.Need = max(t.blocks(s.prompt()+s.limit), t.cfg.NumGPUBlocks+1)
	case t.mtp() && s.evicted:
		why.Need = max(why.Need, t.blocks(s.length+min(t.width(), t.remaining(s))))
	}
	t.release(s)
	end := engine.Rejected
	if s.length > s.prompt() {
		end = engine.Failed
	}
	return engine.Output{Req: s.req, Cached: s.cached, End: end, Why: &why}
}

func (s *twinSeq) prompt() int { return s.req.PromptTokens }

func (t *Twin) trt() bool        { return t.cfg.Backend == engine.TRTLLM }
func (t *Twin) mtp() bool        { return t.cfg.NumSpeculativeTokens > 0 }
func (t *Twin) blocks(n int) int { return (n + t.cfg.BlockSize - 1) / t.cfg.BlockSize }

func (t *Twin) width() int {
	if t.cfg.WorkerType == engine.Prefill {
		return 1
	}
	return t.cfg.NumSpeculativeTokens + 1
}

// remaining is how many tokens s may still generate.
func (t *Twin) remaining(s *twinSeq) int {
	left := s.limit - (s.length - s.prompt())
	if t.cfg.MaxModelLen > 0 {
		left = min(left, t.cfg.MaxModelLen-s.length)
	}
	return max(0, left)
}

func (t *Twin) release(s *twinSeq) {
	for _, id := range slices.Backward(s.ids) {
		t.pool.release(id)
	}
	s.ids, s.allocated, s.shown = nil, 0, 0
}

// hash is the identity of block i of s, from the start of the chain each time. Behind a block that nobody can ask for,
// all are the request's own.
func (t *Twin) hash(s *twinSeq, i int) (seq uint64, local kv.LocalHash) {
	for j := 0; j <= i; j++ {
		var ok bool
		if local, ok = s.req.Content.Local(j, t.cfg.BlockSize); !ok {
			local = kv.Own(s.ordinal*uint64(t.cfg.DPSize)+uint64(t.cfg.WorkerID)<<40, i)
			return uint64(local), local
		}
		if j == 0 {
			seq = uint64(kv.First(local))
		} else {
			seq = uint64(kv.Chain(kv.SequenceHash(seq), local))
		}
	}
	return seq, local
}

// decodeTime charges n requests with a sum of lengths.
func (t *Twin) decodeTime(p *engine.Pass, charged []*twinSeq) {
	if len(charged) == 0 || t.cfg.WorkerType == engine.Prefill {
		return
	}
	sum := 0
	for _, s := range charged {
		sum += s.length
	}
	p.Decode = engine.DecodeBatch{
		Requests: len(charged), ActiveKV: sum, MeanContext: sum / len(charged),
		TotalKV: t.cfg.NumGPUBlocks * t.cfg.BlockSize,
	}
	p.DecodeTime, _ = t.model.Decode(p.Decode)
}

// prefillTime charges the prompts of the pass that nobody took back.
func (t *Twin) prefillTime(p *engine.Pass, shares []*twinShare) {
	n, isl, prefix := 0, 0, 0
	for _, s := range shares {
		if s.prompt > 0 && t.cfg.WorkerType != engine.Decode {
			n++
			isl += s.prefix + s.prompt
			prefix += s.prefix
		}
	}
	if n == 0 || isl/n == prefix/n {
		return
	}
	p.Prefill = engine.PrefillBatch{Requests: n, MeanISL: isl / n, MeanPrefix: prefix / n}
	var d time.Duration
	d, _ = t.model.Prefill(p.Prefill)
	p.PrefillTime = d
}
