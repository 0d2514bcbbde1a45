package codec

// This file finds what encoding/json drops without a word: entries of a map, where bytes of their keys that are not UTF-8 are replaced, so that two keys may become
// one, and structs none of whose fields it sees. Bytes in other texts that are not UTF-8 are replaced too, by U+FFFD: live code sees that as a replay does.

import (
	"bytes"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/stepwell/stepwell/world"
)

// lost reports what of a value is not in its JSON. Nearly always that tells that nothing is.
func lost(v any, data []byte) error {
	if !bytes.Contains(data, []byte(`\ufffd`)) && !bytes.Contains(data, []byte(`{}`)) {
		return nil
	}
	l := loser{left: 100_000}
	if what := l.find(reflect.ValueOf(v), "", 0); what != "" {
		return &Error{Code: world.CodeEncode, Err: fmt.Errorf("%s does not survive as JSON: %s", target(v), what)}
	}
	return nil
}

// loser looks for the first part that is lost, at most left parts deep and wide. A value that contains itself does not encode, and never comes here.
type loser struct{ left int }

func (l *loser) find(v reflect.Value, path string, depth int) string {
	if l.left--; l.left < 0 || !v.IsValid() || depth > 2000 {
		return ""
	}
	t := v.Type()
	if marshals(t) || v.CanAddr() && marshals(reflect.PointerTo(t)) {
		return ""
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return l.find(v.Elem(), path, depth+1)
	case reflect.Slice, reflect.Array:
		if k := t.Elem().Kind(); k == reflect.Uint8 && v.Kind() == reflect.Slice || k >= reflect.Bool && k <= reflect.Float64 {
			return ""
		}
		for i := range v.Len() {
			if s := l.find(v.Index(i), fmt.Sprintf("%s[%d]", path, i), depth+1); s != "" {
				return s
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if k := it.Key(); k.Kind() == reflect.String && !marshals(k.Type()) && !utf8.ValidString(k.String()) {
				return fmt.Sprintf("%s has the key %q, which is not UTF-8", at(path), k.String())
			}
			if s := l.find(it.Value(), fmt.Sprintf("%s[%v]", path, it.Key()), depth+1); s != "" {
				return s
			}
		}
	case reflect.Struct:
		return l.fields(v, path, depth)
	}
	return ""
}

func (l *loser) fields(v reflect.Value, path string, depth int) string {
	t := v.Type()
	if hidden(t, 0) && !v.IsZero() {
		return fmt.Sprintf("%s has type %s, none of whose fields is exported", at(path), t)
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() && !f.Anonymous || f.Tag.Get("json") == "-" {
			continue
		}
		name := path + "." + f.Name
		if path == "" {
			name = f.Name
		}
		if s := l.find(v.Field(i), name, depth+1); s != "" {
			return s
		}
	}
	return ""
}

// hidden reports whether a struct type has fields, and JSON has none of them, though nothing says that this is meant.
func hidden(t reflect.Type, depth int) bool {
	if depth > 8 { // it embeds itself
		return false
	}
	found := false
	for i := range t.NumField() {
		f := t.Field(i)
		switch inner := f.Type; {
		case f.Tag.Get("json") == "-" || f.Name == "_":
		case f.IsExported():
			return false
		case f.Anonymous:
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct && !hidden(inner, depth+1) {
				return false
			}
			found = true
		default:
			found = true
		}
	}
	return found
}

func marshals(t reflect.Type) bool { return t.Implements(jsonMarshaler) || t.Implements(textMarshaler) }
