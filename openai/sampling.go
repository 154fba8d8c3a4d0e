package openai

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// checker judges requests. It is pure: the same body gives the same answer.
type checker struct {
	dialect Dialect
	policy  Policy
	served  []string
	ranks   int
}

// check turns the shared fields into Sampling.
func (c checker) check(b *shared, h http.Header) (Sampling, error) {
	s := Sampling{N: 1, Temperature: 1, TopP: 1, Rank: -1}
	inf := math.MaxFloat64
	if err := checkRanges([]rangeOf{
		{"temperature", b.Temperature, 0, 2},
		{"top_p", b.TopP, 0, 1},
		{"presence_penalty", b.PresencePenalty, -2, 2},
		{"frequency_penalty", b.FrequencyPenalty, -2, 2},
		{"min_p", b.MinP, 0, 1},
		{"top_k", b.TopK, -1, inf},
		{"repetition_penalty", b.RepetitionPenalty, 0, inf},
	}); err != nil {
		return s, err
	}
	if err := checkInts([]intField{
		{"n", b.N, 1, 128}, {"min_tokens", b.MinTokens, 0, maxCount}, {"stream_interval", b.StreamInterval, 1, maxCount},
	}); err != nil {
		return s, err
	}
	stop, err := stopList(b.Stop, c.stopLimit())
	if err != nil {
		return s, err
	}
	if err := checkBias(b.LogitBias, c.policy); err != nil {
		return s, err
	}
	if err := checkMetadata(b.Metadata); err != nil {
		return s, err
	}
	set(&s.Temperature, b.Temperature)
	set(&s.TopP, b.TopP)
	set(&s.Stream, b.Stream)
	set(&s.IgnoreEOS, b.IgnoreEOS)
	set(&s.KeepStop, b.KeepStop)
	set(&s.ReturnTokenIDs, b.ReturnTokenIDs)
	if b.N != nil {
		s.N = int(*b.N)
	}
	if b.MinTokens != nil {
		s.MinTokens = clampInt(*b.MinTokens)
	}
	if b.StreamInterval != nil {
		s.StreamInterval = clampInt(*b.StreamInterval)
	}
	if b.Priority != nil {
		s.Priority = clampInt(*b.Priority)
	}
	s.BestOf, s.Stop, s.Seed = s.N, stop, b.Seed
	if x := b.NVExt; x != nil {
		s.IgnoreEOS = s.IgnoreEOS || (x.IgnoreEOS != nil && *x.IgnoreEOS)
		set(&s.SessionKey, x.CacheSalt)
	}
	set(&s.SessionKey, b.SessionID)
	set(&s.SessionKey, b.CacheSalt)
	if err := c.streamOptions(&s, b.StreamOptions); err != nil {
		return s, err
	}
	if s.Wishes, err = c.wishes(b.Sim, h); err != nil {
		return s, err
	}
	if s.Wishes.Seed != nil {
		s.Seed = s.Wishes.Seed
	}
	s.SessionKey = orDefault(s.Wishes.Session, s.SessionKey)
	if err = c.vllm(&s, &b.engineFields, h); err != nil {
		return s, err
	}
	s.Rank, err = c.rank(b, h)
	return s, err
}

// stopLimit is the most stop strings a dialect takes, 0 for no limit.
func (c checker) stopLimit() int {
	if c.dialect == DialectOpenAI {
		return 4
	}
	return 0
}

func (c checker) streamOptions(s *Sampling, o *streamOptions) error {
	if o == nil {
		return nil
	}
	if !s.Stream && c.policy != PolicyLenient {
		return badRequest("stream_options", codeValue, "invalid 'stream_options': it is only allowed when 'stream' is true")
	}
	set(&s.IncludeUsage, o.IncludeUsage)
	set(&s.ContinuousUsage, o.ContinuousUsage)
	set(&s.Obfuscate, o.IncludeObfuscation)
	s.ContinuousUsage = s.ContinuousUsage && s.IncludeUsage
	return nil
}

// rank finds the data-parallel rank asked for, in a header or in the body; -1 if none.
func (c checker) rank(b *shared, h http.Header) (int, error) {
	asked := b.RoutedRank
	field := "routed_dp_rank"
	if asked == nil {
		asked, field = b.DataParallelRank, "data_parallel_rank"
	}
	if asked == nil && b.NVExt != nil {
		asked, field = b.NVExt.Rank, "nvext.dp_rank"
	}
	for _, name := range []string{"X-Data-Parallel-Rank", "X-Dynamo-Dp-Rank"} {
		v := h.Get(name)
		if v == "" || asked != nil {
			continue
		}
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return -1, badRequest(strings.ToLower(name), codeValue, "invalid header '%s': %q is not an integer",
				strings.ToLower(name), clip(v))
		}
		asked, field = &n, strings.ToLower(name)
	}
	if asked == nil || *asked == -1 {
		return -1, nil
	}
	ranks := max(c.ranks, 1)
	if *asked < 0 || *asked >= int64(ranks) {
		return -1, badRequest(field, codeValue, "invalid '%s': rank %d is outside the range 0 to %d", field, *asked, ranks-1)
	}
	return int(*asked), nil
}

// checkModel refuses an absent or unserved model name.
func (c checker) checkModel(model *string) error {
	if err := required("model", model); err != nil {
		return err
	}
	return c.knownModel(*model)
}

func (c checker) knownModel(model string) error {
	if len(c.served) == 0 || slices.Contains(c.served, model) {
		return nil
	}
	return &APIError{
		Status: http.StatusNotFound, Type: typeInvalid, Param: "model", Code: codeModel,
		Message: "The model `" + clip(model) + "` does not exist or you do not have access to it.",
	}
}

// maxTokens checks a limit of the client; lo is the least it may be.
func (c checker) maxTokens(field string, v *int64, lo int64) (*int, error) {
	if v == nil {
		return nil, nil
	}
	if c.policy == PolicyLenient {
		lo = 0
	}
	if err := checkInts([]intField{{field, v, lo, maxCount}}); err != nil {
		return nil, err
	}
	n := clampInt(*v)
	return &n, nil
}

// clampInt brings any int64 into a range in which sums of a few cannot overflow.
func clampInt(v int64) int {
	return int(max(min(v, math.MaxInt64/8), math.MinInt64/8))
}

// set copies a value that the client gave.
func set[T any](dst, src *T) {
	if src != nil {
		*dst = *src
	}
}
