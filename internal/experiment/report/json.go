package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// WriteJSON writes the summary as one object, {"summary": {…}}, keys in the reference's order.
func (s *Summary) WriteJSON(w io.Writer) error {
	buf := []byte("{\n \"summary\": {")
	for i, f := range s.Fields() {
		if i > 0 {
			buf = append(buf, ',')
		}
		value, err := json.Marshal(f.Value)
		if err != nil {
			return fmt.Errorf("summary %s: %w", f.Key, err)
		}
		buf = fmt.Appendf(buf, "\n  %q: %s", f.Key, value)
	}
	_, err := w.Write(append(buf, "\n }\n}\n"...))
	return err
}

// SortByArrival orders records as the JSON lines have them: by arrival, then by id.
func SortByArrival(records []Record) {
	slices.SortFunc(records, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Arrival, b.Arrival), cmp.Compare(a.ID, b.ID))
	})
}

// WriteJSONL writes one object per record and line, in the order given, under the reference's keys (spec
// simulation-harness §12.2). Requests have no UUID here: uuid is their id in this run.
func WriteJSONL(w io.Writer, records []Record) error {
	var buf []byte
	for i := range records {
		buf = append(records[i].appendJSON(buf[:0]), '\n')
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	return nil
}

// line builds an object key by key.
type line struct{ buf []byte }

func (l *line) key(k string) {
	if c := l.buf[len(l.buf)-1]; c != '{' {
		l.buf = append(l.buf, ", "...)
	}
	l.buf = append(append(append(l.buf, '"'), k...), `": `...)
}

func (l *line) ms(k string, v float64, ok bool) {
	l.key(k)
	if !ok || math.IsNaN(v) {
		l.buf = append(l.buf, "null"...)
		return
	}
	l.buf = strconv.AppendFloat(l.buf, v, 'f', -1, 64)
}

func (l *line) num(k string, v int) {
	l.key(k)
	l.buf = strconv.AppendInt(l.buf, int64(v), 10)
}

func (l *line) text(k, v string, ok bool) {
	l.key(k)
	if !ok {
		l.buf = append(l.buf, "null"...)
		return
	}
	quoted, err := json.Marshal(v)
	if err != nil { // a string always marshals
		panic(err)
	}
	l.buf = append(l.buf, quoted...)
}

func (l *line) raw(k, v string) {
	l.key(k)
	l.buf = append(l.buf, v...)
}

func (r *Record) appendJSON(buf []byte) []byte {
	l := &line{buf: append(buf, '{')}
	l.text("session_id", r.Session, r.Named)
	if r.Named {
		l.num("turn_index", r.Turn)
	} else {
		l.raw("turn_index", "null")
	}
	l.text("uuid", strconv.FormatUint(r.ID, 10), true)
	l.ms("arrival_time_ms", r.Arrival, true)
	l.raw("dispatched_at_ms", "null")
	l.ms("first_admit_ms", r.FirstAdmit, r.Admissions > 0)
	l.ms("terminal_time_ms", r.Terminal, true)
	l.text("terminal_status", r.Status, true)
	l.text("terminal_reason", r.Why, r.Why != "")
	l.ms("first_token_ms", r.FirstToken, r.Output > 0)
	l.ms("last_token_ms", r.LastToken, r.Output > 0)
	r.appendLatencies(l)
	l.num("input_length", r.Input)
	l.num("requested_output_length", r.Requested)
	l.num("output_length", r.Output)
	l.num("reused_input_tokens", r.Reused)
	l.raw("prefill_worker_idx", "null")
	if r.Scheduler < 0 {
		l.raw("decode_worker_idx", "null")
	} else {
		l.num("decode_worker_idx", r.Scheduler)
	}
	for _, k := range []string{
		"prefill_admit_ms", "source_held_ms", "destination_reserved_ms", "destination_activated_ms", "decode_admit_ms",
		"source_released_ms", "decode_reused_input_tokens", "prefill_route_overlap_tokens", "decode_route_overlap_tokens",
	} {
		l.raw(k, "null")
	}
	r.appendHistory(l)
	l.num("admission_count", r.Admissions)
	l.num("readmission_count", max(0, r.Admissions-1))
	return append(l.buf, '}')
}

func (r *Record) appendLatencies(l *line) {
	for _, f := range []struct {
		key string
		get func() (float64, bool)
	}{{"ttft_ms", r.TTFT}, {"ttst_ms", r.TTST}, {"e2e_latency_ms", r.E2E}, {"itl_ms", r.TPOT}} {
		v, ok := f.get()
		l.ms(f.key, v, ok)
	}
}

func (r *Record) appendHistory(l *line) {
	l.key("routing_history")
	l.buf = append(l.buf, '[')
	if r.Worker >= 0 {
		l.buf = append(l.buf, '{')
		route := &line{buf: l.buf}
		route.text("pool", "agg", true)
		route.text("outcome", "immediate", true)
		route.ms("queue_entered_at_ms", r.Arrival, true)
		route.raw("released_at_ms", "null")
		route.ms("queue_wait_ms", 0, true)
		route.num("logical_worker_id", r.Worker)
		route.num("scheduler_id", r.Scheduler)
		route.num("dp_rank", r.Rank)
		l.buf = route.buf
		l.buf = append(l.buf, '}')
	}
	l.buf = append(l.buf, ']')
	l.key("admission_history")
	l.buf = append(l.buf, '[')
	for i := range r.Admissions {
		a := Admission{At: r.FirstAdmit, Reused: r.FirstReused}
		if i > 0 {
			a = r.Again[i-1]
			l.buf = append(l.buf, ", "...)
		}
		l.buf = append(l.buf, '{')
		entry := &line{buf: l.buf}
		entry.num("admission_ordinal", i)
		entry.num("pool_admission_ordinal", i)
		entry.text("pool", "agg", true)
		entry.ms("at_ms", a.At, true)
		entry.num("reused_input_tokens", a.Reused)
		entry.raw("is_readmission", strconv.FormatBool(i > 0))
		l.buf = entry.buf
		l.buf = append(l.buf, '}')
	}
	l.buf = append(l.buf, ']')
}
