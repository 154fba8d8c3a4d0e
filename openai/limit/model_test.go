package limit_test

import (
	"strings"
	"testing"
	"time"

	"fakellm/openai/limit"
)

// TestModels: a limited model has buckets of its own for each key, all other models share those of the key.
func TestModels(t *testing.T) {
	l := newLimiter(t, limit.Config{
		Default: limit.Quota{RPM: 2},
		Models: []limit.ModelQuota{
			{Model: "gpt-*", Quota: limit.Quota{RPM: 3}},
			{Model: "gpt-5.*", Quota: limit.Quota{RPM: 4}},
			{Model: "gpt-4o", Quota: limit.Quota{RPM: 1}},
			{Model: "gpt-free", Quota: limit.Quota{}},
			{Model: "thirsty", Quota: limit.Quota{TPM: 25}},
		},
	})
	for _, tc := range []struct {
		why, key, model string
		want            int
		told            int64 // limit in the headers
	}{
		{"a name goes before globs, even before those given first", "a", "gpt-4o", 1, 1},
		{"among globs the first that fits", "a", "gpt-5.1", 3, 3},
		{"an entry of zeros exempts from globs and from the key's limit", "a", "gpt-free", 5, 0},
		{"another model of a pattern has buckets of its own", "a", "gpt-5", 3, 3},
		{"and so has the next", "a", "gpt-5-mini", 3, 3},
		{"models without a limit share the key's, still full", "a", "llama", 2, 2},
		{"which is empty for the next of them", "a", "qwen", 0, 2},
		{"another key is not concerned", "b", "gpt-4o", 1, 1},
		{"nor its other models", "b", "qwen", 2, 2},
		{"tokens alone", "b", "thirsty", 2, 0},
		{"the model's bucket stays empty", "a", "gpt-4o", 0, 1},
	} {
		n := 0
		for range 5 {
			d := l.Admit(epoch, limit.Who{Key: tc.key, Model: tc.model}, 10)
			if d.OK() {
				n++
			}
			if d.Requests.Limit != tc.told {
				t.Errorf("%s: the headers tell a limit of %d, want %d", tc.why, d.Requests.Limit, tc.told)
			}
		}
		if n != tc.want {
			t.Errorf("%s: %d admitted, want %d", tc.why, n, tc.want)
		}
	}
	who := limit.Who{Key: "c", Model: "thirsty"}
	d := l.Admit(epoch, who, 25)
	l.Settle(epoch, who, d, 5)
	if d := l.Admit(epoch, who, 20); !d.OK() {
		t.Errorf("what was not used comes back to the model's bucket: %+v", d)
	}
}

// TestInventedModels: neither invented keys nor invented models grow the memory or gain anything.
func TestInventedModels(t *testing.T) {
	l := newLimiter(t, limit.Config{
		Default: limit.Quota{RPM: 1}, MaxKeys: 10,
		Models: []limit.ModelQuota{{Model: "m-*", Quota: limit.Quota{RPM: 2}}},
	})
	admitted := func(at time.Duration, key string) (n int) {
		for i := range 1000 {
			if l.Admit(epoch.Add(at), limit.Who{Key: key, Model: "m-" + strings.Repeat("x", i)}, 1).OK() {
				n++
			}
		}
		return n
	}
	if n := admitted(0, "a"); n != 12 || l.Keys() != 10 {
		t.Errorf("%d admitted by %d pairs, want one by each of 10 and two by the shared one", n, l.Keys())
	}
	if n := admitted(time.Hour, "b"); n != 12 || l.Keys() != 10 {
		t.Errorf("%d admitted by %d pairs: the 10 that are full again make room, once", n, l.Keys())
	}
}

func TestParseModel(t *testing.T) {
	for _, tc := range []struct{ why, text, want, err string }{
		{"both", "gpt-4o=500/30000", "gpt-4o=500/30000", ""},
		{"requests alone", "gpt-4o=500", "gpt-4o=500/0", ""},
		{"tokens alone", "gpt-4o=0/7", "gpt-4o=0/7", ""},
		{"a name with a slash, a glob", "meta-llama/*=1/2", "meta-llama/*=1/2", ""},
		{"a name with an equals sign", "a=b=1", "a=b=1/0", ""},
		{"no limit", "gpt-4o", "", "no model or no limit"},
		{"no model", "=5", "", "no model or no limit"},
		{"no limit at all exempts a model", "m=0/0", "m=0/0", ""},
		{"the same in short", "m=0", "m=0/0", ""},
		{"a class, which no pattern here has", "gpt[=1/2", "", `"[" in "gpt[": only * and ? make a pattern`},
		{"alternatives neither", "gpt-{4,5}=1/2", "", `only * and ? make a pattern`},
		{"nor an escape", `gpt\*=1/2`, "", `only * and ? make a pattern`},
		{"nothing behind the slash", "m=5/", "", `"" is no whole number`},
		{"negative", "m=-5", "", `"-5" is no whole number`},
		{"beyond what the buckets compute exactly", "m=1/9999999999999999", "", "is no whole number from 0 to"},
	} {
		m, err := limit.ParseModel(tc.text)
		if tc.err == "" && (err != nil || m.String() != tc.want) {
			t.Errorf("%s: %q is %v, %v, want %s", tc.why, tc.text, m, err, tc.want)
		}
		if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: %q: %v, want %q in it", tc.why, tc.text, err, tc.err)
		}
	}
}

// TestParseModels: every bad entry is named, and a second limit of one model, which would never count, is bad.
func TestParseModels(t *testing.T) {
	got, err := limit.ParseModels([]string{"gpt-4*=1/2", "gpt-4o=3"})
	if err != nil || len(got) != 2 || got[1].String() != "gpt-4o=3/0" {
		t.Errorf("%v, %v", got, err)
	}
	_, err = limit.ParseModels([]string{"m=1", "gpt-*=1", "m=1", "gpt-*=2", "x"})
	for _, want := range []string{`"m=1": "m" has a limit already`, `"gpt-*=2": "gpt-*" has a limit already, "gpt-*=1"`, `"x": no`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s in it", err, want)
		}
	}
	twice := limit.Config{Models: []limit.ModelQuota{{Model: "m"}, {Model: "m"}, {Model: "a[b"}}}
	if errs := twice.Validate(); len(errs) != 2 {
		t.Errorf("%v, want the second of two equal names and the bad pattern", errs)
	}
}

// FuzzParseModel: what is read is valid, and reads the same again.
func FuzzParseModel(f *testing.F) {
	f.Add("gpt-4o=500/30000")
	f.Add("=1")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := limit.ParseModel(text)
		if err != nil {
			return
		}
		if _, err := limit.New(limit.Config{Models: []limit.ModelQuota{m}}); err != nil {
			t.Error(err)
		}
		if again, err := limit.ParseModel(m.String()); err != nil || again != m {
			t.Errorf("%q is %v, then %v, %v", text, m, again, err)
		}
	})
}
