package schema

// This file makes schemas of Go types. No library does it as it has to be here: what a schema refuses, encoding/json must refuse too, and the libraries that there
// are take bytes for lists of numbers, or null for a fault, do not know methods of a type's own, or end at a type that contains itself.

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Of is the schema of what a type takes: whatever encoding/json decodes into it without an error fits. So members may be missing, others may be there, and null may
// stand for each value within, as it means nothing there. A value whose type has methods of its own for JSON takes anything, but for time.Time. nil: there is none, as
// it would be too large. It is made once for a type, and not to be changed.
func Of(t reflect.Type) *Schema { return cached(t, false) }

// Made is the schema of what encoding/json makes of values of a type: null where it can be nil, and all members that are always there are required.
func Made(t reflect.Type) *Schema { return cached(t, true) }

type key struct {
	typ  reflect.Type
	made bool
}

var known sync.Map // key: *Schema

func cached(t reflect.Type, made bool) *Schema {
	if s, ok := known.Load(key{t, made}); ok {
		return s.(*Schema)
	}
	m := maker{made: made, names: map[reflect.Type]string{}, defs: map[string]*Schema{}}
	s := m.root(t)
	if data, err := json.Marshal(s); err != nil || len(data) > MaxBytes {
		s = nil
	}
	kept, _ := known.LoadOrStore(key{t, made}, s)
	return kept.(*Schema)
}

// maker makes one schema.
type maker struct {
	made  bool
	names map[reflect.Type]string // of types that are in defs
	defs  map[string]*Schema
}

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	jsonMarshaler   = reflect.TypeFor[json.Marshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	timeType        = reflect.TypeFor[time.Time]()
	durationType    = reflect.TypeFor[time.Duration]()
	numberType      = reflect.TypeFor[json.Number]()
)

// root is the schema of a whole value. The codec refuses null for what has no nil, where it is a whole value.
func (m *maker) root(t reflect.Type) *Schema {
	s := m.shape(t)
	if m.holdsNull(t) {
		nullable(s)
	}
	if len(m.defs) > 0 {
		s.Defs = m.defs
	}
	return s
}

// holdsNull is the rule of the codec.
func (m *maker) holdsNull(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return true
	}
	if m.made {
		return false
	}
	return reflect.PointerTo(t).Implements(jsonUnmarshaler) || t.Kind() == reflect.Struct && t.NumField() == 0
}

// nullable lets null be.
func nullable(s *Schema) {
	if len(s.Type) > 0 && !slices.Contains(s.Type, "null") {
		s.Type = append(s.Type, "null")
	}
}

// within is the schema of a value inside of another: of a type with a name it is a reference.
func (m *maker) within(t reflect.Type) *Schema {
	null := !m.made
	for t.Kind() == reflect.Pointer && t.Name() == "" {
		t, null = t.Elem(), true
	}
	if !named(t) || m.custom(t) != nil {
		s := m.shape(t)
		if null || m.holdsNull(t) {
			nullable(s)
		}
		return s
	}
	name, ok := m.names[t]
	if !ok {
		name = m.name(t)
		m.names[t] = name
		def := &Schema{}
		m.defs[name] = def // it may contain itself
		*def = *m.shape(t)
		if !m.made || m.holdsNull(t) {
			nullable(def)
		}
	}
	if s := (&Schema{Ref: defsPrefix + name}); !m.made || !null || m.holdsNull(t) {
		return s
	}
	return &Schema{AnyOf: []*Schema{{Ref: defsPrefix + name}, {Type: Types{"null"}}}} // a pointer
}

// named reports whether a type has a name and parts: it may contain itself.
func named(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct, reflect.Slice, reflect.Array, reflect.Map, reflect.Pointer:
		return t.Name() != ""
	}
	return false
}

// name is a name for a type in $defs.
func (m *maker) name(t reflect.Type) string {
	plain := strings.Map(func(r rune) rune {
		if r == '_' || r == '.' || r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, t.Name())
	name := plain
	for n := 2; m.defs[name] != nil; n++ {
		name = plain + strconv.Itoa(n)
	}
	return name
}

// custom is the schema of a type whose methods decide what it is as JSON; nil: they do not.
func (m *maker) custom(t reflect.Type) *Schema {
	asJSON, asText := jsonUnmarshaler, textUnmarshaler
	if m.made {
		asJSON, asText = jsonMarshaler, textMarshaler
	}
	p := reflect.PointerTo(t)
	switch {
	case t == timeType:
		return &Schema{Type: Types{"string"}, Format: "date-time"}
	case t.Kind() == reflect.Interface:
		return &Schema{}
	case p.Implements(asJSON):
		return &Schema{}
	case t.Name() == "" && t.Kind() == reflect.Struct && p.Implements(asText): // by what it embeds: encoding/json does not look for it everywhere
		return &Schema{}
	case p.Implements(asText):
		return &Schema{Type: Types{"string"}}
	case t == numberType:
		return &Schema{Type: Types{"number", "string"}}
	}
	return nil
}

// shape is the schema of a type, null aside.
func (m *maker) shape(t reflect.Type) *Schema {
	for range 8 { // a pointer to pointers
		if t.Kind() != reflect.Pointer {
			break
		}
		if s := m.custom(t); s != nil {
			return s
		}
		t = t.Elem()
	}
	if s := m.custom(t); s != nil {
		return s
	}
	switch k := t.Kind(); k {
	case reflect.Bool:
		return &Schema{Type: Types{"boolean"}}
	case reflect.String:
		return &Schema{Type: Types{"string"}}
	case reflect.Float32, reflect.Float64:
		return &Schema{Type: Types{"number"}, Format: []string{"float", "double"}[k-reflect.Float32]}
	case reflect.Slice, reflect.Array:
		return m.list(t)
	case reflect.Map:
		return m.table(t)
	case reflect.Struct:
		return m.object(t)
	}
	if format := integer(t); format != "" {
		s := &Schema{Type: Types{"integer"}, Format: format}
		if t == durationType {
			s.Description = "nanoseconds"
		}
		return s
	}
	return &Schema{} // a channel, a function: it never decodes, and the code will say so
}

// integer is the format of a type that is a whole number, such as int64.
func integer(t reflect.Type) string {
	switch k := t.Kind(); {
	case k >= reflect.Int && k <= reflect.Int64:
		return fmt.Sprintf("int%d", t.Bits())
	case k >= reflect.Uint && k <= reflect.Uintptr:
		return fmt.Sprintf("uint%d", t.Bits())
	}
	return ""
}

// mostPrefix is how many elements of an array are told.
const mostPrefix = 16

// list is the schema of a slice or an array. Bytes are a text, and a list of numbers is taken too. An array takes any number: what is over is dropped unseen.
func (m *maker) list(t reflect.Type) *Schema {
	s := &Schema{Type: Types{"array"}}
	element := m.within(t.Elem())
	if t.Kind() == reflect.Array {
		for range min(t.Len(), mostPrefix) {
			s.PrefixItems = append(s.PrefixItems, element)
		}
		return s
	}
	if s.Items = element; t.Elem().Kind() != reflect.Uint8 {
		return s
	}
	p := reflect.PointerTo(t.Elem())
	switch {
	case !m.made:
		s.Type, s.ContentEncoding = Types{"string", "array"}, "base64"
	case !p.Implements(jsonMarshaler) && !p.Implements(textMarshaler):
		return &Schema{Type: Types{"string"}, ContentEncoding: "base64"}
	}
	return s
}

func (m *maker) table(t reflect.Type) *Schema {
	s := &Schema{Type: Types{"object"}, AdditionalProperties: m.within(t.Elem())}
	k := t.Key()
	asText := textUnmarshaler
	if m.made {
		asText = textMarshaler
	}
	switch own := reflect.PointerTo(k).Implements(asText); {
	case own || k.Kind() == reflect.String:
	case integer(k) != "":
		s.PropertyNames = &Schema{Format: integer(k)}
	default:
		return &Schema{} // it never decodes
	}
	return s
}

func (m *maker) object(t reflect.Type) *Schema {
	s := &Schema{Type: Types{"object"}}
	for _, f := range fieldsOf(t) {
		is := m.within(f.typ)
		if f.quoted {
			s.Properties = append(s.Properties, Property{f.name, m.quoted(is, f.typ)})
			continue
		}
		s.Properties = append(s.Properties, Property{f.name, is})
		if m.made && f.always {
			s.Required = append(s.Required, f.name)
		}
	}
	return s
}

// quoted is the schema of a value that stands in a text, by the option "string" of its tag.
func (m *maker) quoted(s *Schema, t reflect.Type) *Schema {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if m.custom(t) != nil {
		return &Schema{}
	}
	return &Schema{Type: Types{"string", "null"}, ContentMediaType: "application/json", ContentSchema: s}
}

// member is a field that encoding/json sees.
type member struct {
	name   string
	tagged bool
	index  []int
	typ    reflect.Type
	quoted bool
	always bool // it is in all that is made
}

// fieldsOf lists the fields of a struct that encoding/json sees, in their order: those of embedded structs too, where no other hides them.
func fieldsOf(t reflect.Type) []member {
	type level struct {
		typ    reflect.Type
		index  []int
		always bool
	}
	next, counts := []level{{typ: t, always: true}}, map[reflect.Type]int{}
	visited := map[reflect.Type]bool{}
	var all []member
	for len(next) > 0 {
		current, count := next, counts
		next, counts = nil, map[reflect.Type]int{}
		for _, l := range current {
			if visited[l.typ] {
				continue
			}
			visited[l.typ] = true
			for i := range l.typ.NumField() {
				f, inner, ok := memberOf(l.typ.Field(i))
				if !ok {
					continue
				}
				f.index, f.always = append(slices.Clone(l.index), i), f.always && l.always
				if inner == nil {
					all = append(all, f)
					if count[l.typ] > 1 { // it is there twice, and so hides itself
						all = append(all, f)
					}
					continue
				}
				if counts[inner]++; counts[inner] == 1 {
					next = append(next, level{inner, f.index, l.always && l.typ.Field(i).Type.Kind() != reflect.Pointer})
				}
			}
		}
	}
	return visible(all)
}

// memberOf is what encoding/json makes of a field; inner is the struct whose fields stand in its place.
func memberOf(sf reflect.StructField) (f member, inner reflect.Type, ok bool) {
	tag := sf.Tag.Get("json")
	behind := sf.Type
	if behind.Kind() == reflect.Pointer {
		behind = behind.Elem()
	}
	if tag == "-" || !sf.IsExported() && (!sf.Anonymous || behind.Kind() != reflect.Struct) {
		return f, nil, false
	}
	name, options, _ := strings.Cut(tag, ",")
	if !validName(name) {
		name = ""
	}
	has := func(option string) bool { return slices.Contains(strings.Split(options, ","), option) }
	typ := sf.Type
	if typ.Name() == "" && typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if name == "" && sf.Anonymous && typ.Kind() == reflect.Struct {
		return f, typ, true
	}
	k := typ.Kind()
	f = member{name: cmp.Or(name, sf.Name), tagged: name != "", typ: sf.Type, always: !has("omitempty") && !has("omitzero")}
	f.quoted = has("string") && (k >= reflect.Bool && k <= reflect.Float64 || k == reflect.String)
	return f, nil, true
}

// visible leaves, of the fields with one name, the one that the others do not hide.
func visible(all []member) []member {
	slices.SortStableFunc(all, func(a, b member) int {
		byTag := 0
		if a.tagged != b.tagged {
			byTag = 1
			if a.tagged {
				byTag = -1
			}
		}
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(len(a.index), len(b.index)), byTag, slices.Compare(a.index, b.index))
	})
	var out []member
	for i := 0; i < len(all); {
		n := i + 1
		for n < len(all) && all[n].name == all[i].name {
			n++
		}
		if n == i+1 || len(all[i+1].index) > len(all[i].index) || all[i].tagged != all[i+1].tagged {
			out = append(out, all[i])
		}
		i = n
	}
	slices.SortFunc(out, func(a, b member) int { return slices.Compare(a.index, b.index) })
	return out
}

// validName reports whether encoding/json takes a name from a tag.
func validName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}
