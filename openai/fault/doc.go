// Package fault breaks answers on purpose, as real services and networks do. A Plan says what shall go wrong with one
// response; Set.Choose picks plans by rule, count, probability and schedule; Writer carries a plan out on the bytes
// that pass through it, without any help from the face behind it.
//
// Start reading at Plan (plan.go) and Parse (parse.go), then Writer (writer.go) and Middleware (middleware.go). Plans,
// parsing and rules are pure; Writer and Middleware wait on timers. A Plan is a value, a Set is immutable, Counters are
// locked by their owner, a Writer belongs to one response but may be written to from any goroutine, one at a time.
//
// # The words
//
// A plan is a list of faults with commas between them; a fault is a kind, with a value for some, and parameters after
// semicolons. Values may be quoted. Unknown words are errors.
//
//	status=429;retry-after=2;should-retry=true   an error answer instead of the real one
//	hang=30s                                     nothing for 30 s, not even headers; hang alone never ends, hang=0s is refused
//	stall=5s;at=3                                a pause after three events, then on
//	drip=20ms;bytes=4;at=1                       four bytes every 20 ms from the second event on
//	error;at=3;message="overloaded"              an error event after three events, then a clean end
//	truncate;at=3;bytes=10                       ten bytes of the fourth event, then the connection closes
//	malformed;at=3                               the fourth event is broken JSON, the stream goes on
//	no-done, double-done                         [DONE] is missing, or comes twice
//	reset;at=3, close;at=3                       TCP reset, or an early end without the last chunk
//
// "at" is the number of data events that are delivered whole before the fault; comments and [DONE] do not count, and
// the opening role chunk of a chat stream does. Reset and close at 0 send nothing, not even headers.
//
// # Answers that are no streams
//
// "at" counts bytes, and when it is not given reset, close, stall, drip and truncate act after half of the first write;
// stall=5s;at=0 sends the headers and then waits. truncate;bytes=10 lets ten bytes of the body through, malformed breaks
// its first byte or the one at "at". error is answered instead of the body, with 500, when the body was due and after the
// stalls before it. no-done and double-done have no meaning there: rules with them fit streams only, and a face that
// knows that a request asks for no stream refuses them (Plan.StreamOnly).
//
// # Wiring
//
//	choose := func(r *http.Request) (fault.Plan, error) {
//		if h := r.Header.Get(fault.Header); h != "" {
//			return fault.Parse(h)
//		}
//		mu.Lock()
//		defer mu.Unlock()
//		plan, _ := set.Choose(time.Since(start), fault.Facts{Route: r.URL.Path, …}, counters)
//		return plan, nil
//	}
//	server.Handler = fault.Middleware(face.Handler(), choose, fault.Options{})
//
// A face that knows the plan only later (a body field, a scripted reply) wraps for itself: Before, Wrap, Finish.
// The Writer has no Unwrap on purpose: a face that looks for net/http's own writer must stop here.
package fault
