package world

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAttributeKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 200)
	for _, c := range []struct{ value, want string }{
		{`"Ulm"`, "sUlm"}, {` "Ulm" `, "sUlm"}, {`"\u0055lm"`, "sUlm"}, {`""`, "s"}, {`"a\u0000b"`, "s"}, {`"\ud800"`, "s"}, {`"😀"`, "s😀"}, {`"\ud83d\ude00"`, "s😀"},
		{`"` + long + `"`, "s" + long[:256] + "200"},
		{"true", "t"}, {"false", "f"}, {"null", "z"}, {"{}", "o"}, {`{"a":1}`, "o"}, {"[]", "a"}, {"[1]", "a"},
		{"0", "n0"}, {"-0.00", "n0"}, {"1", "n1"}, {"1.0", "n1"}, {"-1.50", "n-1.5"}, {"1e400", "n1e400"},
		{"1" + strings.Repeat("0", 70), "n1e70"}, {strings.Repeat("1", 70), "n" + strings.Repeat("1", 64)},
		{"", ""}, {"{", ""}, {"Ulm", ""},
	} {
		if got := AttributeKey([]byte(c.value)); got != c.want {
			t.Errorf("AttributeKey(%.80s) = %.200q, want %.200q", c.value, got, c.want)
		}
	}
}

// What contains a pattern is found by the pattern's key.
func TestContainedValuesHaveThePatternsKey(t *testing.T) {
	t.Parallel()
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(
			rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?`),
			rapid.SampledFrom([]string{"0e1", "-0", "1e400", "10e399", "0.1e401", "1e1000000", "10e999999", "100e999998", "1e-1000001", "0.1e-1000000"}),
			rapid.Map(rapid.StringN(0, 140, -1), func(s string) string { b, _ := json.Marshal(s); return string(b) }),
			rapid.SampledFrom([]string{"null", "true", "false", "{}", `{"a":1}`, `{"a":1,"b":[1]}`, "[]", "[1]", `[1,"x"]`, `"\ud800"`, `"\ufffd"`, `"a\u0000"`, "{"}),
		)
		doc := value.Draw(t, "doc")
		pattern := rapid.OneOf(value, rapid.Just(doc), rapid.Just(doc+"0"), rapid.Just(doc+".0"), rapid.Just(doc+"0e-1")).Draw(t, "pattern")
		if !Contains([]byte(doc), []byte(pattern)) {
			return
		}
		found++
		if got, want := AttributeKey([]byte(doc)), AttributeKey([]byte(pattern)); got != want {
			t.Fatalf("%s contains %s: got the keys %q and %q, want one", doc, pattern, got, want)
		}
	})
	if found == 0 {
		t.Fatal("nothing was contained: the test proves nothing")
	}
}
