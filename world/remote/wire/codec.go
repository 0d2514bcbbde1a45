package wire

// This file encodes messages as JSON.

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/stepwell/stepwell/world"
)

// Encode writes a message as one line.
func Encode(b *bytes.Buffer, v any) error {
	began := b.Len()
	err := json.MarshalWrite(b, v, writing)
	if err != nil { // perhaps a text is not UTF-8, which encoding/json would replace
		b.Truncate(began)
		err = json.MarshalWrite(b, v, replacing)
	}
	if err != nil {
		return err
	}
	return b.WriteByte('\n')
}

// Decode reads a message. With exactly, it refuses a member that is unknown or repeated. Names of
// members match if all their letters do.
func Decode(text []byte, into any, exactly bool) error {
	return json.Unmarshal(text, into, reading, json.RejectUnknownMembers(exactly),
		jsontext.AllowDuplicateNames(!exactly))
}

// answer is the answer to a call. An object without this member is not from a server.
type answer[Out any] struct {
	Answer *Out `json:"answer"`
}

// EncodeAnswer writes the answer to a call.
func EncodeAnswer[Out any](b *bytes.Buffer, out *Out) error { return Encode(b, answer[Out]{out}) }

// DecodeAnswer reads the answer to a call.
func DecodeAnswer[Out any](text []byte) (out Out, err error) {
	var a answer[Out]
	if err := Decode(text, &a, false); err != nil {
		return out, err
	}
	if a.Answer == nil {
		return out, errors.New("it has no answer")
	}
	return *a.Answer, nil
}

// Form is the type whose members stand for a type of package world: the type itself, but for
// [world.Schedule], whose tags leave out what its stored row does not have.
func Form(t reflect.Type) reflect.Type {
	if t == reflect.TypeFor[world.Schedule]() {
		return reflect.TypeFor[schedule]()
	}
	return t
}

type schedule struct {
	world.Schedule
	Change int64  `json:"change,omitzero"`
	Damage string `json:"damage,omitzero"`
}

var (
	common = json.JoinOptions(jsonv1.DefaultOptionsV1(), json.MatchCaseInsensitiveNames(false), json.FormatNilSliceAsNull(false),
		jsontext.EscapeForHTML(false), jsontext.EscapeForJS(false), jsontext.AllowInvalidUTF8(false),
		jsontext.AllowDuplicateNames(false), jsonv1.ReportErrorsWithLegacySemantics(false))
	writing   = json.JoinOptions(common, json.WithMarshalers(marshalers(false)))
	replacing = json.JoinOptions(common, jsontext.AllowInvalidUTF8(true), json.WithMarshalers(marshalers(true)))
	reading   = json.JoinOptions(common, json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFromFunc(readPayload),
		json.UnmarshalFromFunc(readID),
		json.UnmarshalFromFunc(func(d *jsontext.Decoder, to *world.Schedule) error {
			var s schedule
			err := json.UnmarshalDecode(d, &s)
			*to = s.Schedule
			to.Change, to.Damage = s.Change, s.Damage
			return err
		}),
	)))
)

// marshalers write what encoding/json would write otherwise. If texts are replaced that are not
// UTF-8, payloads are checked first, because they must keep every byte.
func marshalers(replaced bool) *json.Marshalers {
	return json.JoinMarshalers(
		json.MarshalToFunc(func(e *jsontext.Encoder, b stdjson.RawMessage) error {
			return writePayload(e, b, replaced)
		}),
		json.MarshalToFunc(func(e *jsontext.Encoder, id [16]byte) error {
			var text [2*len(id) + 2]byte
			text[0], text[len(text)-1] = '"', '"'
			hex.Encode(text[1:], id[:])
			return e.WriteValue(text[:])
		}),
		json.MarshalToFunc(func(e *jsontext.Encoder, s world.Schedule) error {
			return json.MarshalEncode(e, &schedule{s, s.Change, s.Damage})
		}),
	)
}

const escape = `"$base64"`

// writePayload writes a payload. JSON without white space between its tokens is written as it is.
// Everything else is written as {"$base64": "…"}, also JSON that begins like that or that a strict
// reader refuses, such as an object with a repeated member. Nil is {"$base64": null}.
func writePayload(e *jsontext.Encoder, b []byte, check bool) error {
	if len(b) > 0 && dense(b) && !escaped(b) && (!check || jsontext.Value(b).IsValid()) {
		if err := e.WriteValue(b); !errors.As(err, new(*jsontext.SyntacticError)) {
			return err
		}
	}
	if b == nil {
		return e.WriteValue([]byte(noPayload))
	}
	text := make([]byte, 0, base64.StdEncoding.EncodedLen(len(b))+len(escape)+5)
	text = append(append(append(text, '{'), escape...), ':', '"')
	return e.WriteValue(append(base64.StdEncoding.AppendEncode(text, b), '"', '}'))
}

const noPayload = `{` + escape + `:null}`

// readPayload reads a payload. It removes white space between the tokens of JSON: that is the same
// value, but not the same bytes.
func readPayload(d *jsontext.Decoder, to *stdjson.RawMessage) error {
	text, err := d.ReadValue()
	switch {
	case err != nil:
		return err
	case string(text) == noPayload:
		*to = nil
		return nil
	case !escaped(text):
		*to = bytes.Clone(text)
		if !dense(text) {
			return (*jsontext.Value)(to).Compact(jsontext.PreserveRawStrings(true))
		}
		return nil
	}
	var coded struct {
		Bytes *[]byte `json:"$base64"`
	}
	if err := json.Unmarshal(text, &coded, json.RejectUnknownMembers(true)); err != nil || coded.Bytes == nil {
		return fmt.Errorf("%w: an object with $base64 has that alone, and base64 in it", world.ErrInvalid)
	}
	*to = *coded.Bytes
	return nil
}

// readID reads the ID of a commit: 32 hexadecimal digits.
func readID(d *jsontext.Decoder, to *[16]byte) error {
	text, err := d.ReadToken()
	if err != nil {
		return err
	}
	digits := text.String()
	if text.Kind() != '"' || len(digits) != 2*len(to) {
		return fmt.Errorf("%w: the ID of a commit has %d characters, want %d hexadecimal digits",
			world.ErrInvalid, len(digits), 2*len(to))
	}
	if _, err := hex.Decode(to[:], []byte(digits)); err != nil {
		return fmt.Errorf("%w: the ID of a commit: %w", world.ErrInvalid, err)
	}
	return nil
}

// escaped reports whether JSON is an object that begins with the member $base64.
func escaped(text []byte) bool {
	rest, ok := bytes.CutPrefix(text, []byte("{"))
	return ok && bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(escape))
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
