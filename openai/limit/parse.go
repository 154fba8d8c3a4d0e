package limit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ParseModel reads the quota of a model as settings write it: MODEL=RPM/TPM, or MODEL=RPM alone. MODEL may be a glob;
// 0 is no limit, twice 0 exempts the model. Errors name the text.
func ParseModel(text string) (ModelQuota, error) {
	bad := func(err error) (ModelQuota, error) {
		return ModelQuota{}, fmt.Errorf("%q: %w, want MODEL=RPM/TPM as in gpt-4o=500/30000", text, err)
	}
	at := strings.LastIndexByte(text, '=')
	if at <= 0 {
		return bad(errors.New("no model or no limit"))
	}
	m := ModelQuota{Model: text[:at]}
	if err := checkModel(m.Model); err != nil {
		return bad(err)
	}
	rpm, tpm, both := strings.Cut(text[at+1:], "/")
	var err error
	if m.RPM, err = perMinute(rpm); err != nil {
		return bad(err)
	}
	if both {
		if m.TPM, err = perMinute(tpm); err != nil {
			return bad(err)
		}
	}
	return m, nil
}

// ParseModels reads a list of them, in which no model may come twice. The error joins every problem.
func ParseModels(texts []string) ([]ModelQuota, error) {
	var out []ModelQuota
	var problems []error
	first := map[string]string{}
	for _, text := range texts {
		m, err := ParseModel(text)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if before, twice := first[m.Model]; twice {
			problems = append(problems, fmt.Errorf("%q: %q has a limit already, %q", text, m.Model, before))
			continue
		}
		first[m.Model] = text
		out = append(out, m)
	}
	return out, errors.Join(problems...)
}

// isGlob says whether a model is written as a glob.
func isGlob(model string) bool { return strings.ContainsAny(model, "*?") }

// checkModel refuses what cannot be a model's name and looks like a pattern of another language.
func checkModel(model string) error {
	if model == "" {
		return errors.New("empty")
	}
	if at := strings.IndexAny(model, `[]{}\`); at >= 0 {
		return fmt.Errorf("%q in %q: only * and ? make a pattern", model[at:at+1], model)
	}
	return nil
}

// perMinute reads a limit.
func perMinute(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > maxPerMinute {
		return 0, fmt.Errorf("%q is no whole number from 0 to %d", text, int64(maxPerMinute))
	}
	return n, nil
}

// String is the quota as ParseModel reads it.
func (m ModelQuota) String() string { return fmt.Sprintf("%s=%d/%d", m.Model, m.RPM, m.TPM) }
