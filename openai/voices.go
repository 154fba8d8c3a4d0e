package openai

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Bounds of what is remembered of spoken answers: transcripts, and their bytes together.
const (
	maxSpoken      = 10_000
	maxSpokenBytes = 16 << 20
)

// voices remembers what was said under which id, the ids that were not used for longest go first.
type voices struct {
	mu sync.Mutex
	// known and size, the bytes of all transcripts, are guarded by mu.
	known *simplelru.LRU[string, said]
	size  int
}

// said is a transcript and when it is forgotten, in Unix seconds.
type said struct {
	transcript string
	expires    int64
}

func newVoices(most int) *voices {
	v := new(voices)
	var err error
	v.known, err = simplelru.NewLRU(most, func(_ string, s said) { v.size -= len(s.transcript) })
	if err != nil {
		panic(fmt.Sprintf("openai: room for %d spoken answers: %v", most, err))
	}
	return v
}

// keep remembers the spoken answers among choices.
func (v *voices) keep(choices []Choice) {
	for i := range choices {
		c := &choices[i]
		if !c.speaks() {
			continue
		}
		s := said{c.transcript(), c.spoken.expires}
		v.mu.Lock()
		v.size += len(s.transcript)
		v.known.Add(c.spoken.id, s)
		for v.size > maxSpokenBytes && v.known.Len() > 1 {
			v.known.RemoveOldest()
		}
		v.mu.Unlock()
	}
}

// recall finds a transcript.
func (v *voices) recall(id string, now time.Time) (string, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, ok := v.known.Get(id)
	if ok && now.Unix() >= s.expires {
		v.known.Remove(id)
		return "", false
	}
	return s.transcript, ok
}

// recall gives messages that refer to spoken answers their words. An id that is not known is refused, except where
// somebody else may know it (a recorded endpoint) or where nothing has to make sense.
func (s *Server) recall(req *ChatRequest) error {
	for i := range req.Messages {
		m := &req.Messages[i]
		if m.AudioID == "" {
			continue
		}
		text, ok := s.voices.recall(m.AudioID, time.Now())
		switch {
		case ok:
			m.Parts = append(m.Parts, Part{Kind: "text", Text: text})
		case s.opts.Recorder == nil && s.opts.Policy != PolicyLenient:
			field := fmt.Sprintf("messages[%d].audio.id", i)
			return badRequest(field, codeValue, "invalid '%s': no audio has the id '%s', or it has expired", field, clip(m.AudioID))
		}
	}
	return nil
}

// writeSpoken writes a whole answer whose sound is made while it is written; without any it is writeJSON. The body has
// the sounds in their order, with empty data. The order and quotes of its members make the place of data unmistakable:
// inside a string they would be escaped.
func (s *Server) writeSpoken(c *gin.Context, body []byte, sounds []*spoken) {
	if len(sounds) == 0 {
		s.writeJSON(c, http.StatusOK, body)
		return
	}
	size := len(body)
	for _, a := range sounds {
		size += a.sound.EncodedSize(a.format)
	}
	h := c.Writer.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(size))
	h.Set("Openai-Processing-Ms", strconv.FormatInt(time.Since(c.GetTime(keyStart)).Milliseconds(), 10))
	c.Status(http.StatusOK)
	w := s.patient(c)
	for _, a := range sounds {
		head := appendQuoted([]byte(`"audio":{"id":`), a.id)
		head = append(head, `,"data":"`...)
		at := bytes.Index(body, head)
		if at < 0 {
			panic("openai: the answer has no place for its sound")
		}
		at += len(head)
		if _, err := w.Write(body[:at]); err != nil {
			return
		}
		if a.sound.Encode(w, a.format) != nil {
			return
		}
		body = body[at:]
	}
	_, _ = w.Write(body)
}

// patient writes to a client that may refuse to read for a while, but not for ever. net/http lifts the deadline when
// the answer has ended.
type patient struct {
	srv *Server
	c   *gin.Context
	rc  *http.ResponseController
}

func (s *Server) patient(c *gin.Context) *patient {
	return &patient{srv: s, c: c, rc: http.NewResponseController(c.Writer)}
}

// Write renews the deadline for every piece. A connection that cannot keep deadlines simply has none.
func (p *patient) Write(b []byte) (int, error) {
	for done := 0; ; {
		_ = p.rc.SetWriteDeadline(time.Now().Add(p.srv.opts.WriteTimeout))
		n, err := p.c.Writer.Write(b[done:min(len(b), done+ownBatch)])
		if done += n; err != nil || done == len(b) {
			p.srv.stalled(p.c.Writer, err)
			return done, err
		}
	}
}

// sounds are those of a list of answers.
func sounds(list []chatResponse) []*spoken {
	var out []*spoken
	for i := range list {
		out = append(out, list[i].sounds...)
	}
	return out
}

// stalled tells the observer if err, from writing an answer, says that its client did not read for too long.
func (s *Server) stalled(w http.ResponseWriter, err error) {
	if o, ok := s.opts.Observer.(Staller); ok && errors.Is(err, os.ErrDeadlineExceeded) {
		o.Stalled(w.Header().Get("X-Request-Id"), s.opts.WriteTimeout)
	}
}
