package codec

// This file finds where in a value the part sits that JSON cannot hold, so that an author need not search for it. It runs only after
// encoding has failed.

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// explain adds the path and Go type of the culprit to an error of encoding/json, where it finds it.
func explain(v any, err error) error {
	f := finder{visited: make(map[visit]bool), left: 100_000}
	if what := f.find(reflect.ValueOf(v), "", 0); what != "" {
		return fmt.Errorf("%s: %w", what, err)
	}
	return err
}

// finder looks for the first part that does not encode, at most left parts deep and wide.
type finder struct {
	visited map[visit]bool
	left    int
}

type visit struct {
	typ reflect.Type
	ptr uintptr
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func (f *finder) find(v reflect.Value, path string, depth int) string {
	if f.left--; f.left < 0 || !v.IsValid() || depth > 2000 {
		return ""
	}
	if t := v.Type(); t.Implements(jsonMarshaler) || t.Implements(textMarshaler) {
		return f.findMarshaler(v, path)
	}
	switch v.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return fmt.Sprintf("%s has type %s", at(path), v.Type())
	case reflect.Float32, reflect.Float64:
		if x := v.Float(); math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Sprintf("%s is %v", at(path), x)
		}
	case reflect.Interface:
		return f.find(v.Elem(), path, depth+1)
	case reflect.Pointer, reflect.Map, reflect.Slice:
		return f.findBehind(v, path, depth)
	case reflect.Array:
		return f.findItems(v, path, depth)
	case reflect.Struct:
		return f.findFields(v, path, depth)
	}
	return ""
}

func (f *finder) findMarshaler(v reflect.Value, path string) string {
	if k := v.Kind(); !v.CanInterface() || (k == reflect.Pointer || k == reflect.Interface) && v.IsNil() {
		return ""
	}
	if _, err := json.Marshal(v.Interface()); err != nil {
		return fmt.Sprintf("%s has type %s, whose own marshaling fails", at(path), v.Type())
	}
	return ""
}

// findBehind follows a reference, and knows one that leads back to itself.
func (f *finder) findBehind(v reflect.Value, path string, depth int) string {
	if v.IsNil() {
		return ""
	}
	key := visit{v.Type(), v.Pointer()}
	if v.Kind() != reflect.Slice || v.Len() > 0 {
		if f.visited[key] {
			return fmt.Sprintf("%s of type %s contains itself", at(path), v.Type())
		}
		f.visited[key] = true
		defer delete(f.visited, key)
	}
	switch v.Kind() {
	case reflect.Pointer:
		return f.find(v.Elem(), path, depth+1)
	case reflect.Slice:
		return f.findItems(v, path, depth)
	}
	if k := v.Type().Key(); !keyEncodes(k) {
		return fmt.Sprintf("%s has keys of type %s", at(path), k)
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	for _, k := range keys {
		if s := f.find(v.MapIndex(k), fmt.Sprintf("%s[%v]", path, k), depth+1); s != "" {
			return s
		}
	}
	return ""
}

func keyEncodes(t reflect.Type) bool {
	switch k := t.Kind(); {
	case k == reflect.String, k >= reflect.Int && k <= reflect.Uintptr:
		return true
	}
	return t.Implements(textMarshaler)
}

func (f *finder) findItems(v reflect.Value, path string, depth int) string {
	for i := range v.Len() {
		if s := f.find(v.Index(i), fmt.Sprintf("%s[%d]", path, i), depth+1); s != "" {
			return s
		}
	}
	return ""
}

func (f *finder) findFields(v reflect.Value, path string, depth int) string {
	for i := range v.NumField() {
		sf := v.Type().Field(i)
		if !sf.IsExported() && !sf.Anonymous || sf.Tag.Get("json") == "-" {
			continue
		}
		if s := f.find(v.Field(i), path+"."+sf.Name, depth+1); s != "" {
			return s
		}
	}
	return ""
}

// at names a path; the value itself has none.
func at(path string) string {
	if path == "" {
		return "the value"
	}
	return path
}
