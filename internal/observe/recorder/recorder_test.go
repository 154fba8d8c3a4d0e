package recorder

import (
	"testing"

	"fakellm/engine"
)

// follow makes a request that arrives at ms, unrounded, which the machine has rounded up to at.
func follow(r *Recorder, id engine.RequestID, ms float64, at engine.Time) *engine.Request {
	req := &engine.Request{ID: id, PromptTokens: 8, MaxOutput: 9}
	req.Owner = r.Follow(req, ms, at)
	return req
}

func began(r *Recorder, start, end engine.Time, reqs ...*engine.Request) {
	p := &engine.Pass{Start: start, End: end}
	for _, q := range reqs {
		p.Admitted = append(p.Admitted, engine.Admission{Req: q, Cached: 4})
	}
	r.Began(p)
}

func ended(r *Recorder, at engine.Time, end engine.End, reqs ...*engine.Request) {
	p := &engine.Pass{End: at, PromptTokens: 5}
	for _, q := range reqs {
		p.Outputs = append(p.Outputs, engine.Output{Req: q, Tokens: 1, End: end})
	}
	r.Ended(p)
}

func TestTimesAreThoseOfTheUnroundedArrival(t *testing.T) {
	r := New(Config{})
	const half = 0.5e-6 // ms
	a := follow(r, 1, 10-half, 10_000_000)
	began(r, 10_000_000, 20_000_000, a)
	ended(r, 20_000_000, engine.Running, a)
	b := follow(r, 2, 15, 15_000_000)
	began(r, 20_000_000, 30_000_000, b) // the worker never idled: it is still half a nanosecond early
	ended(r, 30_000_000, engine.Completed, a, b)
	c := follow(r, 3, 40, 40_000_000)
	began(r, 40_000_000, 50_000_000, c) // now it did
	ended(r, 50_000_000, engine.Completed, c)
	got := r.Records()
	for i, want := range []struct{ admit, terminal float64 }{{10 - half, 30 - half}, {20 - half, 30 - half}, {40, 50}} {
		if got[i].FirstAdmit != want.admit || got[i].Terminal != want.terminal {
			t.Errorf("request %d: admitted %v, ended %v, want %v", got[i].ID, got[i].FirstAdmit, got[i].Terminal, want)
		}
	}
	if r.CommittedPrefill() != 15 || r.Clock(50_000_000) != 50 {
		t.Errorf("prefill %d, clock %v", r.CommittedPrefill(), r.Clock(50_000_000))
	}
}

func TestOnlyCompletedRequestsGiveGaps(t *testing.T) {
	ends := 0
	r := New(Config{Ended: func(*Entry, engine.Time, engine.End) { ends++ }})
	a, b, c := follow(r, 1, 0, 0), follow(r, 2, 0, 0), follow(r, 3, 0, 0)
	stranger := &engine.Request{ID: 9}
	began(r, 0, 10, a, b, c, stranger)
	at := engine.Time(0)
	for range 3 * laneLimit { // long enough to be handed over in parts
		at += 10
		ended(r, at, engine.Running, a, b, stranger)
	}
	ended(r, at+30, engine.Running, b, c) // a misses one
	ended(r, at+50, engine.Completed, a)
	ended(r, at+60, engine.Failed, b)
	r.Left(engine.Departure{At: at + 70, Output: engine.Output{Req: c, End: engine.Cancelled}})
	d := r.Gaps().Gap()
	// The neighbours of a: 10 ns each, and one odd gap of 50.
	if d.Count != 3*laneLimit || d.Min != 10e-6 || d.Max != 50e-6 {
		t.Errorf("gaps %+v", d)
	}
	if ends != 3 || len(r.Records()) != 3 || r.Records()[2].Status != "canceled" || r.Records()[1].Counts() {
		t.Errorf("%d ends, records %+v", ends, r.Records())
	}
}

func TestEntriesServeAgain(t *testing.T) {
	r := New(Config{})
	first := follow(r, 1, 0, 0)
	began(r, 0, 10, first)
	began(r, 20, 30, first) // once more, after a preemption
	ended(r, 30, engine.Completed, first)
	second := follow(r, 2, 40, 40_000_000)
	if second.Owner != first.Owner {
		t.Error("the entry of an ended request was not used again")
	}
	began(r, 40_000_000, 50_000_000, second)
	ended(r, 50_000_000, engine.Completed, second)
	a, b := r.Records()[0], r.Records()[1]
	if a.Admissions != 2 || len(a.Again) != 1 || b.Admissions != 1 || b.Again != nil || b.FirstToken != 50 {
		t.Errorf("records %+v, %+v", a, b)
	}
}
