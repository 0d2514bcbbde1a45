package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stepwell/stepwell/world"
)

// TestPayloads: a payload comes out byte by byte. JSON that a strict reader refuses is not written
// as it is.
func TestPayloads(t *testing.T) {
	for text, plainly := range map[string]bool{
		`{"a":1,"b":[{"a":2}]}`: true,
		`null`:                  true,
		`{"a":1,"a":2}`:         false,
		`[{"b":{"c":1,"c":1}}]`: false,
		`"\ud800"`:              false,
		`{"a" :1}`:              false,
		`{"$base64":"AA=="}`:    false,
		"\xff":                  false,
		"":                      false,
		"1e400":                 true,
		`"<&>\u00e9\/é"`:        true,
	} {
		for _, name := range []string{"a", "\xff"} { // which is replaced
			chunks := world.StreamWrite{Stream: name, Chunks: []json.RawMessage{json.RawMessage(text), nil}}
			var b bytes.Buffer
			if err := Encode(&b, chunks); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if got := bytes.Contains(b.Bytes(), []byte(`[`+text+`,`)); got != plainly {
				t.Errorf("%s is written as %s", text, b.Bytes())
			}
			var back world.StreamWrite
			if err := Decode(b.Bytes(), &back, true); err != nil || !reflect.DeepEqual(back.Chunks, chunks.Chunks) {
				t.Errorf("%s came back as %s, %v", text, back.Chunks, err)
			}
		}
	}
}

// TestNone: none and empty differ.
func TestNone(t *testing.T) {
	for text, names := range map[string][]string{"{}\n": nil, "{\"names\":[]}\n": {}} {
		var b bytes.Buffer
		if err := Encode(&b, Names{names}); err != nil || b.String() != text {
			t.Errorf("%#v: got %s, %v, want %s", names, b.Bytes(), err, text)
		}
		var back Names
		if err := Decode(b.Bytes(), &back, true); err != nil || (back.Names == nil) != (names == nil) {
			t.Errorf("%s came back as %#v, %v", text, back.Names, err)
		}
	}
}
