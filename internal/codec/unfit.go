package codec

// What is said of JSON that does not fit a type. Who sent it may know no Go, so it names no types of Go.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/stepwell/stepwell/internal/human"
)

// unfit is an error of [encoding/json] in other words.
type unfit struct {
	text string
	err  error
}

func (u *unfit) Error() string { return u.text }
func (u *unfit) Unwrap() error { return u.err }

// decodeError says what is wrong with the data, and where.
func decodeError(data []byte, err error) error {
	say := func(format string, args ...any) error { return &unfit{"decode: " + fmt.Sprintf(format, args...), err} }
	if len(bytes.TrimSpace(data)) == 0 {
		return say("no data")
	}
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at := fmt.Sprintf(" at offset %d", te.Offset)
		if te.Field != "" {
			at += " in field " + te.Field
		}
		words := "a JSON " + te.Value + at + " does not fit"
		if te.Type != nil {
			words += ": want " + wanted(te.Type)
		}
		return say("%s", strings.ReplaceAll(err.Error(), te.Error(), words)) // around it is what the type's own code says
	}
	if se, ok := errors.AsType[*json.SyntaxError](err); ok {
		switch n := int(se.Offset); {
		case n >= len(data) && strings.Contains(err.Error(), "unexpected end"):
			return say("the JSON ends too early, at offset %d", se.Offset)
		case n > 0 && n <= len(data) && json.Valid(data[:n-1]):
			return say("more data after the value, at offset %d", se.Offset)
		}
		return say("not JSON at offset %d: %s", se.Offset, strings.TrimPrefix(err.Error(), "json: "))
	}
	return say("%s", strings.TrimPrefix(err.Error(), "json: "))
}

// wanted is what JSON a type is written as.
func wanted(t reflect.Type) string { return cmp.Or(human.JSONWord(t), "another value") }
