package timing

import "fakellm/engine"

// DecodeRow implements engine.RowModel. For the polynomial without a speed-up, which is what long replays spend their
// time on, it costs a few nanoseconds per pass; otherwise what Decode costs.
func (m *model) DecodeRow(now engine.Time, ends []engine.Time, b engine.DecodeBatch, n int) ([]engine.Time, error) {
	if _, ok := m.src.(Polynomial); ok && (m.decodeRatio == 0 || m.decodeRatio == 1) && b.Requests > 0 && b.TotalKV > 0 {
		return polynomialRow(now, ends, b, n), nil
	}
	if m.rows != nil && b.Requests > 0 && b.MeanContext == b.ActiveKV/b.Requests {
		return m.pricedRow(now, ends, b, n)
	}
	return engine.PriceRow(m, now, ends, b, n)
}

// rowChunk is how many passes a source prices at once.
const rowChunk = 128

// pricedRow lets the source price the passes in chunks; the row ends with the first pass that takes no time.
func (m *model) pricedRow(now engine.Time, ends []engine.Time, b engine.DecodeBatch, n int) ([]engine.Time, error) {
	for n > 0 {
		chunk := m.row[:min(n, rowChunk)]
		outside, err := m.rows.DecodeRowMS(chunk, b)
		if err != nil {
			return ends, decodeError(b, err)
		}
		m.outside += uint64(outside)
		for _, raw := range chunk {
			d, err := finish(raw, m.decodeRatio)
			if err != nil {
				return ends, decodeError(b, err)
			}
			if d <= 0 {
				return ends, nil
			}
			now = now.Add(d)
			ends = append(ends, now)
		}
		b.ActiveKV += b.Requests * len(chunk)
		b.MeanContext += len(chunk)
		n -= len(chunk)
	}
	return ends, nil
}

// polynomialRow is Polynomial.DecodeMS and roundSeconds in one loop: the same operations in the same order. A pass
// lasts 1 to 35 ms, so a product that is not exactly a half is rounded by adding a half.
func polynomialRow(now engine.Time, ends []engine.Time, b engine.DecodeBatch, n int) []engine.Time {
	total, active := float64(b.TotalKV), b.ActiveKV
	for range n {
		u := min(1, float64(active)/total)
		ms := max(1, float64(float64(-25.74*float64(u*u))+float64(54.01*u))+5.74)
		q := ms / 1000
		p := float64(q * 1e9)
		d := engine.Time(p)
		switch frac := p - float64(d); {
		case frac > 0.5:
			d++
		case frac == 0.5:
			exact, err := roundSeconds(q)
			if err != nil { // at most 35 ms
				panic(err)
			}
			d = engine.Time(exact)
		}
		now += d
		ends = append(ends, now)
		active += b.Requests
	}
	return ends
}
