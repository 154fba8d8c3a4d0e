package limit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ParseModel reads the quota of a model as settings write it: MODEL=RPM/TPM, or MODEL=RPM alone. MODEL may be a glob;
// 0 is no limit, but not both. Errors name the text.
func ParseModel(text string) (ModelQuota, error) {
	bad := func(err error) (ModelQuota, error) {
		return ModelQuota{}, fmt.Errorf("%q: %w, want MODEL=RPM/TPM as in gpt-4o=500/30000", text, err)
	}
	at := strings.LastIndexByte(text, '=')
	if at <= 0 {
		return bad(errors.New("no model or no limit"))
	}
	m := ModelQuota{Model: text[:at]}
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
	if m.Quota == (Quota{}) {
		return bad(errors.New("no limit at all"))
	}
	return m, nil
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
