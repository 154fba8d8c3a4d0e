package assembly

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"fakellm/config"
	"fakellm/engine"
	"fakellm/engine/cluster"
	"fakellm/engine/drive"
	"fakellm/internal/observe/kvevents"
	"fakellm/internal/observe/metrics"
	"fakellm/openai"
)

// Options are what a server needs besides its settings.
type Options struct {
	// Version is reported by /version and the metrics.
	Version string
	// Log receives messages; nil discards them.
	Log *slog.Logger
	// Sleeper paces the engine; nil for the system's most precise one.
	Sleeper drive.Sleeper
}

// Server is a running fakellm: the face, the live engine behind it and whoever listens in.
type Server struct {
	cfg     config.Config
	engine  engine.Config
	machine *cluster.Cluster
	live    *drive.Live
	face    *openai.Server
	handler http.Handler
	http    *http.Server
	tally   *tally
	closers []func() error
	log     *slog.Logger
	version string
	rooms   *rooms
	files   files
	stop    chan struct{} // closed by Close: ends what watches files
	once    sync.Once
	watched sync.WaitGroup
	answers answers
}

// NewServer builds a server from settings, loads what the first request of a served model needs, and starts its engine.
// Bad settings give an error that joins every problem, each under its setting's name; nothing keeps running then.
func NewServer(c *config.Config, o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p, err := read(c)
	if err != nil {
		return nil, err
	}
	warm := preload(p.plan, c)
	e := p.engine
	e.EmitKVEvents = c.KVEventsPort > 0 && c.EnablePrefixCaching
	e.EmitKVTokenIDs = e.EmitKVEvents
	e.EmitLoad = c.FPMPort > 0 || c.FPMFile != ""
	machine, err := cluster.New(cluster.Config{Workers: c.NumWorkers, Engine: e}, p.timing.Model)
	if err != nil {
		return nil, errors.Join(c.Locate(err), warm())
	}
	s := &Server{cfg: *c, engine: e, machine: machine, tally: &tally{}, log: o.Log, version: o.Version, stop: make(chan struct{})}
	s.files.log = o.Log
	err = s.wire(c, &p, o)
	if err = errors.Join(c.Locate(err), warm()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// wire connects sinks, driver and face.
func (s *Server) wire(c *config.Config, p *parts, o Options) error {
	reg := prometheus.NewRegistry()
	outside := newOutside(p.timing)
	own := metrics.NewOwn(reg, o.Version, metrics.Gauges{Extrapolated: outside.count, OpenStreams: s.openStreams})
	sinks := append(s.metrics(reg), s.tally, outside)
	origin := time.Now()
	more, err := s.publishers(c, origin)
	if err != nil {
		return err
	}
	s.live = drive.NewLive(s.machine, drive.Config{Sinks: append(sinks, more...), Sleeper: o.Sleeper, Late: own.TimerLate})
	if s.rooms, err = newRooms(c, p, own, &s.files); s.rooms != nil {
		s.closers = append(s.closers, s.rooms.close...)
	}
	if err != nil {
		return err
	}
	b := &backend{
		live: s.live, drafts: s.engine.NumSpeculativeTokens > 0,
		limits: openai.Limits{MaxModelLen: LongestSequence(s.engine), Ranks: s.engine.DPSize},
	}
	s.face, err = openai.New(openai.Options{
		ServedModels: c.ServedModelName, APIKeys: c.APIKey, Dialect: openai.Dialect(c.Dialect), Policy: policy(c),
		MaxBodyBytes: int64(c.MaxBodyBytes), Version: o.Version, Metrics: promhttp.HandlerFor(reg, promhttp.HandlerOpts{}),
		Observer: &watcher{own: own, tally: s.tally, log: s.log}, ListedModel: c.Model, StreamInterval: c.StreamInterval,
		ToolStyle: openai.ToolStyle(c.ToolStyle), WriteTimeout: c.WriteTimeout,
		Script: s.rooms.script, Recorder: s.rooms.recorder, Breaker: s.rooms.breaker, Limiter: s.rooms.limiter, Journal: s.rooms.journal,
	}, b, p.plan)
	if err != nil {
		return err
	}
	s.handler = s.withControl(s.face.Handler())
	s.http = s.face.HTTPServer()
	s.http.Handler = s.answers.watch(s.http, s.handler)
	s.watched.Go(func() { s.watch(s.stop) })
	s.watched.Go(func() { s.preloadOthers(p.plan) })
	s.http.ErrorLog = slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)
	return nil
}

// openStreams is what the gauge of that name shows.
func (s *Server) openStreams() int64 {
	if s.face == nil {
		return 0
	}
	return s.face.Counters().Streams
}

func policy(c *config.Config) openai.Policy {
	switch {
	case c.Strict:
		return openai.PolicyStrict
	case c.Lenient:
		return openai.PolicyLenient
	default:
		return openai.PolicyNormal
	}
}

// model is the name under which metrics count: the first served one.
func (s *Server) model() string {
	if len(s.cfg.ServedModelName) > 0 {
		return s.cfg.ServedModelName[0]
	}
	return s.cfg.Model
}

// publishers starts the ZMQ and file outputs that the settings ask for.
func (s *Server) publishers(c *config.Config, origin time.Time) ([]engine.Sink, error) {
	var out []engine.Sink
	k := kvevents.Config{
		Host: c.Host, Port: c.KVEventsPort, ReplayPort: c.KVReplayPort, Topic: c.KVEventsTopic, Model: s.model(),
		Workers: c.NumWorkers, Ranks: s.engine.DPSize, BlockSize: s.engine.BlockSize, Origin: origin,
	}
	if s.engine.EmitKVEvents {
		e, err := kvevents.NewEvents(k)
		if err != nil {
			return nil, named("zmq_kv_events_port", err)
		}
		s.closers = append(s.closers, func() error { e.Close(); return nil })
		out = append(out, e)
	}
	if !s.engine.EmitLoad {
		return out, nil
	}
	var file *output
	if c.FPMFile != "" {
		var err error
		if file, err = s.files.create("fpm_jsonl", c.FPMFile, os.O_TRUNC, 0o666, false); err != nil {
			return nil, err
		}
	}
	k.Port = c.FPMPort
	p, err := newPasses(k, file)
	if err != nil {
		return nil, named("zmq_fpm_port", err)
	}
	s.closers = append(s.closers, p.Close)
	if file != nil {
		s.closers = append(s.closers, file.Close)
	}
	return append(out, p), nil
}

func newPasses(k kvevents.Config, file *output) (*kvevents.Passes, error) {
	if file == nil {
		return kvevents.NewPasses(k, nil)
	}
	return kvevents.NewPasses(k, file)
}

// Handler is everything the server answers, for tests that bring their own listener.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve answers on l until Drain or Close; a graceful end is no error.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// lastWords is how long answers may take to say why they end too early.
const lastWords = time.Second

// Drain says "not ready", refuses new requests, lets open ones finish until ctx ends, and reports what was served. What
// is still open then ends with an error. Connections without an answer under way are not waited for.
func (s *Server) Drain(ctx context.Context) Counts {
	s.face.SetReady(false)
	inTime := s.live.Drain(ctx) == nil
	cut := s.live.Open()
	if inTime {
		cut = s.answers.wait(ctx) // a fault or a slow client may keep an answer longer than the engine does
	}
	counts := s.tally.counts()
	counts.Cut += cut
	if cut > 0 {
		s.log.Warn("answers were cut", "answers", cut)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	shut := make(chan struct{})
	go func() {
		_ = s.http.Shutdown(last) // it takes no more connections; idle ones are closed
		close(shut)
	}()
	if !inTime {
		s.live.Close()
		s.answers.wait(last)
	}
	_ = s.http.Close()
	<-shut
	return counts
}

// Close stops everything at once. It may be called after Drain, and more than once.
func (s *Server) Close() error {
	var problems []error
	s.once.Do(func() { close(s.stop) })
	s.watched.Wait()
	if s.http != nil {
		problems = append(problems, s.http.Close())
	}
	if s.live != nil {
		s.live.Close()
	}
	if s.face != nil {
		s.face.Close()
	}
	for _, c := range s.closers {
		problems = append(problems, c())
	}
	s.closers = nil
	return errors.Join(problems...)
}

// Describe names, in a few words, what is simulated.
func (s *Server) Describe() string {
	e := s.engine
	text := fmt.Sprintf("%s, %d worker", e.Backend, s.cfg.NumWorkers)
	if s.cfg.NumWorkers != 1 {
		text += "s"
	}
	if e.DPSize > 1 {
		text += fmt.Sprintf(" x %d ranks", e.DPSize)
	}
	return text + fmt.Sprintf(", %d blocks of %d tokens, timing %s", e.NumGPUBlocks, e.BlockSize, timingName(&s.cfg))
}
