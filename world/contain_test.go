package world

import "testing"

// What a match takes for contained is what PostgreSQL's @> does.
func TestContains(t *testing.T) {
	for _, c := range []struct {
		doc, pattern string
		want         bool
	}{
		{`{"a":1,"b":2}`, `{"a":1}`, true},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`{"a":{"b":1,"c":2}}`, `{"a":{"c":2}}`, true},
		{`[1,2,3]`, `[3,1]`, true},
		{`[1,2]`, `[1,1,1]`, true},
		{`[1,2]`, `[1,4]`, false},
		{`[{"a":1,"b":2},{"a":3}]`, `[{"a":1}]`, true},
		{`{"items":[{"sku":"x","n":1},{"sku":"y"}]}`, `{"items":[{"sku":"y"}]}`, true},
		{`[]`, `[]`, true},
		{`[1]`, `[]`, true},
		{`{"a":1}`, `{}`, true},
		{`{"a":[1]}`, `{"a":{}}`, false},
		{`1`, `1.0`, true},
		{`"1"`, `1`, false},
		{`null`, `null`, true},
		{`{"a":null}`, `{"b":null}`, false},
		{`{"a"`, `{}`, false},
	} {
		if got := Contains([]byte(c.doc), []byte(c.pattern)); got != c.want {
			t.Errorf("%s contains %s: %v, want %v", c.doc, c.pattern, got, c.want)
		}
	}
}
