package kvevents

import (
	"context"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-zeromq/zmq4"

	"fakellm/engine"
	"fakellm/engine/kv"
)

// Config says where to publish.
type Config struct {
	// Host is the address to bind ("0.0.0.0"), Port the first port: scheduler worker*Ranks + rank binds Port plus its number.
	Host string
	Port int
	// ReplayPort is the first port of the replay sockets; 0 for none.
	ReplayPort int
	// Topic is the first frame of every message; {worker}, {rank} and {model} are filled in. Empty as in vLLM;
	// llm-d subscribes to "kv@{worker}@{model}".
	Topic, Model string
	// Workers and Ranks are the shape of the cluster, BlockSize the size of its blocks in tokens.
	Workers, Ranks, BlockSize int
	// Origin is the wall-clock instant of the timeline's origin.
	Origin time.Time
	// HighWater bounds the batches queued for slow subscribers, per scheduler (1000 when 0).
	HighWater int
}

// Events publishes KV events. It implements engine.Sink.
type Events struct {
	c     Config
	close context.CancelFunc
	ranks []*rankPublisher
}

// rankPublisher is the pair of sockets of one scheduler.
type rankPublisher struct {
	pub, replay zmq4.Socket
	topic       []byte
	rank        int
	seq         uint64
	ring        ring
}

// NewEvents binds every socket. The error names the address that could not be bound; nothing stays open then.
func NewEvents(c Config) (*Events, error) {
	ctx, cancel := context.WithCancel(context.Background())
	e := &Events{c: c, close: cancel}
	for i := range c.Workers * c.Ranks {
		p := &rankPublisher{rank: i % c.Ranks, topic: []byte(c.topic(i))}
		e.ranks = append(e.ranks, p)
		var err error
		if p.pub, err = bindPub(ctx, c.Host, c.Port+i, c.HighWater); err != nil {
			e.Close()
			return nil, fmt.Errorf("kv events: %w", err)
		}
		if c.ReplayPort == 0 {
			continue
		}
		if p.replay, err = bind(zmq4.NewRouter(ctx), c.Host, c.ReplayPort+i); err != nil {
			e.Close()
			return nil, fmt.Errorf("kv event replay: %w", err)
		}
		go p.answer()
	}
	return e, nil
}

// CheckTopic refuses a placeholder that would not be filled in; the error names it.
func CheckTopic(topic string) error {
	for _, name := range placeholder.FindAllString(topic, -1) {
		if name != "{worker}" && name != "{rank}" && name != "{model}" {
			return fmt.Errorf("%q: %s is none of {worker}, {rank}, {model}", topic, name)
		}
	}
	return nil
}

// placeholder is what looks like one in a topic.
var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

func (c *Config) topic(scheduler int) string {
	return strings.NewReplacer("{worker}", strconv.Itoa(scheduler/c.Ranks), "{rank}", strconv.Itoa(scheduler%c.Ranks),
		"{model}", c.Model).Replace(c.Topic)
}

func bindPub(ctx context.Context, host string, port, highWater int) (zmq4.Socket, error) {
	s := zmq4.NewPub(ctx)
	if highWater == 0 {
		highWater = 1000
	}
	// The error is the base socket's view of the option; the PUB queue takes it all the same.
	_ = s.SetOption(zmq4.OptionHWM, highWater)
	return bind(s, host, port)
}

func bind(s zmq4.Socket, host string, port int) (zmq4.Socket, error) {
	at := fmt.Sprintf("tcp://%s:%d", host, port)
	if err := s.Listen(at); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("bind %s: %w", at, err)
	}
	return s, nil
}

// Began does nothing: events are visible at the end of a pass.
func (e *Events) Began(*engine.Pass) {}

// Left does nothing: Changed tells what a cancellation did to the cache.
func (e *Events) Left(engine.Departure) {}

var _ engine.CacheSink = (*Events)(nil)

// Ended publishes the events of a pass as one batch; a pass without events sends nothing and takes no number.
func (e *Events) Ended(p *engine.Pass) { e.publish(p.Worker, p.Rank, p.End, p.Events) }

// Changed publishes what commands did to the cache between passes, as one batch of its own.
func (e *Events) Changed(c engine.CacheChange) { e.publish(c.Worker, c.Rank, c.At, c.Events) }

func (e *Events) publish(worker, rank int, at engine.Time, events []kv.Event) {
	if len(events) == 0 {
		return
	}
	r := e.ranks[worker*e.c.Ranks+rank]
	wall := e.c.Origin.Add(time.Duration(at))
	payload := appendBatch(nil, float64(wall.UnixNano())/1e9, events, rank, e.c.BlockSize)
	b := batch{seq: r.seq, payload: payload}
	r.seq++
	r.ring.add(b)
	_ = r.pub.SendMulti(zmq4.NewMsgFrom(r.topic, be64(b.seq), payload)) // a full queue drops: replay has it
}

// answer serves replay requests until the socket closes: [identity, empty, start] gets one message per kept batch and
// then sequence -1 with an empty payload.
func (p *rankPublisher) answer() {
	for {
		m, err := p.replay.Recv()
		if err != nil {
			return
		}
		if len(m.Frames) != 3 || len(m.Frames[2]) != 8 {
			continue
		}
		id := m.Frames[0]
		for _, b := range p.ring.since(binary.BigEndian.Uint64(m.Frames[2])) {
			if p.replay.SendMulti(zmq4.NewMsgFrom(id, nil, nil, be64(b.seq), b.payload)) != nil {
				break
			}
		}
		_ = p.replay.SendMulti(zmq4.NewMsgFrom(id, nil, nil, be64(^uint64(0)), nil))
	}
}

// Close stops publishing. A subscriber that does not read cannot hold it up.
func (e *Events) Close() {
	e.close()
	for _, r := range e.ranks {
		for _, s := range []zmq4.Socket{r.pub, r.replay} {
			if s != nil {
				go func() { _ = s.Close() }()
			}
		}
	}
}

func be64(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }
