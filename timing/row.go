package timing

import "fakellm/engine"

// DecodeRow implements engine.RowModel. For the polynomial without a speed-up, which is what long replays spend their time
// on, it costs a few nanoseconds per pass; otherwise what Decode costs.
func (m *model) DecodeRow(now engine.Time, ends []engine.Time, b engine.DecodeBatch, n int) ([]engine.Time, error) {
	if _, ok := m.src.(Polynomial); ok && (m.decodeRatio == 0 || m.decodeRatio == 1) && b.Requests > 0 && b.TotalKV > 0 {
		return polynomialRow(now, ends, b, n), nil
	}
	for range n {
		d, err := m.Decode(b)
		if err != nil || d <= 0 {
			return ends, err
		}
		now = now.Add(d)
		ends = append(ends, now)
		b.ActiveKV += b.Requests
		b.MeanContext = b.ActiveKV / max(1, b.Requests)
	}
	return ends, nil
}

// polynomialRow is Polynomial.DecodeMS and roundSeconds in one loop: the same operations in the same order. A pass lasts 1 to
// 35 ms, so a product that is not exactly a half is rounded by adding a half.
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
