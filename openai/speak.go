package openai

import (
	"encoding/base64"
	"time"

	"github.com/zeebo/xxh3"

	"fakellm/openai/reply"
	"fakellm/openai/speech"
	"fakellm/tokenize"
)

// spoken is how an answer sounds and under which id it can be referred to. It holds no samples.
type spoken struct {
	id string
	// expires is when the id is forgotten, in Unix seconds.
	expires int64
	sound   speech.Sound
	format  speech.Format
}

// audioLasts is how long an id of a spoken answer is known.
const audioLasts = time.Hour

// beat is the number of positions in which one token of a transcript is said: itself, then its frames of sound.
const beat = 1 + speech.FramesPerToken

// speak has a planned answer spoken, if the request wants that: content becomes a transcript with frames of sound
// between its tokens, each a token that is paced, counted and limited like any other. At most room positions are left.
func (s *Server) speak(c *Choice, req *ChatRequest, room int) error {
	if req.Speech == nil {
		return nil
	}
	if f := req.Speech.Format; !f.Made() {
		return badRequest("audio.format", codeUnsupValue, "unsupported value: 'audio.format' does not support '%s', which takes "+
			"an encoder that this server does not have; supported are 'wav' and 'pcm16'", f)
	}
	if req.Wishes.OutputTokens > 0 {
		room = min(room, req.Wishes.OutputTokens)
	}
	c.utter(room)
	req.Wishes.heed(c, req.Format.Kind != reply.FormatText)
	c.spoken = &spoken{
		id: s.ids.make("audio_"), expires: time.Now().Add(audioLasts).Unix(), format: req.Speech.Format,
		sound: speech.New(req.Speech.Voice, c.transcript(), c.frames(c.Tokens)),
	}
	return nil
}

// utter puts the frames of sound into an answer and cuts it to room positions. O(positions).
func (c *Choice) utter(room int) {
	segs := c.Segments
	if segs == nil {
		segs = []Segment{{Kind: Content, Positions: len(c.Ends)}}
	}
	size := 0
	for _, seg := range segs {
		size += seg.Positions
		if seg.Kind == Content {
			size += seg.Positions * speech.FramesPerToken
		}
	}
	kept := min(size, room)
	u := utterance{from: c, ends: make([]uint32, 0, kept), room: kept}
	if c.Output != nil {
		u.ids = make([]uint32, 0, kept)
		u.sound = tokenize.AppendMedia(nil, xxh3.HashString(c.Text), kept)
	}
	for _, seg := range segs {
		u.add(seg)
	}
	c.Ends, c.Output, c.Segments, c.Tokens = u.ends, u.ids, u.segments, kept
	if kept == 0 {
		c.Text = ""
	} else {
		c.Text = c.Text[:c.Ends[kept-1]]
	}
	c.Reasoning = min(c.Reasoning, kept)
	if kept < size {
		c.FinishReason, c.StopReason = reply.FinishLength, ""
	}
}

// utterance is a spoken answer being put together from a silent one.
type utterance struct {
	from *Choice
	// at is the next position of from; room is how many positions there may be.
	at, room int
	ends     []uint32
	ids      []uint32
	// sound are ids for frames, as many as there may be.
	sound    []uint32
	frames   int
	segments []Segment
}

// add appends a segment as far as there is room.
func (u *utterance) add(seg Segment) {
	from := len(u.ends)
	first := u.frames
	for range seg.Positions {
		if len(u.ends) == u.room {
			break
		}
		u.ends = append(u.ends, u.from.Ends[u.at])
		if u.ids != nil {
			u.ids = append(u.ids, u.from.Output[u.at])
		}
		u.at++
		if seg.Kind == Content {
			u.hum()
		}
	}
	if seg.Positions = len(u.ends) - from; seg.Kind == Content {
		seg.Kind, seg.first = Spoken, first
	}
	if seg.Positions > 0 || seg.Kind == Spoken {
		u.segments = append(u.segments, seg)
	}
}

// hum appends the frames of one token.
func (u *utterance) hum() {
	n := min(speech.FramesPerToken, u.room-len(u.ends))
	if n <= 0 {
		return
	}
	said := u.ends[len(u.ends)-1]
	for range n {
		u.ends = append(u.ends, said)
	}
	if u.ids != nil {
		u.ids = append(u.ids, u.sound[u.frames:u.frames+n]...)
	}
	u.frames += n
}

// framesIn is how many of the first n positions of a spoken segment are frames of sound.
func framesIn(n int) int { return n - (n+beat-1)/beat }

// frames is how many of the first n positions are sound.
func (c *Choice) frames(n int) int {
	sum, at := 0, 0
	for _, seg := range c.Segments {
		if seg.Kind == Spoken {
			sum += framesIn(max(min(n-at, seg.Positions), 0))
		}
		at += seg.Positions
	}
	return sum
}

// transcript is the text that is spoken.
func (c *Choice) transcript() string {
	text, at := "", 0
	for _, seg := range c.Segments {
		if seg.Kind == Spoken {
			text += c.text(at, at+seg.Positions)
		}
		at += seg.Positions
	}
	return text
}

// speaks says whether anything of the answer is spoken.
func (c *Choice) speaks() bool {
	for _, seg := range c.Segments {
		if seg.Kind == Spoken {
			return c.spoken != nil
		}
	}
	return false
}

// message is the audio of a whole answer, without its data, which is made when it is written.
func (s *spoken) message(transcript string) *messageAudio {
	return &messageAudio{ID: s.id, ExpiresAt: s.expires, Transcript: transcript}
}

const (
	audioInfix  = `"delta":{"audio":{"data":"`
	audioSuffix = `"}},"logprobs":null,"finish_reason":null}`
)

// speech says positions of a spoken segment: what they add to the transcript, then their frames. Without ids it
// allocates for transcripts only. O(frames).
func (v *renderer) speech(dst []byte, r *run, seg Segment, from int, text string) []byte {
	start := r.segEnd - seg.Positions
	first, end := framesIn(from-start), framesIn(r.said-start)
	sound := &r.plan.spoken.sound
	v.pcm = v.pcm[:0]
	for i := first; i < end; i++ {
		v.pcm = sound.AppendFrame(v.pcm, seg.first+i)
	}
	if v.tokenIDs {
		d := delta{Audio: &deltaAudio{Transcript: &text, Data: base64.StdEncoding.EncodeToString(v.pcm)}}
		return v.frame.appendChat(dst, chunkChoice{Index: r.index, Delta: d, engineMembers: v.ids(r, from)})
	}
	if text != "" {
		d := delta{Audio: &deltaAudio{Transcript: &text}}
		dst = v.frame.appendChat(dst, chunkChoice{Index: r.index, Delta: d})
	}
	if len(v.pcm) == 0 {
		return dst
	}
	at := len(dst)
	dst = append(dst, r.prefix[:len(r.prefix)-len(chatInfix)]...)
	dst = append(base64.StdEncoding.AppendEncode(append(dst, audioInfix...), v.pcm), audioSuffix...)
	return v.frame.end(dst, at)
}

// expiry says how long the audio of a choice is known, which is the last of it.
func (v *renderer) expiry(dst []byte, r *run) []byte {
	d := delta{Audio: &deltaAudio{ExpiresAt: r.plan.spoken.expires}}
	return v.frame.appendChat(dst, chunkChoice{Index: r.index, Delta: d})
}
