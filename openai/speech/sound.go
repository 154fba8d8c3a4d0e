package speech

import (
	"encoding/base64"
	"encoding/binary"
	"io"

	"github.com/zeebo/xxh3"

	"fakellm/internal/rng"
)

// The measures of sound.
const (
	// SampleRate is in Hz; a sample is 16 bits, little endian, one channel.
	SampleRate = 24_000
	// FrameSamples are 50 ms, one audio token. FrameBytes is a multiple of 3, so that the base64 texts of frames can be
	// put together as they are.
	FrameSamples = SampleRate / 20
	FrameBytes   = 2 * FrameSamples
	// FramesPerToken frames (300 ms) say one token of the transcript: 200 tokens a minute.
	FramesPerToken = 6
)

// Sound is what an answer sounds like. The zero value is no sound.
type Sound struct {
	// Frames is its length.
	Frames int
	// seed decides about pitches.
	seed uint64
}

// New is the sound of a transcript in a voice, so many frames long.
func New(voice, transcript string, frames int) Sound {
	return Sound{Frames: frames, seed: xxh3.HashString(voice) ^ rng.Mix(xxh3.HashString(transcript))}
}

// The tone of a token: a triangle wave of 110 to 330 Hz, an eighth of full scale, that comes and goes within 25 ms.
const (
	lowestStep = 300 // 2^16 is a full turn: 300·24000/2^16 Hz
	steps      = 601
	fade       = FrameSamples / 2
	softness   = 8
)

// AppendFrame appends the samples of frame i, from 0. O(FrameSamples).
func (s Sound) AppendFrame(dst []byte, i int) []byte {
	const all = FramesPerToken * FrameSamples
	step := lowestStep + int(rng.Mix(s.seed+uint64(i/FramesPerToken))%steps)
	from := i % FramesPerToken * FrameSamples
	for n := from; n < from+FrameSamples; n++ {
		turn := n * step & 0xffff
		if turn > 0x7fff {
			turn = 0xffff - turn
		}
		loud := min(n, all-1-n, fade)
		v := (2*turn - 0x7fff) * loud / (fade * softness)
		dst = binary.LittleEndian.AppendUint16(dst, uint16(int16(v)))
	}
	return dst
}

// headerBytes is the length of a WAV header.
const headerBytes = 44

// Size is the length of the sound in a format, in bytes.
func (s Sound) Size(f Format) int {
	n := s.Frames * FrameBytes
	if f == WAV {
		n += headerBytes
	}
	return n
}

// EncodedSize is the length of what Encode writes.
func (s Sound) EncodedSize(f Format) int { return base64.StdEncoding.EncodedLen(s.Size(f)) }

// Encode writes the sound in a format as base64, some frames at a time: no more of it is ever held. The error is w's.
func (s Sound) Encode(w io.Writer, f Format) error {
	enc := base64.NewEncoder(base64.StdEncoding, w)
	if f == WAV {
		if _, err := enc.Write(s.header()); err != nil {
			return err
		}
	}
	const together = 8
	buf := make([]byte, 0, together*FrameBytes)
	for i := range s.Frames {
		if buf = s.AppendFrame(buf, i); len(buf) < cap(buf) && i+1 < s.Frames {
			continue
		}
		if _, err := enc.Write(buf); err != nil {
			return err
		}
		buf = buf[:0]
	}
	return enc.Close()
}

// header is the canonical RIFF header of PCM sound.
func (s Sound) header() []byte {
	size := uint32(s.Frames * FrameBytes)
	le := binary.LittleEndian
	b := append(make([]byte, 0, headerBytes), "RIFF"...)
	b = append(le.AppendUint32(b, headerBytes-8+size), "WAVEfmt "...)
	b = le.AppendUint32(b, 16)
	b = le.AppendUint16(b, 1) // PCM
	b = le.AppendUint16(b, 1) // one channel
	b = le.AppendUint32(b, SampleRate)
	b = le.AppendUint32(b, 2*SampleRate)
	b = le.AppendUint16(b, 2)
	b = le.AppendUint16(b, 16)
	return le.AppendUint32(append(b, "data"...), size)
}
