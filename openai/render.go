package openai

// renderer turns due positions into events. It belongs to one stream.
type renderer struct {
	frame frame
	style ToolStyle
	// continuous puts usage on every event; promptTokens is what it counts for the prompt.
	continuous   bool
	promptTokens int
	// topK alternatives per token when logprobs are wanted.
	topK int
	// tokenIDs puts the ids of its tokens on every event.
	tokenIDs bool
	// interval positions are bundled into one event.
	interval int
	// pcm is room for some frames of sound.
	pcm []byte
	// offset of the text said so far per run, in characters, for legacy logprobs.
	offsets []int
}

// render appends the events of r that are due and not yet written, stopping when dst has grown by limit bytes. It
// returns how many events it appended and whether more is due.
func (v *renderer) render(dst []byte, r *run, limit int) (out []byte, events int, more bool) {
	due := r.due()
	stop := len(dst) + limit
	if due > r.said || r.last.End == Completed {
		if !r.opened {
			v.count(r)
			n := len(dst)
			if dst = v.open(dst, r); len(dst) > n {
				events++
			}
		}
	}
	for r.said < due {
		if len(dst) >= stop {
			return dst, events, true
		}
		take := v.bundle(r, due)
		if take == 0 {
			break
		}
		n := len(dst)
		dst = v.next(dst, r, take)
		if len(dst) > n {
			events++
		}
	}
	if r.last.End == Completed && !r.finished {
		r.finished = true
		v.count(r)
		dst = v.finish(dst, r)
		events++
	}
	return dst, events, false
}

// open appends the role event of a chat choice (spec openai-endpoint S3).
func (v *renderer) open(dst []byte, r *run) []byte {
	r.opened = true
	r.prefix = v.frame.textPrefix(r.index)
	if !v.frame.chat {
		return dst
	}
	content := rawString("")
	if segs := r.plan.Segments; len(segs) > 0 && (segs[0].Kind == ToolCall || segs[0].Kind == FunctionCall) {
		content = null
	}
	d := delta{Role: "assistant", Content: content, Refusal: null}
	if r.plan.speaks() {
		d.Content, d.Audio = null, &deltaAudio{ID: r.plan.spoken.id}
	}
	return v.frame.appendChat(dst, chunkChoice{Index: r.index, Delta: d})
}

// count renews the usage that every event carries, if it does.
func (v *renderer) count(r *run) {
	if !v.continuous {
		return
	}
	done := max(r.said-r.plan.Free, 0)
	u := Usage{PromptTokens: v.promptTokens, CompletionTokens: done, TotalTokens: v.promptTokens + done}
	u.PromptDetails.CachedTokens = r.last.Cached
	u.CompletionDetails.ReasoningTokens = min(r.plan.Reasoning, done)
	u.CompletionDetails.AudioTokens = r.plan.frames(done)
	v.frame.tail = usageTail(u)
}

// bundle is how many positions go into the next event, 0 when more of them have to be due first. The first position
// leaves alone so that the time to the first token stays what it is, and a bundle ends with its segment.
func (v *renderer) bundle(r *run, due int) int {
	if v.interval <= 1 || r.said <= r.plan.Free {
		return 1
	}
	n := min(v.interval, r.rest())
	if r.plan.spoken != nil {
		n = min(n, beat) // sound is large
	}
	switch {
	case due-r.said >= n:
		return n
	case r.last.End == Completed:
		return due - r.said
	default:
		return 0
	}
}

// next says take positions of one segment in one event; echoed positions go out together.
func (v *renderer) next(dst []byte, r *run, take int) []byte {
	seg, starts := r.segment()
	from := r.said
	r.said += take
	if from < r.plan.Free {
		r.said = r.plan.Free
	}
	v.count(r)
	text := r.plan.text(from, r.said)
	switch {
	case seg.Kind == Silent:
		return dst
	case !v.frame.chat:
		return v.legacy(dst, r, from, text)
	case seg.Kind == Content && r.plan.Probs == nil && !v.tokenIDs:
		if text == "" {
			return dst
		}
		return v.frame.appendText(dst, r.prefix, text)
	case seg.Kind == Spoken:
		return v.speech(dst, r, seg, from, text)
	case seg.Kind == ToolCall || seg.Kind == FunctionCall:
		return v.call(dst, r, seg, starts, from, text)
	}
	var d delta
	lp := v.chatLogprobs(r, from, r.said, seg.Kind)
	switch seg.Kind {
	case Reasoning:
		if text == "" || v.frame.reasoning == "" {
			return dst
		}
		if v.frame.reasoning == "reasoning" {
			d.Reasoning = &text
		} else {
			d.ReasoningContent = &text
		}
	case Refusal:
		d.Refusal = rawString(text)
	default:
		d.Content = rawString(text)
	}
	if text == "" && lp == nil && !v.tokenIDs {
		return dst
	}
	return v.frame.appendChat(dst, chunkChoice{Index: r.index, Delta: d, Logprobs: lp, engineMembers: v.ids(r, from)})
}

// ids are the tokens of the positions from on that have just been said, if the request wants them.
func (v *renderer) ids(r *run, from int) engineMembers {
	if !v.tokenIDs || r.plan.Output == nil {
		return engineMembers{}
	}
	free := r.plan.Free
	return engineMembers{TokenIDs: r.plan.Output[max(from-free, 0):max(r.said-free, 0)]}
}

// call says one position of a tool call (spec openai-endpoint S7): the opener with id and name, then fragments.
func (v *renderer) call(dst []byte, r *run, seg Segment, starts bool, from int, text string) []byte {
	if starts {
		r.calls++
		dst = v.frame.appendChat(dst, chunkChoice{Index: r.index, Delta: callDelta(seg, r.calls-1, "", true)})
	}
	if v.style == ToolStyleWhole {
		if r.said < r.segEnd {
			return dst
		}
		text = r.plan.text(r.segEnd-seg.Positions, r.segEnd)
	}
	if text == "" {
		return dst
	}
	return v.frame.appendChat(dst, chunkChoice{
		Index: r.index, Delta: callDelta(seg, r.calls-1, text, false), engineMembers: v.ids(r, from),
	})
}

// callDelta is the delta of a call: an opener, or a fragment of arguments.
func callDelta(seg Segment, index int, text string, opener bool) delta {
	name := ""
	if opener {
		name = seg.Name
	}
	if seg.Kind == FunctionCall {
		return delta{FunctionCall: &functionCall{Name: name, Arguments: text}}
	}
	c := toolCall{Index: &index}
	if opener {
		c.ID, c.Type = seg.ID, "function"
		if seg.Custom {
			c.Type = "custom"
		}
	}
	if seg.Custom {
		c.Custom = &customCall{Name: name, Input: text}
	} else {
		c.Function = &functionCall{Name: name, Arguments: text}
	}
	return delta{ToolCalls: []toolCall{c}}
}

// legacy says positions of a text completion.
func (v *renderer) legacy(dst []byte, r *run, from int, text string) []byte {
	if r.plan.Probs == nil {
		switch {
		case v.tokenIDs:
			return v.frame.appendLegacy(dst, textChoice{Index: r.index, Text: text, engineMembers: v.ids(r, from)})
		case text == "":
			return dst
		default:
			return v.frame.appendText(dst, r.prefix, text)
		}
	}
	lp, end := legacyLogprobs(r.plan, from, r.said, v.topK, v.offsets[r.index])
	v.offsets[r.index] = end
	return v.frame.appendLegacy(dst, textChoice{
		Index: r.index, Text: text, Logprobs: lp, engineMembers: v.ids(r, from),
	})
}

// finish appends the terminal event of a choice (spec openai-endpoint S5).
func (v *renderer) finish(dst []byte, r *run) []byte {
	stop := v.frame.dialect.stopMembers(r.plan.StopReason)
	if !v.frame.chat {
		return v.frame.appendLegacy(dst, textChoice{Index: r.index, FinishReason: &r.plan.FinishReason, engineMembers: stop})
	}
	if r.plan.speaks() {
		dst = v.expiry(dst, r)
	}
	return v.frame.appendChat(dst, chunkChoice{Index: r.index, FinishReason: &r.plan.FinishReason, engineMembers: stop})
}
