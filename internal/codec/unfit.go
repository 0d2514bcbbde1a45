package codec

// What is said of JSON that does not fit a type. Who sent it may know no Go, so it names no types of Go.

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
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
		if want := jsonWord(te.Type); want != "" {
			words += ": want " + want
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

// jsonWord is what JSON a type is written as; "" where the type's own code knows.
func jsonWord(t reflect.Type) string {
	if t == nil {
		return ""
	}
	if t == reflect.TypeFor[time.Time]() {
		return "a time, like 2006-01-02T15:04:05Z"
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if p := reflect.PointerTo(t); p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return "another value"
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a string in base64"
		}
		return "a list"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		most := uint64(1)<<(t.Bits()-1) - 1
		return fmt.Sprintf("a whole number from -%d to %d", most+1, most)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return fmt.Sprintf("a whole number from 0 to %d", ^uint64(0)>>(64-t.Bits()))
	}
	return "another value"
}
