package tokenize

// special are the token ids of the chat template. They lie outside what AppendEncode can return, so text in a message
// can never be taken for structure.
type special struct {
	start, end, sep uint32 // <|im_start|>, <|im_end|>, <|im_sep|>
	call, args      uint32 // before a tool call's name and before its arguments
	first           uint32 // ids from here on are never text
}

// The ids of <|im_…|> are those of OpenAI's chat models; call and args take the two ids behind them.
var (
	cl100kSpecial = special{start: 100264, end: 100265, sep: 100266, call: 100267, args: 100268, first: 100256}
	o200kSpecial  = special{start: 200264, end: 200265, sep: 200266, call: 200267, args: 200268, first: 199998}
	approxSpecial = special{
		start: 0xf5000000, end: 0xf5000001, sep: 0xf5000002, call: 0xf5000003, args: 0xf5000004, first: 0xf5000000,
	}
)

func (s special) name(id uint32) string {
	switch id {
	case s.start:
		return "<|im_start|>"
	case s.end:
		return "<|im_end|>"
	case s.sep:
		return "<|im_sep|>"
	case s.call:
		return "<|call|>"
	case s.args:
		return "<|args|>"
	}
	return ""
}

// Chat is a conversation that asks for an answer.
type Chat struct {
	// Tools is the JSON text of the tools on offer and Format that of the response format; empty for none.
	Tools, Format string
	Messages      []Message
}

// Message is one turn. The zero value is an empty message without a role.
type Message struct {
	// Role is system, user, assistant, …; Name is the participant's name, empty for none.
	Role, Name string
	// Content is the text. Parts follow it, for content that is not one string.
	Content string
	Parts   []Part
	// Calls are the tool calls of an assistant's turn.
	Calls []Call
}

// Part is a piece of content: text, or media that count Tokens.
type Part struct {
	Text string
	// Media identifies what is not text, such as a hash of the image; Tokens is its cost (see ImageTokens).
	Media  uint64
	Tokens int
}

// Call is a tool call: the function's name and its arguments as JSON text.
type Call struct{ Name, Arguments string }

// AppendChat appends the prompt that a conversation becomes. The template, with <|x|> one token each:
//
//	<|im_start|> ROLE [: NAME] <|im_sep|> CONTENT PARTS [<|call|> NAME <|args|> ARGUMENTS]… <|im_end|>
//
// for every message, and at the end <|im_start|> assistant <|im_sep|> for the answer. So a message costs 3 tokens, its
// role and its text, one more and the name's if it has a name, and the start of the answer costs 3, as in OpenAI's
// published counting rule. Tools and Format become system messages in front: "# Tools" or "# Format", a newline, and
// the text as given. Ids of calls are not counted.
//
// Every text is encoded by itself between template tokens. Therefore the prompt of the next turn begins with the ids
// of this prompt followed by those of the answer, if the answer's text encodes to the ids that were generated for
// it: a prefix cache then finds the whole of it.
func (e *Encoding) AppendChat(dst []uint32, c Chat) []uint32 {
	if c.Tools != "" {
		dst = e.appendExtra(dst, "# Tools\n", c.Tools)
	}
	if c.Format != "" {
		dst = e.appendExtra(dst, "# Format\n", c.Format)
	}
	for i := range c.Messages {
		dst = e.appendMessage(dst, &c.Messages[i])
	}
	dst = append(dst, e.special.start)
	dst = e.AppendEncode(dst, "assistant")
	return append(dst, e.special.sep)
}

func (e *Encoding) appendExtra(dst []uint32, title, text string) []uint32 {
	dst = append(dst, e.special.start)
	dst = e.AppendEncode(dst, "system")
	dst = append(dst, e.special.sep)
	dst = e.AppendEncode(dst, title)
	dst = e.AppendEncode(dst, text)
	return append(dst, e.special.end)
}

func (e *Encoding) appendMessage(dst []uint32, m *Message) []uint32 {
	dst = append(dst, e.special.start)
	dst = e.AppendEncode(dst, m.Role)
	if m.Name != "" {
		dst = e.AppendEncode(dst, ":")
		dst = e.AppendEncode(dst, m.Name)
	}
	dst = append(dst, e.special.sep)
	dst = e.AppendEncode(dst, m.Content)
	for _, p := range m.Parts {
		dst = e.AppendEncode(dst, p.Text)
		dst = AppendMedia(dst, p.Media, p.Tokens)
	}
	for _, c := range m.Calls {
		dst = e.AppendCallHead(dst, c.Name)
		dst = e.AppendEncode(dst, c.Arguments)
	}
	return append(dst, e.special.end)
}

// AppendCallHead appends the tokens that open a tool call, <|call|> NAME <|args|>; the arguments follow. An answer that
// calls tools consists of these, so that it too is found again in the next turn.
func (e *Encoding) AppendCallHead(dst []uint32, name string) []uint32 {
	dst = append(dst, e.special.call)
	dst = e.AppendEncode(dst, name)
	return append(dst, e.special.args)
}
