package world

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestCheckJSON: JSON that two readers would read in two ways is none that comes in.
func TestCheckJSON(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(`{"a":[`, MaxDepth/2) + strings.Repeat(`]}`, MaxDepth/2)
	wide := make([]string, 100)
	for i := range wide {
		wide[i] = fmt.Sprintf(`"k%d":%d`, i, i)
	}
	for _, good := range []string{
		`null`, ` 1 `, `1e400`, `-0.5E-3`, `""`, `"\ud83d\ude00 \\ud800 \"é\""`, `{}`, `[]`, `[{"a":1},{"a":1}]`, `{"a":{"a":{"a":1}},"A":2}`, `{"a":"a","b":"a"}`,
		`{"":1," ":2}`, long, `{` + strings.Join(wide, ",") + `}`, "\"\u2028�\"", `"\ufffd\uABCD\u0dfF"`, `{"a":["b","b",{"b":"{\"b\":1,\"b\":2}"}],"b":"]}"}`,
	} {
		if err := CheckJSON("it", []byte(good)); err != nil {
			t.Errorf("%.60s: %v", good, err)
		}
	}
	for bad, says := range map[string]string{
		strings.Repeat(`[`, MaxDepth+1) + strings.Repeat(`]`, MaxDepth+1): "has more than 1000 levels of arrays and objects, at byte 1000",
		"\ufeff1": "byte order mark",

		``: "empty", ` `: "empty", `{`: "ends in the middle", `{"a":1} {}`: "more after its end, at byte 8", `{"a":x}`: "at byte 5", `nul`: "at byte 2",
		`{"a":1,"a":1}`:                            `member "/a" twice`,
		`{"a":1,"\u0061":1}`:                       `member "/a" twice`,
		`[0,{"a/b":{"~":1,"~":2}}]`:                `member "/1/a~1b/~0" twice`,
		`{"x":{},"y":[[],[{},{"":1,"":2}]]}`:       `member "/y/1/1/" twice`,
		`{` + strings.Join(wide, ",") + `,"k3":1}`: `member "/k3" twice`,
		"\"\xff\"":        "not UTF-8 at byte 1",
		"{\"\xc3\":1}":    "not UTF-8 at byte 2",
		`"\ud800"`:        "half a surrogate",
		`"\ud800\ud800"`:  "half a surrogate",
		`"\uDE00"`:        "half a surrogate",
		`"\ud83dx\ude00"`: "half a surrogate",
		`{"\udc00":1}`:    "half a surrogate",
	} {
		err := CheckJSON("it", []byte(bad))
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60s: %v, want %q", bad, err, says)
		}
	}
}

// FuzzCheckJSON: what passes is JSON in UTF-8, no member of it is lost when it is decoded, and nothing is made up.
func FuzzCheckJSON(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":[{"c":"\ud83d\ude00"}]}`, `{"a":1,"\u0061":2}`, `"\ud800"`, "\"\xff\"", `{"a":{"b":{}},"c":1e400}`, `[[],{"":[]}]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		err := CheckJSON("it", b)
		if json.Valid(b) && utf8.Valid(b) && err != nil && !strings.Contains(err.Error(), "twice") && !strings.Contains(err.Error(), "surrogate") {
			t.Fatalf("%q: %v", b, err)
		}
		if err != nil {
			return
		}
		var v any
		d := json.NewDecoder(strings.NewReader(string(b)))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		if got, want := countMembers(v), countColons(b); got != want {
			t.Fatalf("%q: %d members are decoded, it has %d", b, got, want)
		}
	})
}

func countMembers(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		n = len(v)
		for _, m := range v {
			n += countMembers(m)
		}
	case []any:
		for _, m := range v {
			n += countMembers(m)
		}
	}
	return n
}

// countColons counts those between names and values.
func countColons(b []byte) (n int) {
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case ':':
			n++
		case '"':
			i, _ = textEnd(b, i+1)
		}
	}
	return n
}

func BenchmarkCheckJSON(b *testing.B) {
	text := []byte(`{"customer":{"id":"42","name":"Ada"},"items":[{"sku":"a","n":1},{"sku":"b","n":2}],"total":12.5}`)
	b.Run("valid", func(b *testing.B) {
		for b.Loop() {
			_ = json.Valid(text)
		}
	})
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = CheckJSON("it", text)
		}
	})
}

func TestDeep(t *testing.T) {
	t.Parallel()
	nested := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	for _, c := range []struct {
		text []byte
		deep bool
	}{
		{nested(MaxDepth), false},
		{nested(MaxDepth + 1), true},
		{[]byte(`["` + strings.Repeat("[", 3*MaxDepth) + `\"["]`), false},
		{[]byte(`[` + strings.Repeat("[],", MaxDepth) + `0]`), false},
	} {
		if Deep(c.text) != c.deep {
			t.Errorf("%.20q, %d bytes: deep %v, want %v", c.text, len(c.text), !c.deep, c.deep)
		}
	}
}
