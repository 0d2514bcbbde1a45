// Package schema says in JSON Schema (2020-12) what JSON a Go type takes and what it makes, and holds JSON against such a schema.
//
// What it makes follows encoding/json to the letter, as that is what decides in the end: see [Of]. It is no validator of any schema: it knows the keywords that it
// makes, and what it does not know refuses nothing.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stepwell/stepwell/world"
)

// MaxBytes is the most that a schema, and all of those of one definition, may have as JSON.
const MaxBytes = world.MaxSchemas

// Schema is a JSON Schema. The zero value takes everything.
type Schema struct {
	Ref                  string             `json:"$ref,omitempty"`  // of $defs alone
	Type                 Types              `json:"type,omitempty"`  // empty: any
	AnyOf                []*Schema          `json:"anyOf,omitempty"` // of what is made: it is shown, and not checked
	Format               string             `json:"format,omitempty"`
	Description          string             `json:"description,omitempty"`
	ContentEncoding      string             `json:"contentEncoding,omitempty"`
	ContentMediaType     string             `json:"contentMediaType,omitempty"`
	ContentSchema        *Schema            `json:"contentSchema,omitempty"` // of the JSON within a text
	Properties           Properties         `json:"properties,omitempty"`
	Required             []string           `json:"required,omitempty"` // of what is made; what is taken needs nothing
	PropertyNames        *Schema            `json:"propertyNames,omitempty"`
	AdditionalProperties *Schema            `json:"additionalProperties,omitempty"`
	PrefixItems          []*Schema          `json:"prefixItems,omitempty"`
	Items                *Schema            `json:"items,omitempty"`
	Defs                 map[string]*Schema `json:"$defs,omitempty"` // of the root
}

// Types are the JSON types that a value may have: one alone is a text in JSON.
type Types []string

// MarshalJSON writes one type as a text, several as a list.
func (t Types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// UnmarshalJSON reads both.
func (t *Types) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = Types{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// Property is a member of an object.
type Property struct {
	Name   string
	Schema *Schema
}

// Properties are the members of an object, in the order of the type's fields.
type Properties []Property

// MarshalJSON writes them as an object.
func (p Properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range p {
		name, err := json.Marshal(p[i].Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(p[i].Schema)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads an object, and keeps its order.
func (p *Properties) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return errors.Join(err, errors.New("properties is not an object"))
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		one := Property{Schema: &Schema{}}
		one.Name, _ = name.(string)
		if err := d.Decode(one.Schema); err != nil {
			return err
		}
		*p = append(*p, one)
	}
	return nil
}

// find is the member of a name, as encoding/json finds it: the very name first, then one that differs in case alone.
func (p Properties) find(name string) *Schema {
	for i := range p {
		if p[i].Name == name {
			return p[i].Schema
		}
	}
	for i := range p {
		if strings.EqualFold(p[i].Name, name) {
			return p[i].Schema
		}
	}
	return nil
}

// UnmarshalJSON reads a schema; true and false, which are schemas too, take everything here.
func (s *Schema) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case "true", "false":
		return nil
	case "null":
		return errors.New("null is not a schema")
	}
	type plain Schema
	return json.Unmarshal(data, (*plain)(s))
}

// Accepts reports whether a value may have a JSON type, by what the schema itself says.
func (s *Schema) Accepts(typ string) bool { return len(s.Type) == 0 || slices.Contains(s.Type, typ) }

// Parse reads a schema that somebody else made, or that was kept. One that is damaged, too large, or leads nowhere is an error, and never a danger to who checks with it.
func Parse(data []byte) (*Schema, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("the schema has %d bytes, the most is %d", len(data), MaxBytes)
	}
	s := &Schema{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("the schema is damaged: %w", err)
	}
	if err := s.bound(s.Defs); err != nil {
		return nil, err
	}
	for name, def := range s.Defs {
		if def == nil {
			return nil, fmt.Errorf("the schema is damaged: $defs has no %q", name)
		}
		if err := def.bound(s.Defs); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// bound refuses references to what is not there.
func (s *Schema) bound(defs map[string]*Schema) error {
	if s.Ref != "" && defs[refName(s.Ref)] == nil {
		return fmt.Errorf("the schema refers to %.100q, which it does not have", s.Ref)
	}
	below := append([]*Schema{s.ContentSchema, s.PropertyNames, s.AdditionalProperties, s.Items}, s.PrefixItems...)
	for i := range s.Properties {
		below = append(below, s.Properties[i].Schema)
	}
	for _, b := range below {
		if b == nil {
			continue
		}
		if err := b.bound(defs); err != nil {
			return err
		}
	}
	return nil
}

const defsPrefix = "#/$defs/"

// refName is the definition that a reference names; "": none.
func refName(ref string) string {
	name, ok := strings.CutPrefix(ref, defsPrefix)
	if !ok {
		return ""
	}
	return name
}

// Part is a part of a schema as one of its own: with what it refers to.
func (s *Schema) Part(part *Schema) *Schema {
	is := *part.resolve(s)
	is.Defs = s.Defs
	return &is
}

// resolve follows references, a bounded number of them.
func (s *Schema) resolve(root *Schema) *Schema {
	for range 16 {
		def := root.Defs[refName(s.Ref)]
		if s.Ref == "" || def == nil {
			break
		}
		s = def
	}
	return s
}
