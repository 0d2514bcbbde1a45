package operate_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
)

func TestPattern(t *testing.T) {
	for _, c := range []struct{ path, value, want string }{
		{"a", "1", `{"a":1}`}, {"a.b", "x y", `{"a":{"b":"x y"}}`}, {"", "true", "true"}, {"a", `{"c":null}`, `{"a":{"c":null}}`},
		{`q"`, `"7"`, `{"q\"":"7"}`}, {"a", "", `{"a":""}`},
	} {
		if got := string(operate.Pattern(c.path, c.value)); got != c.want {
			t.Errorf("Pattern(%q, %q) = %s, want %s", c.path, c.value, got, c.want)
		}
	}
}

func TestBothPatterns(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{`{"a":1}`, `{"b":2}`, `{"a":1,"b":2}`}, {`{"a":{"b":1}}`, `{"a":{"c":2}}`, `{"a":{"b":1,"c":2}}`},
		{`{"tags":["a"]}`, `{"tags":["b"]}`, `{"tags":["a","b"]}`}, {`{"a":12345678901234567890}`, `{}`, `{"a":12345678901234567890}`},
		{`{"a":"x"}`, `{"a":"x"}`, `{"a":"x"}`}, {"null", "null", "null"},
		{`{"a":1}`, `{"a":2}`, ""}, {`{"a":1}`, `{"a":{"b":1}}`, ""}, {`{"a":[1]}`, `{"a":1}`, ""}, {`{"a":{}}`, `{"a":[]}`, ""},
		{`{"a":1,"a":2}`, `{"b":1}`, ""}, {`{`, `{"b":1}`, ""},
	} {
		got, err := operate.BothPatterns(json.RawMessage(c.a), json.RawMessage(c.b))
		if string(got) != c.want || (err != nil) != (c.want == "") || err != nil && !errors.Is(err, world.ErrInvalid) {
			t.Errorf("BothPatterns(%s, %s) = %s, %v, want %q", c.a, c.b, got, err, c.want)
		}
	}
	if got, err := operate.BothPatterns(nil, json.RawMessage(`1`)); string(got) != "1" || err != nil {
		t.Errorf("with every value: %s, %v", got, err)
	}
}
