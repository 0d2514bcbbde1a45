package world

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestNamedHowever: a reference is found wherever it is a member of an object, however the JSON is spaced.
func TestNamedHowever(t *testing.T) {
	a := Apart{ID: NewID(PrefixApart, Now()), Size: 6, SHA256: strings.Repeat("0", 64)}
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	ref := `"stepwell:blob":` + string(text)
	quoted, _ := json.Marshal("{" + ref + "}")
	spaced := strings.NewReplacer(`:{`, " :\r\n\t{ ", `,`, " ,\n ", `}`, "\n}").Replace(ref)
	for payload, want := range map[string]int{
		`{` + ref + `}`: 1,
		`{"rows": [{"n": 1, ` + spaced + `}, 2]}`:    1,
		`{"name":"x",` + ref + `}`:                   1,
		`{"stepwell:blob":{` + ref + `}}`:            1,
		`{"stepwell:blob":1,"b":{` + ref + `}}`:      1,
		`[{` + ref + `},{` + ref + `}]`:              1,
		string(quoted):                               0,
		`{"x\"stepwell:blob":` + string(text) + `}`:  0,
		`["stepwell:blob",` + string(text) + `]`:     0,
		`{"stepwell:blob":{"id":"` + a.ID + `"}}`:    0,
		`{"stepwell:blob":{"id":"` + a.ID + `","siz`: 0,
		`{"stepwell:blob":`:                          0,
		`{"stepwell:blob" `:                          0,
	} {
		got := Named([]byte(payload))
		if len(got) != want || want == 1 && got[0] != a {
			t.Errorf("%s names %v, want %d", payload, got, want)
		}
	}
}

// TestNamedIsLinear: what is read of a payload as references is no more than the payload, whatever it nests.
func TestNamedIsLinear(t *testing.T) {
	const n = 990
	long := strings.Repeat("a", 100_000)
	for what, payload := range map[string]string{
		"a long text":  strings.Repeat(`{"stepwell:blob":`, n) + `"` + long + `"` + strings.Repeat("}", n),
		"a long value": strings.Repeat(`{"stepwell:blob":`, n) + `{"id":"` + long + `"}` + strings.Repeat("}", n),
		"one end":      strings.Repeat(`{"stepwell:blob":[`, n) + long + "}",
		"spaced":       strings.Repeat(`{"stepwell:blob" : `, n) + strings.Repeat(" ", 100_000) + `{"id":""}`,
		"many":         "[" + strings.Repeat(`{"stepwell:blob":{"id":"`+strings.Repeat("a", 100)+`"}},`, n) + "1]",
	} {
		read := 0
		for text := range marked([]byte(payload)) {
			read += len(text)
		}
		if read > len(payload) {
			t.Errorf("%s: of %d bytes %d are read", what, len(payload), read)
		}
	}
}

// TestTooManyNamed: a payload names [MaxNamed] values, and no more.
func TestTooManyNamed(t *testing.T) {
	var b strings.Builder
	for i := range MaxNamed + 1 {
		if i == MaxNamed {
			if err := CheckNamed([]byte("[" + b.String() + "1]")); err != nil {
				t.Error(err)
			}
		}
		fmt.Fprintf(&b, `{"stepwell:blob": {"id": %q, "size": 1, "sha256": %q}},`, NewID(PrefixApart, Now()), strings.Repeat("0", 64))
	}
	if err := CheckNamed([]byte("[" + b.String() + "1]")); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one more: %v", err)
	}
}
