package kvevents

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/go-zeromq/zmq4"

	"fakellm/engine"
)

// passTopic is the topic of forward-pass metrics.
const passTopic = "forward-pass-metrics"

// Passes publishes forward-pass metrics, over ZMQ when Config.Port is set and as JSON lines when a writer is given. It
// implements engine.Sink; its methods belong to the loop that drives the machine. A publisher that has been silent for a
// second sends a zeroed record.
type Passes struct {
	c        Config
	close    context.CancelFunc
	pubs     []zmq4.Socket
	speakers []*speaker
	lines    *bufio.Writer
	failed   error
}

// NewPasses binds the sockets. w may be nil.
func NewPasses(c Config, w io.Writer) (*Passes, error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Passes{c: c, close: cancel}
	if w != nil {
		p.lines = bufio.NewWriter(w)
	}
	for i := range c.Workers * c.Ranks {
		p.speakers = append(p.speakers, &speaker{})
		if c.Port == 0 {
			continue
		}
		s, err := bindPub(ctx, c.Host, c.Port+i, c.HighWater)
		if err != nil {
			_ = p.Close()
			return nil, fmt.Errorf("forward-pass metrics: %w", err)
		}
		p.pubs = append(p.pubs, s)
		worker, rank := strconv.Itoa(i/c.Ranks), i%c.Ranks
		p.speakers[i].send = func(n uint64, wall time.Time, l *engine.Load) {
			payload := appendLoad(nil, worker, rank, n, unix(wall), l)
			_ = s.SendMulti(zmq4.NewMsgFrom([]byte(passTopic), be64(n), payload)) // a full queue drops
		}
		p.speakers[i].start()
	}
	return p, nil
}

// unix returns an instant in seconds.
func unix(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

// Began does nothing: a record is complete at the end of its pass.
func (p *Passes) Began(*engine.Pass) {}

// Left does nothing.
func (p *Passes) Left(engine.Departure) {}

// Ended publishes the record of a pass.
func (p *Passes) Ended(pass *engine.Pass) {
	if pass.Load == nil {
		return
	}
	wall := p.c.Origin.Add(time.Duration(pass.End))
	n := p.speakers[pass.Worker*p.c.Ranks+pass.Rank].speak(wall, pass.Load)
	if p.lines != nil && p.failed == nil {
		p.failed = p.line(pass, n, unix(wall))
	}
}

// line writes one JSON object: the wire record plus the modelled instants in ms.
func (p *Passes) line(pass *engine.Pass, n uint64, wall float64) error {
	record := struct {
		Version   int            `json:"version"`
		Worker    string         `json:"worker_id"`
		Rank      int            `json:"dp_rank"`
		Counter   uint64         `json:"counter_id"`
		Wall      float64        `json:"wall_time"`
		Start     float64        `json:"start_ms"`
		End       float64        `json:"end_ms"`
		Scheduled map[string]any `json:"scheduled_requests"`
		Queued    map[string]any `json:"queued_requests"`
	}{1, strconv.Itoa(pass.Worker), pass.Rank, n, wall, pass.Start.Milliseconds(), pass.End.Milliseconds(), map[string]any{}, map[string]any{}}
	for _, f := range scheduled(pass.Load) {
		record.Scheduled[f.name] = f.value()
	}
	for _, f := range queued(pass.Load) {
		record.Queued[f.name] = f.value()
	}
	b, err := json.Marshal(record)
	if err != nil {
		return err
	}
	_, err = p.lines.Write(append(b, '\n'))
	return err
}

func (f *number) value() any {
	if f.isVar {
		return f.variance
	}
	return f.count
}

// Close flushes the lines and stops publishing; the error is the first that writing lines met.
func (p *Passes) Close() error {
	for _, s := range p.speakers {
		s.stop()
	}
	p.close()
	for _, s := range p.pubs {
		go func() { _ = s.Close() }()
	}
	if p.lines != nil && p.failed == nil {
		p.failed = p.lines.Flush()
	}
	return p.failed
}
