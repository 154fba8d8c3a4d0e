package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestNasty: schemas made to take for ever end soon, with a value or with an error that names a keyword.
func TestNasty(t *testing.T) {
	var chain, reverse strings.Builder
	const links = 3000
	for i := range links {
		fmt.Fprintf(&chain, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
		fmt.Fprintf(&reverse, `"d%d":{"$ref":"#/$defs/d%d"},`, i+1, i)
	}
	link := func(i int) string { return fmt.Sprintf(`"d%d":{"type":"null"}}}`, i) }
	deep := func(open string, n int) string { return strings.Repeat(open, n) + `{}` + strings.Repeat(`}`, n) }
	for why, raw := range map[string]string{
		"repeats of nothing":       `{"type":"string","pattern":"((()*)*)*(^)*","minLength":100000}`,
		"backtracking without end": `{"type":"string","pattern":"^(?=(a+)+$)(a+)+b","minLength":40}`,
		"backtracking in names": `{"type":"object","patternProperties":{"^(?!(a+)+$)(a+)+$":true},` +
			`"minProperties":3}`,
		"nested repeats": `{"type":"string","pattern":"^(([a-z]+)+)+$","minLength":60000,"maxLength":60001}`,
		"no text of that length": `{"type":"array","minItems":500,"items":` +
			`{"type":"string","pattern":"^a+$","minLength":9,"maxLength":9,"format":"email"}}`,
		"items that cannot differ": `{"type":"array","uniqueItems":true,"minItems":3900,` +
			`"items":{"type":"integer","minimum":1,"maximum":3800}}`,
		"alternatives that never fit": `{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],` +
			`"$defs":{"a":{"type":"object","properties":{"x":{"oneOf":[` +
			`{"type":"object","properties":{"y":{"oneOf":[true,true]}},"required":["y"]},` +
			`{"type":"array","minItems":1,"items":{"oneOf":[{},{}]}}]}},"required":["x"]}}}`,
		"exponents":             `{"type":"number","multipleOf":1e-400,"minimum":1e400}`,
		"huge exponents":        `{"type":"number","minimum":1e1000000000}`,
		"deep nesting":          deep(`{"items":`, 190),
		"too deep nesting":      deep(`{"not":`, 5000),
		"a chain of references": `{"$ref":"#/$defs/d0","$defs":{` + chain.String() + link(links),
		"the same, in reverse":  fmt.Sprintf(`{"$ref":"#/$defs/d%d","$defs":{`, links) + reverse.String() + link(0),
		"wide and recursive": `{"$ref":"#/$defs/n","$defs":{"n":{"type":"array","minItems":40,` +
			`"items":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}}}}`,
		"many contains": `{"type":"array","items":{"type":"integer"},"contains":{"const":"x"},"minContains":3000}`,
		"not not not": `{"not":{"not":{"not":{"type":` +
			`["string","number","boolean","object","array","null"]}}}}`,
	} {
		s, err := Compile([]byte(raw))
		if err == nil {
			_, err = s.Generate(1)
		}
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Keyword == "") {
			t.Errorf("%s: error %v names no keyword", why, err)
		}
	}
}
