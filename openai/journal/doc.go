// Package journal remembers what was asked and answered: a bounded ring of records, filters over it, checks of
// expectations, and a file of JSON lines that never makes a request wait. Keys and secret headers are redacted before a
// record is made, so nothing that reads the journal can leak them.
//
// A Journal and a Sink are safe for concurrent use; an Entry may be updated from any goroutine. Records that are handed
// out are never changed afterwards. Time is an argument everywhere but in Routes.
//
// Start reading at Journal.Begin, then Filter, Verify and Routes (what serves /sim/).
//
// # Wiring
//
//	j, err := journal.New(journal.Config{Sink: sink})
//	j.Routes(mux, time.Now)
//	// outermost middleware:
//	e := j.Begin(time.Now(), r)
//	next.ServeHTTP(w, r.WithContext(journal.With(r.Context(), e)))
//	e.Finish(time.Now())
//	// and wherever something is known:
//	journal.From(ctx).Update(func(r *journal.Record) { r.Model, r.Status = model, 200 })
//	journal.From(ctx).Body(body)
package journal
