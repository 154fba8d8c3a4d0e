package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Own counts what the server itself does, under fakellm_*. Its methods are safe for concurrent use.
type Own struct {
	requests     *prometheus.CounterVec
	timer, emit  prometheus.Histogram
	faults       *prometheus.CounterVec
	disconnected prometheus.Counter
}

// Gauges are values that others keep and a scrape asks for; they are called from any goroutine. Nil ones are not shown.
type Gauges struct {
	// Extrapolated counts the shapes that a timing model had to extrapolate.
	Extrapolated func() uint64
	// OpenStreams counts the event streams being written.
	OpenStreams func() int64
}

// NewOwn registers the set.
func NewOwn(reg prometheus.Registerer, version string, g Gauges) *Own {
	lateness := func(name, help string) prometheus.Histogram {
		return register(reg, prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: name, Help: help,
			Buckets: []float64{1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 3e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, .1, .5, 1},
		}))
	}
	o := &Own{
		requests: register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fakellm_http_requests_total", Help: "HTTP requests answered, by route and status code.",
		}, []string{"route", "code"})),
		timer: lateness("fakellm_timer_lateness_seconds", "How late the pacing loop woke after a modelled instant."),
		emit:  lateness("fakellm_emit_lateness_seconds", "How late a token was written after its modelled instant."),
		faults: register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fakellm_faults_injected_total", Help: "Faults injected, by kind.",
		}, []string{"kind"})),
		disconnected: register(reg, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fakellm_client_disconnects_total", Help: "Requests whose client left before the end.",
		})),
	}
	build := register(reg, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fakellm_build_info", Help: "1, with the version as label.",
	}, []string{"version"}))
	build.WithLabelValues(version).Set(1)
	if g.OpenStreams != nil {
		register(reg, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "fakellm_open_streams", Help: "Event streams being written.",
		}, func() float64 { return float64(g.OpenStreams()) }))
	}
	if g.Extrapolated != nil {
		register(reg, prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "fakellm_timing_extrapolated_passes_total", Help: "Passes whose shape lay outside the timing data.",
		}, func() float64 { return float64(g.Extrapolated()) }))
	}
	return o
}

// Request counts an answered request.
func (o *Own) Request(route string, code int) {
	o.requests.WithLabelValues(route, strconv.Itoa(code)).Inc()
}

// Disconnected counts a client that left early.
func (o *Own) Disconnected() { o.disconnected.Inc() }

// Fault counts an injected fault.
func (o *Own) Fault(kind string) { o.faults.WithLabelValues(kind).Inc() }

// TimerLate observes the lateness of one wake-up.
func (o *Own) TimerLate(d time.Duration) { o.timer.Observe(d.Seconds()) }

// EmitLate observes the lateness of one write.
func (o *Own) EmitLate(d time.Duration) { o.emit.Observe(max(0, d.Seconds())) }
