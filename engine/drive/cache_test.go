package drive

import (
	"testing"
	"testing/synctest"
	"time"

	"fakellm/engine"
	"fakellm/engine/kv"
)

// subscriber keeps the set of blocks that a listener to cache events believes in.
type subscriber struct {
	t      *testing.T
	blocks map[kv.SequenceHash]bool
	next   uint64
}

func (s *subscriber) Began(*engine.Pass)            {}
func (s *subscriber) Left(engine.Departure)         {}
func (s *subscriber) Ended(p *engine.Pass)          { s.hear(p.Events) }
func (s *subscriber) Changed(c engine.CacheChange)  { s.hear(c.Events) }
func (s *subscriber) stored(h kv.SequenceHash) bool { return s.blocks[h] }

func (s *subscriber) hear(events []kv.Event) {
	for _, e := range events {
		if e.ID != s.next {
			s.t.Errorf("event %d came where %d was due", e.ID, s.next)
		}
		s.next = e.ID + 1
		for _, b := range e.Blocks {
			if s.stored(b.Sequence) != e.Removed {
				s.t.Errorf("event %d: block %x: removed %v, but known %v", e.ID, b.Sequence, e.Removed, !e.Removed)
			}
			if e.Removed {
				delete(s.blocks, b.Sequence)
			} else {
				s.blocks[b.Sequence] = true
			}
		}
	}
}

// salted is content that no other salt shares.
type salted uint64

// Local implements kv.Content.
func (s salted) Local(i, _ int) (kv.LocalHash, bool) {
	return kv.LocalHash(uint64(s)<<32 | uint64(i)), true
}

// A listener is right at once, not when the next request happens to come.
func TestChangesBetweenPassesAreTold(t *testing.T) {
	for _, backend := range []engine.Backend{engine.VLLM, engine.SGLang, engine.TRTLLM} {
		t.Run(string(backend), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := engine.DefaultConfig(backend)
				cfg.NumGPUBlocks, cfg.BlockSize, cfg.EmitKVEvents = 64, 16, true
				cfg.SGLang.ChunkedPrefillSize = 1024
				heard := &subscriber{t: t, blocks: map[kv.SequenceHash]bool{}}
				l := NewLive(world(t, 1, cfg), Config{Sleeper: NewTimerSleeper(), Sinks: []engine.Sink{heard}})
				defer l.Close()
				ask := func(salt salted, output int) *Mailbox {
					box, err := l.Submit(engine.Request{PromptTokens: 64, MaxOutput: output, Rank: engine.AnyRank, Content: salt}, nil)
					if err != nil {
						t.Fatal(err)
					}
					return box
				}
				ask(1, 4)
				time.Sleep(time.Minute)
				synctest.Wait()
				if len(heard.blocks) == 0 {
					t.Fatal("nothing was stored")
				}
				l.ResetPrefixCache()
				synctest.Wait()
				time.Sleep(time.Microsecond)
				synctest.Wait()
				if len(heard.blocks) > 0 {
					t.Errorf("an idle server was reset and %d blocks are still believed in", len(heard.blocks))
				}

				ask(2, 4) // leaves blocks to reset while the next pass is in flight
				time.Sleep(time.Minute)
				ask(3, 1)
				time.Sleep(time.Microsecond)
				l.ResetPrefixCache()
				time.Sleep(time.Minute)
				box := ask(4, 1000)
				time.Sleep(100 * time.Millisecond)
				box.Cancel()
				time.Sleep(time.Minute)
				l.ResetPrefixCache()
				time.Sleep(time.Minute)
				synctest.Wait()
				if len(heard.blocks) > 0 {
					t.Errorf("%d blocks are still believed in at the end", len(heard.blocks))
				}
			})
		})
	}
}
