package wire

// This file writes bytes into JSON so that they come out as they were.

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepwell/stepwell/world"
)

// Bytes are a payload. JSON without white space between its tokens is written as it is; everything else as {"$base64": "…"}, and so is JSON that looks
// like that, or that a strict reader refuses, as it has a member twice. Nil is left out where the field says omitzero.
type Bytes []byte

const escape = `"$base64"`

// IsZero reports whether there are none; empty bytes are some.
func (b Bytes) IsZero() bool { return b == nil }

// MarshalJSON writes the bytes.
func (b Bytes) MarshalJSON() ([]byte, error) {
	switch {
	case b == nil:
		return []byte("null"), nil
	case plain(b):
		return b, nil
	}
	text := make([]byte, 0, base64.StdEncoding.EncodedLen(len(b))+len(escape)+5)
	text = append(append(append(text, '{'), escape...), ':', '"')
	return append(base64.StdEncoding.AppendEncode(text, b), '"', '}'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote. White space between the tokens of other JSON is left out: it is that value, and not those bytes.
func (b *Bytes) UnmarshalJSON(text []byte) error {
	if !escaped(text) {
		if dense(text) {
			*b = bytes.Clone(text)
			return nil
		}
		var short bytes.Buffer
		err := json.Compact(&short, text)
		*b = short.Bytes()
		return err
	}
	var coded struct {
		Bytes *[]byte `json:"$base64"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&coded); err != nil || coded.Bytes == nil {
		return fmt.Errorf("%w: an object with $base64 has that alone, and base64 in it", world.ErrInvalid)
	}
	*b = append([]byte{}, *coded.Bytes...)
	return nil
}

// escaped reports whether JSON is an object that begins with the member $base64.
func escaped(text []byte) bool {
	rest, ok := bytes.CutPrefix(text, []byte("{"))
	return ok && bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(escape))
}

// plain reports whether bytes are JSON that an encoder leaves as they are and every reader takes.
func plain(b []byte) bool {
	return len(b) > 0 && dense(b) && !escaped(b) && jsontext.Value(b).IsValid()
}

// dense reports whether JSON has no white space between its tokens.
func dense(b []byte) bool {
	inText := false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case !inText && c <= ' ':
			return false
		}
	}
	return true
}

// CommitID tells a commit from any other.
type CommitID [16]byte

// MarshalText writes it as 32 hexadecimal digits.
func (id CommitID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// UnmarshalText reads 32 hexadecimal digits.
func (id *CommitID) UnmarshalText(text []byte) error {
	if len(text) != 2*len(id) {
		return fmt.Errorf("%w: the ID of a commit has %d characters, want %d hexadecimal digits", world.ErrInvalid, len(text), 2*len(id))
	}
	if _, err := hex.Decode(id[:], text); err != nil {
		return fmt.Errorf("%w: the ID of a commit: %w", world.ErrInvalid, err)
	}
	return nil
}

// Encode writes a message as one line.
func Encode(b *bytes.Buffer, v any) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// named turns values by name.
func named[A, B ~[]byte](in map[string]A) map[string]B {
	if in == nil {
		return nil
	}
	out := make(map[string]B, len(in))
	for name, v := range in {
		out[name] = B(v)
	}
	return out
}

// list turns each element; nil stays nil.
func list[A, B any](in []A, convert func(*A) B) []B {
	if in == nil {
		return nil
	}
	out := make([]B, len(in))
	for i := range in {
		out[i] = convert(&in[i])
	}
	return out
}
