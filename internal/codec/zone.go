package codec

// This file keeps the zone of the process out of decoded values. A time whose offset is, by chance, that of the process's own zone is decoded
// with the location time.Local. Its arithmetic over a change of the clocks, its text and its name would then differ where the run goes on.

import (
	"encoding"
	"encoding/json"
	"reflect"
	"sync"
	"time"
	"unsafe"
)

var timeType = reflect.TypeFor[time.Time]()

// FixZones gives each time in *v whose location is time.Local the fixed zone of its offset, as decoding elsewhere gives it.
func FixZones(v any) {
	if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && !p.IsNil() && holdsTime(p.Type(), false) {
		zones{}.fix(p, false)
	}
}

// zones are the pointers, slices and maps that a walk has followed: a type that decodes itself may make circles of them.
type zones map[followed]bool

type followed struct {
	at  unsafe.Pointer
	len int
	typ reflect.Type
}

// fix reports whether it changed v. own: v belongs to a type that decodes itself, so that its unexported fields and its interfaces may hold times.
func (z zones) fix(v reflect.Value, own bool) (changed bool) {
	t := v.Type()
	switch {
	case !holdsTime(t, own):
		return false
	case isTime(t):
		at := v.Convert(timeType).Interface().(time.Time)
		if at.Location() != time.Local {
			return false
		}
		_, offset := at.Zone()
		v.Set(reflect.ValueOf(at.In(time.FixedZone("", offset))).Convert(t))
		return true
	}
	own = own || decodesItself(t)
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			f := v.Field(i)
			f = reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem() // it may be unexported
			changed = z.fix(f, own) || changed
		}
	case reflect.Array:
		for i := range v.Len() {
			changed = z.fix(v.Index(i), own) || changed
		}
	case reflect.Slice:
		for i := range v.Len() {
			if i > 0 || z.first(v, v.Len()) {
				changed = z.fix(v.Index(i), own) || changed
			}
		}
	case reflect.Pointer:
		changed = !v.IsNil() && z.first(v, 1) && z.fix(v.Elem(), own)
	case reflect.Map:
		changed = z.first(v, v.Len()) && z.fixMap(v, own)
	case reflect.Interface:
		if !v.IsNil() && isData(v.Elem().Type(), nil) {
			e := copyOf(v.Elem())
			if changed = z.fix(e, own); changed {
				v.Set(e)
			}
		}
	}
	return changed
}

// fixMap fixes keys and values, which cannot be changed in place.
func (z zones) fixMap(v reflect.Value, own bool) (changed bool) {
	for _, k := range v.MapKeys() {
		key, value := copyOf(k), copyOf(v.MapIndex(k))
		if z.fix(key, own) {
			v.SetMapIndex(k, reflect.Value{})
			v.SetMapIndex(key, value)
			changed = true
		}
		if z.fix(value, own) {
			v.SetMapIndex(key, value)
			changed = true
		}
	}
	return changed
}

// first reports whether the walk comes here for the first time.
func (z zones) first(v reflect.Value, n int) bool {
	at := followed{v.UnsafePointer(), n, v.Type()}
	was := z[at]
	z[at] = true
	return !was
}

func copyOf(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return c
}

// timed has what holdsTime found.
var timed sync.Map

type timedKey struct {
	t   reflect.Type
	own bool
}

// holdsTime reports whether a value of a type may hold times after it was decoded.
func holdsTime(t reflect.Type, own bool) bool {
	if t.Kind() <= reflect.Complex128 || t.Kind() == reflect.String {
		return false
	}
	if known, ok := timed.Load(timedKey{t, own}); ok {
		return known.(bool)
	}
	holds := looksTimed(t, own, map[timedKey]bool{})
	timed.Store(timedKey{t, own}, holds)
	return holds
}

func looksTimed(t reflect.Type, own bool, seen map[timedKey]bool) bool {
	if isTime(t) {
		return true
	}
	if seen[timedKey{t, own}] {
		return false
	}
	seen[timedKey{t, own}] = true
	own = own || decodesItself(t)
	if t.Kind() == reflect.Interface {
		return own // else encoding/json puts nothing there but maps, slices, texts, numbers and booleans
	}
	if own && t.Kind() != reflect.Struct && t.Kind() != reflect.Array && !isData(t, nil) {
		return false
	}
	for _, part := range partsOf(t) {
		if looksTimed(part, own, seen) {
			return true
		}
	}
	return false
}

// isData reports whether a type is plainly data: no interfaces, functions, channels and locks. What a type that decodes itself
// points to may belong to others if it is not.
func isData(t reflect.Type, seen map[reflect.Type]bool) bool {
	switch t.Kind() {
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer, reflect.Uintptr:
		return false
	}
	if isTime(t) || seen[t] {
		return true
	}
	if t.PkgPath() == "sync" || t.PkgPath() == "sync/atomic" {
		return false
	}
	if seen == nil {
		seen = map[reflect.Type]bool{}
	}
	seen[t] = true
	for _, part := range partsOf(t) {
		if !isData(part, seen) {
			return false
		}
	}
	return true
}

// partsOf are the types that a type is made of.
func partsOf(t reflect.Type) (parts []reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return []reflect.Type{t.Elem()}
	case reflect.Map:
		return []reflect.Type{t.Key(), t.Elem()}
	case reflect.Struct:
		for i := range t.NumField() {
			parts = append(parts, t.Field(i).Type)
		}
	}
	return parts
}

// isTime reports whether a type is time.Time, or another type with the same fields.
func isTime(t reflect.Type) bool {
	return t == timeType || t.Kind() == reflect.Struct && t.ConvertibleTo(timeType)
}

// decodesItself reports whether a type has code of its own for JSON.
func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}
