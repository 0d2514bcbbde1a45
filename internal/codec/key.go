package codec

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/stepwell/stepwell/world"
)

// KeyOf makes a key from JSON by a function of what it is in Go.
func KeyOf[In any](of func(in In) string) func(input []byte) (string, error) {
	return func(input []byte) (key string, err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("%w: the function of the key panicked: %v", world.ErrInvalid, v)
			}
		}()
		var in In
		if err := Decode(input, &in); err != nil {
			return "", err
		}
		return of(in), nil
	}
}

// Has reports whether the JSON of a type may have a text, a number or a truth at a path of names with dots between.
func Has(t reflect.Type, path string) bool {
	if strings.Contains("."+path+".", "..") {
		return true // it is no path, and is refused as none
	}
	name, rest, more := strings.Cut(path, ".")
	for t.Kind() == reflect.Pointer && !says(t) {
		t = t.Elem()
	}
	switch {
	case says(t) || t.Kind() == reflect.Interface || t == reflect.TypeFor[json.RawMessage]():
		return true // only the value knows
	case t.Kind() == reflect.Map:
		t = t.Elem()
	case t.Kind() == reflect.Struct:
		f, ok := field(t, name)
		if !ok {
			return false
		}
		t = f
	default:
		return false
	}
	if more {
		return Has(t, rest)
	}
	for t.Kind() == reflect.Pointer && !says(t) {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Array:
		return says(t) || t == reflect.TypeFor[json.RawMessage]() || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
	}
	return true
}

// HasKey reports whether the JSON of a type may have a key.
func HasKey(t reflect.Type, name string) bool {
	for t.Kind() == reflect.Pointer && !says(t) {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || says(t) {
		return true
	}
	_, ok := field(t, name)
	return ok
}

// says reports whether a type says itself how it is encoded.
func says(t reflect.Type) bool {
	for _, own := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()} {
		if t.Implements(own) || t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(own) {
			return true
		}
	}
	return false
}

// field is the type of a field by its name in JSON.
func field(t reflect.Type, name string) (reflect.Type, bool) {
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && (tag == name || tag == "" && !f.Anonymous && f.Name == name) && f.Tag.Get("json") != "-" {
			return f.Type, true
		}
	}
	return nil, false
}
