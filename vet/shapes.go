package vet

// Shapes: what the values of a type look like in a log, and whether a type can hold those of another.

import (
	"encoding/json"
	"fmt"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// A shape is what encoding/json makes of a text like {"ID":"string","Lines":["string"],"By":{"*":"int"}}: a type of
// texts, numbers and so on is its name, a list has the shape of what is in it, a map that of its values under "*", a
// struct those of its fields. A type that says itself how it is written is its name, and time.Time is "time".

// anything is the shape of what is not looked into.
const anything = "any"

// moment is the shape of a time.Time.
const moment = "time"

// written is the shape of a text in a log, where it may be that of many types.
const written = "text"

// ownShape is the shape of a type that says itself how it is written or read.
func ownShape(t types.Type) string {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	switch _, named := t.(*types.Named); {
	case isNamed(t, "time", "Time"):
		return moment
	case !named, types.IsInterface(t), isNamed(t, "encoding/json", "RawMessage"): // they may be all there is
		return anything
	}
	return types.TypeString(t, (*types.Package).Path)
}

// shapeOf is the shape of a type.
func shapeOf(t types.Type, above []types.Type) any {
	t = types.Unalias(t)
	if slices.Contains(above, t) {
		return anything
	}
	if encodes(t) {
		return ownShape(t)
	}
	above = append(slices.Clone(above), t)
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Name()
	case *types.Pointer:
		return shapeOf(u.Elem(), above)
	case *types.Slice:
		if b, ok := u.Elem().Underlying().(*types.Basic); ok && b.Kind() == types.Byte {
			return "string"
		}
		return []any{shapeOf(u.Elem(), above)}
	case *types.Array:
		return []any{shapeOf(u.Elem(), above)}
	case *types.Map:
		return map[string]any{"*": shapeOf(u.Elem(), above)}
	case *types.Struct:
		all := map[string]any{}
		for name, f := range fieldsOf(u) {
			if f.text {
				all[name] = "string"
				continue
			}
			all[name] = shapeOf(f.typ, above)
		}
		return all
	}
	return anything
}

// field is one that JSON sees.
type field struct {
	typ  types.Type
	text bool // a number that is written as a text
}

// fieldsOf are the fields of a struct by their names in JSON, those of embedded ones too.
func fieldsOf(s *types.Struct) map[string]field {
	all := map[string]field{}
	for i := range s.NumFields() {
		f := s.Field(i)
		name, opts, _ := strings.Cut(reflect.StructTag(s.Tag(i)).Get("json"), ",")
		if name == "-" && opts == "" {
			continue
		}
		if f.Embedded() && name == "" && isStruct(f.Type()) && !encodes(f.Type()) {
			t := f.Type().Underlying()
			if p, ok := t.(*types.Pointer); ok {
				t = p.Elem().Underlying()
			}
			for inner, of := range fieldsOf(t.(*types.Struct)) {
				if _, own := all[inner]; !own {
					all[inner] = of
				}
			}
			continue
		}
		if !f.Exported() {
			continue
		}
		if name == "" {
			name = f.Name()
		}
		all[name] = field{f.Type(), strings.Contains(","+opts+",", ",string,")}
	}
	return all
}

// shapeOfValue is the shape of a value in a log.
func shapeOfValue(v any) any {
	switch v := v.(type) {
	case string:
		return written
	case bool:
		return "bool"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "float64"
		}
		return "integer"
	case []any:
		if len(v) == 0 {
			return []any{anything}
		}
		return []any{shapeOfValue(v[0])}
	case map[string]any:
		all := map[string]any{}
		for name, of := range v {
			all[name] = shapeOfValue(of)
		}
		return all
	}
	return anything
}

// misfit says what values of a shape come to where they are read into a type, or "" where nothing is lost.
func misfit(shape any, t types.Type, path string, above []types.Type) string {
	t = types.Unalias(t)
	if shape == anything || slices.Contains(above, t) {
		return ""
	}
	if what, own := misfitOwn(shape, t, path); own {
		return what
	}
	above = append(slices.Clone(above), t)
	at := placeOf(path)
	is := func(now string) string {
		return fmt.Sprintf("%s was %s and is %s now, which cannot hold it: those runs are blocked as DECODE", at, spoken(shape), now)
	}
	switch u := t.Underlying().(type) {
	case *types.Interface:
		return ""
	case *types.Pointer:
		return misfit(shape, u.Elem(), path, above)
	case *types.Basic:
		if was, ok := shape.(string); !ok || !holdsBasic(u, was) {
			return is("a " + u.Name())
		}
	case *types.Slice, *types.Array:
		elem := u.(interface{ Elem() types.Type }).Elem()
		was, ok := shape.([]any)
		if b, basic := elem.Underlying().(*types.Basic); basic && b.Kind() == types.Byte && (shape == "string" || shape == written) {
			return ""
		}
		if !ok || len(was) != 1 {
			return is("a list")
		}
		return misfit(was[0], elem, path+"[]", above)
	case *types.Map:
		was, ok := shape.(map[string]any)
		if !ok {
			return is("a map")
		}
		for _, name := range slices.Sorted(maps.Keys(was)) {
			if what := misfit(was[name], u.Elem(), path+"."+name, above); what != "" {
				return what
			}
		}
	case *types.Struct:
		return misfitStruct(shape, u, path, at, is, above)
	}
	return ""
}

// misfitOwn is misfit where the types of then or now say themselves how they are written and read.
func misfitOwn(shape any, t types.Type, path string) (what string, own bool) {
	was, _ := shape.(string)
	custom := strings.Contains(was, ".") // a type's name, with its package
	now := ""
	if encodes(t) {
		now = ownShape(t)
	}
	switch {
	case now == "" && !custom:
		return "", false
	case now == anything, now == was, types.IsInterface(t):
		return "", true
	case now == moment && was != written:
		return fmt.Sprintf("%s was %s and is a time.Time now, which cannot hold it: those runs are blocked as DECODE", placeOf(path), spoken(shape)), true
	case custom, was == moment && now != moment:
		if now == "" {
			now = types.TypeString(t, (*types.Package).Path)
		}
		return fmt.Sprintf("%s was %s and is %s now, which may not read what that wrote: keep the type, or give the code a new version", placeOf(path), spoken(shape), now), true
	}
	return "", true // what a type reads, it alone knows
}

// placeOf is a path for people.
func placeOf(path string) string {
	if at := strings.TrimPrefix(path, "."); at != "" {
		return at
	}
	return "it"
}

func misfitStruct(shape any, s *types.Struct, path, at string, is func(string) string, above []types.Type) string {
	was, ok := shape.(map[string]any)
	if !ok {
		return is("a struct")
	}
	now := fieldsOf(s)
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if name == "*" {
			return ""
		}
		f, ok := now[name]
		for other, of := range now {
			if !ok && strings.EqualFold(other, name) {
				f, ok = of, true
			}
		}
		switch {
		case !ok:
			return fmt.Sprintf("%s has no field for %s any more: in those runs it is lost; keep the field, or give the code a new version", at, name)
		case f.text:
			if was[name] != "string" && was[name] != written && was[name] != anything {
				return fmt.Sprintf("%s.%s was %s and is a text now: those runs are blocked as DECODE", at, name, spoken(was[name]))
			}
		default:
			if what := misfit(was[name], f.typ, path+"."+name, above); what != "" {
				return what
			}
		}
	}
	return ""
}

// spoken is a shape for people.
func spoken(shape any) string {
	switch s := shape.(type) {
	case string:
		return "a " + s
	case []any:
		return "a list"
	case map[string]any:
		if _, ok := s["*"]; ok {
			return "a map"
		}
		return "a struct"
	}
	return "something else"
}

// sizes are the bits of numbers without their signs; those of int and uint on all machines.
var sizes = map[string]int{
	"int": 63, "int8": 7, "int16": 15, "int32": 31, "rune": 31, "int64": 63, "uint": 64, "uint8": 8, "byte": 8, "uint16": 16, "uint32": 32, "uint64": 64, "uintptr": 64,
}

// holdsBasic reports whether a basic type can hold all that another wrote.
func holdsBasic(now *types.Basic, was string) bool {
	switch info := now.Info(); {
	case info&types.IsString != 0:
		return was == "string" || was == written || was == moment
	case info&types.IsBoolean != 0:
		return was == "bool"
	case info&types.IsFloat != 0:
		return was == "integer" || sizes[was] > 0 || was == now.Name() || was == "float32" || was == "float64" && now.Kind() == types.Float64
	case info&types.IsInteger != 0:
		if was == "integer" {
			return true
		}
		signs := !strings.HasPrefix(was, "u") && was != "byte"
		return sizes[was] > 0 && sizes[was] <= sizes[now.Name()] && (!signs || info&types.IsUnsigned == 0)
	}
	return true
}
