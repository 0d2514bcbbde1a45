package wire

import (
	"encoding/json"
	"testing"
)

// TestBytesOfStrictReaders: JSON that a strict reader refuses is not written as it is, and comes out byte by byte.
func TestBytesOfStrictReaders(t *testing.T) {
	for text, plainly := range map[string]bool{
		`{"a":1,"b":[{"a":2}]}`: true,
		`{"a":1,"a":2}`:         false,
		`[{"b":{"c":1,"c":1}}]`: false,
		`"\ud800"`:              false,
		`{"a" :1}`:              false,
		"\xff":                  false,
	} {
		b, err := json.Marshal(Bytes(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := string(b) == text; got != plainly {
			t.Errorf("%s is written as %s", text, b)
		}
		var back Bytes
		if err := json.Unmarshal(b, &back); err != nil || string(back) != text {
			t.Errorf("%s came back as %s, %v", text, back, err)
		}
	}
}
