package engine

// decodeRow appends the ends of up to n decode passes from now on, the first of shape b, each later one with
// b.Requests more active tokens; it stops before one that takes no time. O(n), in one call if the model can do that.
func decodeRow(m StepModel, now Time, ends []Time, b DecodeBatch, n int) ([]Time, error) {
	if row, ok := m.(RowModel); ok {
		return row.DecodeRow(now, ends, b, n)
	}
	return PriceRow(m, now, ends, b, n)
}

// PriceRow prices a row pass by pass, as decodeRow describes it: what a RowModel falls back on. O(n).
func PriceRow(m StepModel, now Time, ends []Time, b DecodeBatch, n int) ([]Time, error) {
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
