package speech

// Format is a form of sound, under the name that requests give it.
type Format string

// The formats that can be made without an encoder: samples in a WAV file, and samples alone.
const (
	WAV   Format = "wav"
	PCM16 Format = "pcm16"
)

// Formats are all that OpenAI's description lists; see Made.
func Formats() []string { return []string{"wav", "aac", "mp3", "flac", "opus", "pcm16"} }

// Made reports whether a format can be made.
func (f Format) Made() bool { return f == WAV || f == PCM16 }
