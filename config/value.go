package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// parse turns a value of a file, variable or flag into the field's type, without rounding or guessing.
func (f Field) parse(v any) (any, error) {
	if v == nil {
		switch f.Key { // the engines write null for "no limit", which is 0 here
		case "max_num_seqs", "max_num_batched_tokens", "max_model_len":
			return 0, nil
		}
		return nil, errors.New("null is not a value")
	}
	if f.typ == reflect.TypeFor[time.Duration]() {
		return parseDuration(v)
	}
	switch f.typ.Kind() {
	case reflect.Bool:
		return parseBool(v)
	case reflect.Int, reflect.Uint64:
		return parseInt(v, f.typ)
	case reflect.Float64:
		return parseFloat(v)
	case reflect.Slice:
		return parseList(v)
	default:
		return parseText(v)
	}
}

func parseDuration(v any) (any, error) {
	s, ok := v.(string)
	if !ok {
		if d, is := v.(time.Duration); is {
			return d, nil
		}
		return nil, fmt.Errorf("%v is not a duration (write 30s, 500ms)", v)
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return nil, fmt.Errorf("%q is not a duration (write 30s, 500ms)", s)
	}
	return d, nil
}

func parseBool(v any) (any, error) {
	switch b := v.(type) {
	case bool:
		return b, nil
	case string:
		if got, err := strconv.ParseBool(b); err == nil {
			return got, nil
		}
	}
	return nil, fmt.Errorf("%v is not true or false", quoted(v))
}

func parseInt(v any, t reflect.Type) (any, error) {
	text := fmt.Sprint(v)
	if x, ok := v.(float64); ok && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		text = strconv.FormatFloat(x, 'f', 0, 64) // JSON has no integers
	}
	if x, ok := v.(float64); ok && math.Abs(x) >= 1<<63 && !math.IsInf(x, 0) {
		text = strconv.FormatFloat(x, 'f', 0, 64) // rounded, but too large either way
	}
	if t.Kind() == reflect.Uint64 {
		n, err := strconv.ParseUint(text, 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			return nil, fmt.Errorf("%v is too large, at most %d", quoted(v), uint64(math.MaxUint64))
		}
		if err != nil {
			return nil, fmt.Errorf("%v is not a whole number of at most 64 bits", quoted(v))
		}
		return n, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return nil, fmt.Errorf("%v is %s", quoted(v), beyond(text))
	}
	if err != nil {
		return nil, fmt.Errorf("%v is not a whole number", quoted(v))
	}
	return int(n), nil
}

// beyond says by which bound a whole number does not fit.
func beyond(number string) string {
	if strings.HasPrefix(number, "-") {
		return fmt.Sprintf("too small, at least %d", math.MinInt64)
	}
	return fmt.Sprintf("too large, at most %d", math.MaxInt64)
}

// FlagError says of a whole number that fits no integer that it is too large or small; other errors of parsed flags stay
// as they are.
func FlagError(err error) error {
	bad, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok || bad.GetFlag().Value.Type() != "int" {
		return err
	}
	if _, why := strconv.ParseInt(bad.GetValue(), 0, 64); !errors.Is(why, strconv.ErrRange) {
		return err
	}
	return fmt.Errorf("invalid argument %q for \"--%s\" flag: %s", bad.GetValue(), bad.GetFlag().Name, beyond(bad.GetValue()))
}

func parseFloat(v any) (any, error) {
	x, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return nil, fmt.Errorf("%v is not a finite number", quoted(v))
	}
	return x, nil
}

func parseList(v any) (any, error) {
	switch list := v.(type) {
	case []string:
		return list, nil
	case []any:
		out := make([]string, len(list))
		for i, item := range list {
			s, ok := item.(string)
			if !ok {
				return nil, fmt.Errorf("item %d: %v is not a text", i, item)
			}
			out[i] = s
		}
		return out, nil
	case string:
		var out []string
		for part := range strings.SplitSeq(list, ",") {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("%v is not a list of texts", quoted(v))
}

func parseText(v any) (any, error) {
	switch s := v.(type) {
	case string:
		return s, nil
	case int, float64, uint64, bool:
		return fmt.Sprint(s), nil
	}
	return nil, fmt.Errorf("%v is not a text", quoted(v))
}

func quoted(v any) any {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return v
}

// aliases are other names of flags: short ones, and those under which the reference simulator has the setting.
func aliases() map[string]string {
	return map[string]string{
		"tp": "tensor-parallel-size", "aic-tp-size": "tensor-parallel-size", "dp": "data-parallel-size",
		"aic-nextn": "num-speculative-tokens", "aic-nextn-accept-rates": "acceptance-rates", "aic-mtp-seed": "acceptance-seed",
		"engine-type": "backend", "num-gpu-blocks-override": "num-gpu-blocks",
		"sglang-schedule-policy": "schedule-policy", "sglang-max-prefill-tokens": "max-prefill-tokens",
		"sglang-chunked-prefill-size": "chunked-prefill-size", "sglang-clip-max-new-tokens": "clip-max-new-tokens",
		"sglang-schedule-conservativeness": "schedule-conservativeness",
	}
}

// AddFlags defines one flag for every field, with its default and help from [Default], and lets aliases name them too.
func AddFlags(flags *pflag.FlagSet, fields []Field) {
	names := aliases()
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if to, ok := names[name]; ok {
			return pflag.NormalizedName(to)
		}
		return pflag.NormalizedName(name)
	})
	d := Default()
	for _, f := range fields {
		help := f.Help
		if len(f.Enum) > 0 {
			help += " (" + strings.Join(f.Enum, ", ") + ")"
		}
		switch v := f.Value(&d).(type) {
		case bool:
			flags.Bool(f.Flag(), v, help)
			if v { // what is on by default needs a way to be switched off that reads like the engines' own
				flags.BoolFunc("no-"+f.Flag(), "the opposite of --"+f.Flag(), func(string) error {
					return flags.Set(f.Flag(), "false")
				})
			}
		case []string:
			flags.StringSlice(f.Flag(), v, help)
		case time.Duration:
			flags.Duration(f.Flag(), v, help)
		case int:
			flags.Int(f.Flag(), v, help)
		case uint64:
			flags.Uint64(f.Flag(), v, help)
		case float64:
			flags.Float64(f.Flag(), v, help)
		case string:
			flags.String(f.Flag(), v, help)
		}
	}
}
