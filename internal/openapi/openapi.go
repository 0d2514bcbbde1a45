// Package openapi reads a description in OpenAPI 3.0, and holds JSON to its schemas: tests of the server hold each answer
// to it. It knows the keywords that our own description has, and refuses a description with others.
package openapi

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Document is a description.
type Document struct {
	Paths      map[string]map[string]*Operation // by path, then by method in small letters
	Components struct{ Schemas map[string]*Schema }
}

// Operation is a method of a path.
type Operation struct {
	ID        string `json:"operationId"`
	Responses map[string]*Response
}

// Response is an answer with some status, by its media type.
type Response struct {
	Content map[string]struct{ Schema *Schema }
}

// dateTime are the digits of a time: package time lets some be away.
var dateTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

// Schema says what JSON has to be.
type Schema struct {
	Ref                  string `json:"$ref"`
	Type, Format         string
	Nullable             bool
	Enum                 []any
	OneOf                []*Schema
	Properties           map[string]*Schema
	AdditionalProperties *Schema // nil: anything
	Required             []string
	Items                *Schema
	Minimum, Maximum     *float64
	MinItems, MaxItems   *int
	MaxLength            *int
	Description          string
	Default, Example     any

	never bool // of the schema false
	all   map[string]*Schema
}

// UnmarshalJSON refuses keywords that are not known, as they would hold nothing.
func (s *Schema) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case "true", "false":
		s.never, s.Nullable = text[0] == 'f', true
		return nil
	}
	type plain Schema
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode((*plain)(s)); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "object", "array", "string", "integer", "boolean"}, s.Type) {
		return fmt.Errorf("there is no type %q", s.Type)
	}
	if !slices.Contains([]string{"", "date-time", "byte", "binary", "int64"}, s.Format) {
		return fmt.Errorf("the format %q is not known", s.Format)
	}
	return nil
}

// Parse reads a description.
func Parse(text []byte) (*Document, error) {
	var d Document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	for name, s := range d.Components.Schemas {
		if err := d.bind(s); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for path, methods := range d.Paths {
		for method, op := range methods {
			for status, r := range op.Responses {
				for media, content := range r.Content {
					if err := d.bind(content.Schema); err != nil {
						return nil, fmt.Errorf("%s %s, %s as %s: %w", method, path, status, media, err)
					}
				}
			}
		}
	}
	return &d, nil
}

// bind refuses references that lead nowhere.
func (d *Document) bind(s *Schema) error {
	if s == nil {
		return nil
	}
	s.all = d.Components.Schemas
	if s.Ref != "" && s.target() == nil {
		return fmt.Errorf("there is no %s", s.Ref)
	}
	for _, below := range slices.Concat(s.OneOf, slices.Collect(maps.Values(s.Properties)), []*Schema{s.AdditionalProperties, s.Items}) {
		if err := d.bind(below); err != nil {
			return err
		}
	}
	return nil
}

func (s *Schema) target() *Schema { return s.all[strings.TrimPrefix(s.Ref, "#/components/schemas/")] }

// Resolve is the schema that this one refers to, or itself.
func (s *Schema) Resolve() *Schema {
	for s.Ref != "" {
		s = s.target()
	}
	return s
}

// Answer is what an operation says of a status, or of all that begin as it does.
func (o *Operation) Answer(status int) *Response {
	text := strconv.Itoa(status)
	return cmp.Or(o.Responses[text], o.Responses[text[:1]+"XX"])
}

// Of is the schema of a content type: of it itself, without its parameters, of its kind, or of all.
func (r *Response) Of(contentType string) *Schema {
	media, _, _ := strings.Cut(contentType, ";")
	kind, _, _ := strings.Cut(media, "/")
	return cmp.Or(r.Content[contentType].Schema, r.Content[media].Schema, r.Content[kind+"/*"].Schema, r.Content["*/*"].Schema)
}

// Check finds where a value, as encoding/json reads it into an any, is not what a schema says.
func (s *Schema) Check(v any) []string { return s.check(v, "") }

func (s *Schema) check(v any, at string) (faults []string) {
	s = s.Resolve()
	refuse := func(format string, args ...any) {
		faults = append(faults, fmt.Sprintf("%s: ", cmp.Or(at, "/"))+fmt.Sprintf(format, args...))
	}
	if s.never {
		refuse("there may be nothing")
		return faults
	}
	if v == nil {
		if !s.Nullable {
			refuse("it is null")
		}
		return faults
	}
	if len(s.OneOf) > 0 {
		fit := 0
		for _, one := range s.OneOf {
			if len(one.check(v, at)) == 0 {
				fit++
			}
		}
		if fit != 1 {
			refuse("it fits %d of oneOf", fit)
		}
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
		refuse("it is %v, none of %v", v, s.Enum)
	}
	if is := typeOf(v); s.Type != "" && s.Type != is {
		refuse("it is %s, want %s", is, s.Type)
		return faults
	}
	switch v := v.(type) {
	case float64:
		if s.Minimum != nil && v < *s.Minimum || s.Maximum != nil && v > *s.Maximum {
			refuse("%v is too small or too large", v)
		}
		if s.Format == "int64" && (v < math.MinInt64 || v > math.MaxInt64) {
			refuse("%v is no int64", v)
		}
	case string:
		if s.MaxLength != nil && utf8.RuneCountInString(v) > *s.MaxLength {
			refuse("it is longer than %d characters", *s.MaxLength)
		}
		switch s.Format {
		case "date-time":
			if _, err := time.Parse(time.RFC3339, v); err != nil || !dateTime.MatchString(v) {
				refuse("%q is no time", v)
			}
		case "byte":
			if _, err := base64.StdEncoding.DecodeString(v); err != nil {
				refuse("%v", err)
			}
		}
	case []any:
		if s.MinItems != nil && len(v) < *s.MinItems || s.MaxItems != nil && len(v) > *s.MaxItems {
			refuse("%d items are too few or too many", len(v))
		}
		for i, e := range v {
			if s.Items != nil {
				faults = append(faults, s.Items.check(e, fmt.Sprintf("%s/%d", at, i))...)
			}
		}
	case map[string]any:
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				refuse("it has no %s", name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if is := cmp.Or(s.Properties[name], s.AdditionalProperties); is != nil {
				faults = append(faults, is.check(v[name], at+"/"+name)...)
			}
		}
	}
	return faults
}

func typeOf(v any) string {
	switch v := v.(type) {
	case bool:
		return "boolean"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}
