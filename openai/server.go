package openai

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
)

// Server answers requests. Make one with New.
type Server struct {
	opts     Options
	backend  Backend
	planner  Planner
	check    checker
	keys     keyring
	engine   *gin.Engine
	writers  []*writer
	turn     atomic.Uint64
	ready    atomic.Bool
	ids      idSource
	born     time.Time
	store    *store
	voices   *voices
	counters struct {
		requests, streams, aborted, refused, failed, handovers, writes, events counter
	}
}

// New builds a Server that is ready at once. It starts opts.Writers goroutines; Close ends them.
func New(opts Options, backend Backend, planner Planner) (*Server, error) {
	errs := opts.Validate()
	if backend == nil {
		errs = append(errs, errors.New("backend: nil"))
	}
	if planner == nil {
		errs = append(errs, errors.New("planner: nil"))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	opts = opts.withDefaults()
	s := &Server{opts: opts, backend: backend, planner: planner, keys: newKeyring(opts.APIKeys), born: time.Now()}
	s.check = checker{
		dialect: opts.Dialect, policy: opts.Policy, served: slices.Clone(opts.ServedModels), ranks: backend.Limits().Ranks,
	}
	s.ids = newIDSource(opts.IDSeed)
	s.store, s.voices = newStore(opts.StoreLimit), newVoices(maxSpoken)
	s.writers = make([]*writer, opts.Writers)
	for i := range s.writers {
		s.writers[i] = newWriter()
	}
	s.engine = s.routes()
	s.ready.Store(true)
	return s, nil
}

// Handler is the whole face as one handler.
func (s *Server) Handler() http.Handler { return s.engine }

// HTTPServer is a server with the face's limits, without an address. Streams find their sockets through its
// ConnContext.
func (s *Server) HTTPServer() *http.Server {
	return &http.Server{
		Handler:           s.engine,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		// net/http's own refusal has no JSON body, so it comes second, and late.
		MaxHeaderBytes: max(1<<20, 2*s.opts.MaxHeaderBytes),
		ConnContext:    connContext,
	}
}

// SetReady says what /ready answers.
func (s *Server) SetReady(ready bool) { s.ready.Store(ready) }

// Close ends the writers after what they have in hand. Call it when the http.Server has been shut down; answers that
// are still open then are served by their own goroutines.
func (s *Server) Close() {
	for _, w := range s.writers {
		w.close()
	}
}

// Counters is a snapshot of the face's counts.
func (s *Server) Counters() Counters {
	c := &s.counters
	return Counters{
		Requests: c.requests.Load(), Streams: c.streams.Load(), Aborted: c.aborted.Load(), Refused: c.refused.Load(),
		Failed: c.failed.Load(), Handovers: c.handovers.Load(), Writes: c.writes.Load(), Events: c.events.Load(),
	}
}

// nextWriter deals writers out in turn; an answer keeps its own, so the order within a pass is stable.
func (s *Server) nextWriter() *writer {
	return s.writers[s.turn.Add(1)%uint64(len(s.writers))]
}

// idSource makes ids that are unique in one server and unlikely to meet those of another.
type idSource struct {
	seed uint64
	next *atomic.Uint64
}

func newIDSource(seed uint64) idSource {
	if seed == 0 {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails, see crypto/rand.
		seed = binary.LittleEndian.Uint64(b[:])
	}
	return idSource{seed: seed, next: new(atomic.Uint64)}
}

// make is a prefix and 26 characters of base 36.
func (g idSource) make(prefix string) string {
	n := g.next.Add(1)
	hi, lo := mix(g.seed+n), mix(g.seed^mix(n))
	b := append(make([]byte, 0, len(prefix)+26), prefix...)
	return string(pad36(pad36(b, hi), lo))
}

func pad36(b []byte, v uint64) []byte {
	s := strconv.FormatUint(v, 36)
	for range 13 - len(s) {
		b = append(b, '0')
	}
	return append(b, s...)
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
