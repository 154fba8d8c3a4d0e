package speech_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"testing"

	"fakellm/openai/speech"
)

// decoded is what a client gets.
func decoded(t *testing.T, s speech.Sound, f speech.Format) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.Encode(&b, f); err != nil {
		t.Fatal(err)
	}
	if b.Len() != s.EncodedSize(f) {
		t.Errorf("%s of %d frames: %d bytes of base64, %d were announced", f, s.Frames, b.Len(), s.EncodedSize(f))
	}
	raw, err := base64.StdEncoding.DecodeString(b.String())
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) != s.Size(f) {
		t.Errorf("%s of %d frames: %d bytes, %d were announced", f, s.Frames, len(raw), s.Size(f))
	}
	return raw
}

// TestFormats: what is written at once is what the frames give one by one, behind a header that a player can read.
func TestFormats(t *testing.T) {
	for _, frames := range []int{0, 1, 6, 7, 8, 9, 100} {
		s := speech.New("alloy", "Hello there.", frames)
		var samples []byte
		for i := range frames {
			n := len(samples)
			if samples = s.AppendFrame(samples, i); len(samples)-n != speech.FrameBytes {
				t.Fatalf("frame %d has %d bytes, want %d", i, len(samples)-n, speech.FrameBytes)
			}
		}
		if got := decoded(t, s, speech.PCM16); !bytes.Equal(got, samples) {
			t.Errorf("%d frames: pcm16 differs from the frames", frames)
		}
		wav := decoded(t, s, speech.WAV)
		if !bytes.Equal(wav[44:], samples) || string(wav[:4]) != "RIFF" || string(wav[8:16]) != "WAVEfmt " {
			t.Errorf("%d frames: no WAV file of the same samples: %q", frames, wav[:44])
		}
		le := binary.LittleEndian
		if le.Uint32(wav[4:]) != uint32(len(wav)-8) || le.Uint32(wav[40:]) != uint32(len(samples)) ||
			le.Uint32(wav[24:]) != speech.SampleRate || le.Uint16(wav[22:]) != 1 || le.Uint16(wav[34:]) != 16 {
			t.Errorf("%d frames: header %x", frames, wav[:44])
		}
	}
}

// TestSoundFollowsWords: the same answer sounds the same, another one or another voice does not, and it is no silence.
func TestSoundFollowsWords(t *testing.T) {
	one := decoded(t, speech.New("alloy", "Hello", 12), speech.PCM16)
	if !bytes.Equal(one, decoded(t, speech.New("alloy", "Hello", 12), speech.PCM16)) {
		t.Error("the same answer sounds different the second time")
	}
	for _, other := range []speech.Sound{speech.New("alloy", "hello", 12), speech.New("verse", "Hello", 12)} {
		if bytes.Equal(one, decoded(t, other, speech.PCM16)) {
			t.Error("another answer sounds the same")
		}
	}
	loudest := 0
	for i := 0; i < len(one); i += 2 {
		v := int(int16(binary.LittleEndian.Uint16(one[i:])))
		loudest = max(loudest, v, -v)
	}
	if loudest < 3000 || loudest > 4096 {
		t.Errorf("the loudest sample is %d, want about an eighth of full scale", loudest)
	}
	if first := int16(binary.LittleEndian.Uint16(one)); first != 0 {
		t.Errorf("a tone begins with %d, want 0", first)
	}
}

// full is a disk that is.
type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestEncodeReportsTheWriter(t *testing.T) {
	for _, frames := range []int{0, 1, 50} {
		if err := speech.New("", "", frames).Encode(full{}, speech.WAV); !errors.Is(err, errFull) {
			t.Errorf("%d frames: %v", frames, err)
		}
	}
}

func TestMade(t *testing.T) {
	made := 0
	for _, f := range speech.Formats() {
		if speech.Format(f).Made() {
			made++
		}
	}
	if made != 2 {
		t.Errorf("%d formats are made, want wav and pcm16", made)
	}
}

func BenchmarkFrame(b *testing.B) {
	s, buf := speech.New("alloy", "Hello", 1000), make([]byte, 0, speech.FrameBytes)
	b.ReportAllocs()
	for i := range b.N {
		buf = s.AppendFrame(buf[:0], i%1000)
	}
}
