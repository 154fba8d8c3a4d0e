package workload

// The heap of turns that know when they are ready, ordered by time, then session.

func (a armed) before(b armed) bool { return a.at < b.at || a.at == b.at && a.session < b.session }

func (f *Feed) pushTurn(a armed) {
	f.turns = append(f.turns, a)
	h := f.turns
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h[i].before(h[parent]) {
			break
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (f *Feed) popTurn() {
	h := f.turns
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child].before(h[least]) {
				least = child
			}
		}
		if least == i {
			break
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
	f.turns = h
}
