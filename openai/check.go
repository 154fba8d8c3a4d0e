package openai

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// rangeOf is one row of the table of numeric limits (spec openai-endpoint R3, L1).
type rangeOf struct {
	field  string
	value  *float64
	lo, hi float64
}

// checkRanges refuses the first value outside its closed range.
func checkRanges(rows []rangeOf) error {
	for _, r := range rows {
		if r.value != nil && (*r.value < r.lo || *r.value > r.hi) {
			return badRequest(r.field, codeValue, "invalid '%s': %s is outside the range %s to %s",
				r.field, number(*r.value), number(r.lo), number(r.hi))
		}
	}
	return nil
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// intField is one row of the table of integers.
type intField struct {
	field  string
	value  *int64
	lo, hi int64
}

// checkInts refuses the first integer outside its closed range.
func checkInts(rows []intField) error {
	for _, r := range rows {
		if r.value == nil || (*r.value >= r.lo && *r.value <= r.hi) {
			continue
		}
		if r.hi == maxCount {
			return badRequest(r.field, codeValue, "invalid '%s': %d is below the minimum of %d", r.field, *r.value, r.lo)
		}
		return badRequest(r.field, codeValue, "invalid '%s': %d is outside the range %d to %d",
			r.field, *r.value, r.lo, r.hi)
	}
	return nil
}

// maxCount bounds integers that have no bound of their own.
const maxCount = int64(math.MaxInt64)

// oneOf refuses a present value that is not in the list.
func oneOf(field string, v *string, list ...string) error {
	if v == nil {
		return nil
	}
	if slices.Contains(list, *v) {
		return nil
	}
	return badRequest(field, codeValue, "invalid '%s': %q is none of %s", field, clip(*v), strings.Join(list, ", "))
}

// required refuses an absent or empty string.
func required(field string, v *string) error {
	if v == nil {
		return missing(field)
	}
	if *v == "" {
		return badRequest(field, codeValue, "invalid '%s': it must not be empty", field)
	}
	return nil
}

func missing(field string) error {
	return badRequest(field, codeMissing, "missing required parameter: '%s'", field)
}

// clip shortens a client's value so that an error message stays readable.
func clip(s string) string {
	if len(s) <= 64 {
		return s
	}
	return strings.ToValidUTF8(s[:64], "") + "…"
}

// isNull reports an absent value or a JSON null.
func isNull(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

// stopList reads stop: a string, a list of 1–4 strings, or null. limit 0 means no limit (the engines have none).
func stopList(raw json.RawMessage, limit int) ([]string, error) {
	if isNull(raw) {
		return nil, nil
	}
	var list []string
	switch kindOf(raw) {
	case "a string":
		list = make([]string, 1)
		if err := json.Unmarshal(raw, &list[0]); err != nil {
			return nil, decodeError(raw, err, "stop")
		}
	case "an array":
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, badRequest("stop", codeType, "invalid type for 'stop': every element must be a string")
		}
	default:
		return nil, badRequest("stop", codeType, "invalid type for 'stop': expected a string or an array of strings, got %s",
			kindOf(raw))
	}
	if limit > 0 && len(list) > limit {
		return nil, badRequest("stop", "array_above_max_length", "invalid 'stop': %d entries, at most %d are allowed",
			len(list), limit)
	}
	kept := list[:0]
	for _, s := range list {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return kept, nil
}

// checkBias checks logit_bias: token ids as keys, -100 to 100 as values.
func checkBias(bias map[string]json.RawMessage, p Policy) error {
	// The smallest offending key is named, so that the answer does not depend on map order.
	worst, reason := "", ""
	note := func(key, why string) {
		if reason == "" || key < worst {
			worst, reason = key, why
		}
	}
	for key, raw := range bias {
		if _, err := strconv.ParseUint(key, 10, 32); err != nil && p != PolicyLenient {
			note(key, "the key is not a token id")
			continue
		}
		var v float64
		if kindOf(raw) != "a number" || json.Unmarshal(raw, &v) != nil {
			note(key, "expected a number, got "+kindOf(raw))
		} else if v < -100 || v > 100 {
			note(key, number(v)+" is outside the range -100 to 100")
		}
	}
	if reason == "" {
		return nil
	}
	return badRequest("logit_bias", codeValue, "invalid 'logit_bias.%s': %s", clip(worst), reason)
}

// checkMetadata checks metadata: at most 16 pairs, keys of at most 64 and values of at most 512 characters.
func checkMetadata(m map[string]string) error {
	if len(m) > 16 {
		return badRequest("metadata", "object_above_max_properties",
			"invalid 'metadata': %d pairs, at most 16 are allowed", len(m))
	}
	worst := ""
	for k, v := range m {
		if (len(k) > 64 || len(v) > 512) && (worst == "" || k < worst) {
			worst = k
		}
	}
	if worst == "" {
		return nil
	}
	return badRequest("metadata", "string_above_max_length",
		"invalid 'metadata.%s': keys have at most 64 characters, values at most 512", clip(worst))
}
