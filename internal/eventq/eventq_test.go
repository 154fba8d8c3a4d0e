package eventq_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fakellm/internal/eventq"
)

func TestOrder(t *testing.T) {
	var q eventq.Queue[int64, string]
	q.Push(5, 1, "later")
	q.Push(3, 2, "second: higher priority number")
	q.Push(3, 1, "first")
	q.Push(3, 2, "third: pushed after")
	gone := q.Push(1, 0, "cancelled")
	q.Cancel(gone)
	q.Cancel(gone)
	if got := q.Len(); got != 4 {
		t.Errorf("Len = %d, want 4", got)
	}
	var got []string
	for {
		_, v, ok := q.Pop()
		if !ok {
			break
		}
		got = append(got, v)
	}
	want := []string{"first", "second: higher priority number", "third: pushed after", "later"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAgainstSortedSlice compares the heap with a slice that is sorted after every change.
func TestAgainstSortedSlice(t *testing.T) {
	type event struct {
		at       int64
		priority int
		seq      int
		handle   eventq.Handle
	}
	rapid.Check(t, func(t *rapid.T) {
		var q eventq.Queue[int64, int]
		var twin []event
		seq := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				e := event{at: rapid.Int64Range(0, 9).Draw(t, "at"), priority: rapid.IntRange(0, 2).Draw(t, "priority"), seq: seq}
				seq++
				e.handle = q.Push(e.at, e.priority, e.seq)
				i, _ := slices.BinarySearchFunc(twin, e, func(a, b event) int {
					if a.at != b.at {
						return int(a.at - b.at)
					}
					if a.priority != b.priority {
						return a.priority - b.priority
					}
					return a.seq - b.seq
				})
				twin = slices.Insert(twin, i, e)
			},
			"cancel": func(t *rapid.T) {
				if len(twin) == 0 {
					t.Skip("nothing queued")
				}
				i := rapid.IntRange(0, len(twin)-1).Draw(t, "which")
				q.Cancel(twin[i].handle)
				twin = slices.Delete(twin, i, i+1)
			},
			"pop": func(t *rapid.T) {
				at, v, ok := q.Pop()
				if ok != (len(twin) > 0) {
					t.Fatalf("Pop ok = %v with %d queued", ok, len(twin))
				}
				if ok {
					if at != twin[0].at || v != twin[0].seq {
						t.Fatalf("Pop = (%d, %d), want (%d, %d)", at, v, twin[0].at, twin[0].seq)
					}
					twin = twin[1:]
				}
			},
			"": func(t *rapid.T) {
				if q.Len() != len(twin) {
					t.Fatalf("Len = %d, want %d", q.Len(), len(twin))
				}
				at, _, ok := q.Peek()
				if ok != (len(twin) > 0) || ok && at != twin[0].at {
					t.Fatalf("Peek = %d, %v", at, ok)
				}
			},
		})
	})
}
