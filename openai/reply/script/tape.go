package script

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Recording is one line of a tape: a request and what a real endpoint answered. Times are kept to be looked at; a
// replay takes its content from the tape and its timing from the engine.
type Recording struct {
	// Version of the format, TapeVersion.
	Version int `json:"v"`
	// Key identifies the request (see RequestKey).
	Key   string `json:"key"`
	Route string `json:"route"`
	Model string `json:"model,omitempty"`
	// Request is the body that was sent, for people and for rebuilding keys; it may be left out.
	Request json.RawMessage `json:"request,omitempty"`
	// Status is the HTTP status, 200 when 0; Answers hold one entry per choice unless it is an error.
	Status  int              `json:"status,omitempty"`
	Answers []RecordedAnswer `json:"answers,omitempty"`
	Error   *Failure         `json:"error,omitempty"`
	// PromptTokens, CompletionTokens and, among them, CachedTokens and ReasoningTokens as the endpoint counted them;
	// TTFTMs and TotalMs as the recorder saw them, in milliseconds; 0 for unknown.
	PromptTokens     int     `json:"prompt_tokens,omitempty"`
	CachedTokens     int     `json:"cached_tokens,omitempty"`
	CompletionTokens int     `json:"completion_tokens,omitempty"`
	ReasoningTokens  int     `json:"reasoning_tokens,omitempty"`
	TTFTMs           float64 `json:"ttft_ms,omitempty"`
	TotalMs          float64 `json:"total_ms,omitempty"`
	// Spoke are the numbers, from 1, of the events of a stream in which the first choice said something. Listen notes them;
	// they are on no tape.
	Spoke []int64 `json:"-"`
}

// RecordedAnswer is one choice as it was said.
type RecordedAnswer struct {
	Text         *string `json:"text,omitempty"`
	Reasoning    string  `json:"reasoning,omitempty"`
	Refusal      string  `json:"refusal,omitempty"`
	Calls        []Call  `json:"calls,omitempty"`
	FinishReason string  `json:"finish_reason,omitempty"`
}

// TapeVersion is the format that AppendRecording writes and ReadTape reads.
const TapeVersion = 1

// Bounds of a tape: bytes of one line and lines.
const (
	MaxTapeLine  = 16 << 20
	MaxTapeLines = 1_000_000
	maxReasoning = 1 << 30 // tokens, far beyond every limit
)

// volatile members do not change what is said, so they are no part of a key.
func volatile() []string {
	return []string{
		"stream", "stream_options", "user", "metadata", "store", "service_tier", "safety_identifier",
		"prompt_cache_key", "prompt_cache_retention", "x_sim", "request_id",
	}
}

// RequestKey identifies a request body: a SHA-256 over route and body with members sorted and volatile ones (stream,
// user, metadata, …) left out. It fails when the body is no JSON object.
func RequestKey(route string, body []byte) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v map[string]any
	if err := dec.Decode(&v); err != nil {
		return "", fmt.Errorf("request body: %w", err)
	}
	for _, k := range volatile() {
		delete(v, k)
	}
	text, err := marshal(v)
	if err != nil {
		return "", fmt.Errorf("request body: %w", err)
	}
	h := sha256.New()
	h.Write([]byte(route + "\n"))
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// AppendRecording appends one line, newline included.
func AppendRecording(dst []byte, r Recording) ([]byte, error) {
	r.Version = TapeVersion
	line, err := marshal(r)
	if err != nil {
		return dst, fmt.Errorf("recording %s: %w", r.Key, err)
	}
	if len(line) > MaxTapeLine {
		return dst, fmt.Errorf("recording %s: %d bytes, the limit is %d", r.Key, len(line), MaxTapeLine)
	}
	return append(append(dst, line...), '\n'), nil
}

// Tape is recordings by key, in their order. It is immutable after ReadTape and safe for concurrent use.
type Tape struct {
	byKey map[string][]Recording
	n     int
}

// ReadTape reads JSON lines; empty lines are skipped. Errors name file and line.
func ReadTape(name string, r io.Reader) (*Tape, error) {
	t := &Tape{byKey: make(map[string][]Recording)}
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 64<<10), MaxTapeLine+1)
	line := 0
	for sc.Scan() {
		line++
		if len(bytes.TrimSpace(sc.Bytes())) == 0 {
			continue
		}
		rec, err := parseRecording(sc.Bytes())
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
		if t.n++; t.n > MaxTapeLines {
			return nil, fmt.Errorf("%s:%d: more than %d recordings", name, line, MaxTapeLines)
		}
		t.byKey[rec.Key] = append(t.byKey[rec.Key], rec)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, line+1, err)
	}
	return t, nil
}

func parseRecording(line []byte) (Recording, error) {
	var rec Recording
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&rec); err != nil {
		return rec, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	switch {
	case dec.More():
		return rec, fmt.Errorf("more than one value on a line")
	case rec.Version != TapeVersion:
		return rec, fmt.Errorf("v: %d is not %d", rec.Version, TapeVersion)
	case rec.Key == "":
		return rec, fmt.Errorf("key: empty")
	case (rec.Error == nil) == (len(rec.Answers) == 0):
		return rec, fmt.Errorf("give either answers or an error")
	case rec.Error != nil && (rec.Error.Status < 400 || rec.Error.Status > 599):
		return rec, fmt.Errorf("error.status: %d is not from 400 to 599", rec.Error.Status)
	}
	rec.Request = nil // not needed for a replay, and often the larger half.
	return rec, nil
}

// Len is the number of recordings.
func (t *Tape) Len() int { return t.n }

// Played is what a tape answers to one request.
type Played struct {
	rec  Recording
	take int
}

// Play finds the recording for a request: the n-th request with a key in a session gets the n-th recording, the last
// one repeats. It counts in st, which the caller locks, and reports false when the tape does not know the request.
func (t *Tape) Play(st *State, q *Request) (Played, bool) {
	key, err := RequestKey(q.Route, q.Body)
	if err != nil {
		return Played{}, false
	}
	list := t.byKey[key]
	if len(list) == 0 {
		return Played{}, false
	}
	m := Mapping{ID: "tape:" + key}
	n := st.matched(&m, q.Session)
	st.advance(&m, q.Session)
	take := min(n, len(list)-1)
	return Played{rec: list[take], take: take}, true
}

// Recording is the whole recording.
func (p Played) Recording() Recording { return p.rec }

// Outcome is the answer of one choice; choices beyond those recorded start over.
func (p Played) Outcome(sample int) Outcome {
	o := Outcome{Mapping: "tape:" + p.rec.Key, Reply: p.take}
	if p.rec.Error != nil {
		e := *p.rec.Error
		o.Error = &e
		return o
	}
	at := sample % len(p.rec.Answers)
	a := p.rec.Answers[at]
	o.Text, o.Reasoning, o.Refusal, o.Calls, o.FinishReason = a.Text, a.Reasoning, a.Refusal, a.Calls, a.FinishReason
	o.Hidden = p.rec.Hidden(at)
	return o
}
