package openai

import (
	"math"
	"sync"
	"time"

	"fakellm/openai/reply/script"
)

// tempo is a Ticket whose tokens leave at the instants that a script wants, or when the engine has made them if that is
// later: the engine runs as it always does, and what it has made waits here. Instants are absolute, so a token that is
// late does not delay those after it, and nobody waits: a timer wakes whoever serves the answer.
//
// The first token leaves at the arrival of the request plus the wanted TTFT. With a wanted ITL token i leaves i-1 times
// that after the first; without one the engine's gaps are kept, from where the first token left.
type tempo struct {
	// since is when the request arrived. first and gap are what is wanted, negative for the engine's own.
	since      time.Time
	first, gap time.Duration
	wake       func()

	// All that follows is guarded by mu.
	mu    sync.Mutex
	inner Ticket
	// made are the passes whose tokens have not all left, at most one for each token; seen tokens are made, left have
	// left, the first at begun, which was shift after the engine made it, the newest at last.
	made        []burst
	seen, left  int
	begun, last time.Time
	shift       time.Duration
	timer       *time.Timer
}

// burst is a pass that gave tokens: that with the number upto, counted from 1, was its last.
type burst struct {
	upto int
	at   time.Time
}

// enter submits a job, at the tempo that its choice wants.
func (a *answer) enter(job Job, want *script.Timing, wake func()) (Ticket, error) {
	if want == nil || want.TTFTMs == nil && want.ITLMs == nil {
		return a.srv.backend.Submit(job, wake)
	}
	t := &tempo{since: a.since, first: span(want.TTFTMs), gap: span(want.ITLMs), wake: wake}
	inner, err := a.srv.backend.Submit(job, t.heard)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inner = inner
	return t, nil
}

// span is a time of a script, negative for none.
func span(ms *float64) time.Duration {
	if ms == nil {
		return -1
	}
	return time.Duration(math.Round(*ms * float64(time.Millisecond)))
}

// heard notes when the engine made tokens; it is called from the pacing loop.
func (t *tempo) heard() {
	t.mu.Lock()
	if t.inner != nil {
		t.note(t.inner.Progress())
	}
	t.mu.Unlock()
	t.wake()
}

// note remembers new tokens. mu is held.
func (t *tempo) note(p Progress) {
	if p.Tokens <= t.seen {
		return
	}
	at := p.LastToken
	if at.IsZero() {
		at = p.Due
	}
	if t.seen == 0 {
		made := p.FirstToken
		if made.IsZero() {
			made = at
		}
		if t.begun = made; t.first >= 0 {
			t.begun = later(made, t.since.Add(t.first))
		}
		t.shift = t.begun.Sub(made)
		t.made = append(t.made, burst{1, made})
	}
	if t.seen = p.Tokens; t.seen > 1 {
		t.made = append(t.made, burst{t.seen, at})
	}
}

// later is the later of two instants.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// leaves is when the next token leaves. mu is held and some are waiting.
func (t *tempo) leaves() time.Time {
	made := t.made[0].at
	if t.gap < 0 {
		return made.Add(t.shift)
	}
	return later(made, t.begun.Add(time.Duration(t.left)*t.gap)) // the first is at begun, which is no sooner than made
}

// Progress reports what may leave by now. Every token is looked at once: O(new tokens).
func (t *tempo) Progress() Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.inner.Progress()
	t.note(p)
	now := time.Now()
	for len(t.made) > 0 {
		at := t.leaves()
		if wait := at.Sub(now); wait > 0 {
			t.arm(wait)
			break
		}
		t.left++
		t.last = at
		if t.left == t.made[0].upto {
			t.made = t.made[1:]
		}
	}
	if p.End == Completed && len(t.made) > 0 {
		p.End = Open
	}
	p.Tokens, p.AcceptedTokens = t.left, min(p.AcceptedTokens, t.left)
	p.FirstToken, p.LastToken = time.Time{}, time.Time{}
	if t.left > 0 {
		p.FirstToken, p.LastToken, p.Due = t.begun, t.last, t.last
	}
	return p
}

// arm has whoever serves the answer woken when the next token leaves. mu is held.
func (t *tempo) arm(wait time.Duration) {
	if t.timer == nil {
		t.timer = time.AfterFunc(wait, t.wake)
		return
	}
	t.timer.Reset(wait)
}

// Cancel frees the slot and what waits here.
func (t *tempo) Cancel() {
	t.mu.Lock()
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	t.inner.Cancel()
}
