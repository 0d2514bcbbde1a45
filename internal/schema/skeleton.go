package schema

// This file tells people what a schema takes: a value to fill in, and its members in words.

import (
	"bytes"
	"encoding/json"
)

// someTime stands for a time in a skeleton.
const someTime = "2026-05-01T12:00:00Z"

// deepest is how deep a skeleton goes; what contains itself ends there, or sooner.
const deepest = 6

// Skeleton is a value that fits, to be filled in: all members, one element of each array, and nothing in them.
func (s *Schema) Skeleton() []byte {
	sk := skeleton{root: s, within: map[*Schema]bool{}}
	var out bytes.Buffer
	if err := json.Indent(&out, sk.of(s, 0), "", "  "); err != nil {
		return []byte("null")
	}
	return out.Bytes()
}

type skeleton struct {
	root   *Schema
	within map[*Schema]bool // what is being made: it may contain itself
	bytes  int
}

func (sk *skeleton) of(s *Schema, depth int) []byte {
	if s = s.resolve(sk.root); s == nil || len(s.Type) == 0 {
		return []byte("null")
	}
	switch s.Type[0] {
	case "boolean":
		return []byte("false")
	case "integer", "number":
		return []byte("0")
	case "string":
		switch {
		case s.Format == "date-time":
			return []byte(`"` + someTime + `"`)
		case s.ContentSchema != nil:
			inner := sk.of(s.ContentSchema, deepest)
			text, err := json.Marshal(string(inner))
			if err != nil {
				return []byte(`""`)
			}
			return text
		}
		return []byte(`""`)
	case "array":
		if len(s.PrefixItems) > 0 && !sk.stops(s, s.PrefixItems[0], depth) {
			defer sk.enter(s)()
			b := []byte("[")
			for i, is := range s.PrefixItems {
				if i > 0 {
					b = append(b, ',')
				}
				item := sk.of(is, depth+1)
				if b, sk.bytes = append(b, item...), sk.bytes+len(item); sk.bytes > MaxBytes {
					break
				}
			}
			return append(b, ']')
		}
		if s.Items == nil || sk.stops(s, s.Items, depth) {
			return []byte("[]")
		}
		defer sk.enter(s)()
		return append(append([]byte("["), sk.of(s.Items, depth+1)...), ']')
	case "object":
		return sk.object(s, depth)
	}
	return []byte("null")
}

// stops reports whether a part is left out: it would be too deep, too large, or has begun already.
func (sk *skeleton) stops(s, part *Schema, depth int) bool {
	return depth >= deepest || sk.bytes > MaxBytes || sk.within[s] || sk.within[part.resolve(sk.root)]
}

func (sk *skeleton) enter(s *Schema) (leave func()) {
	sk.within[s] = true
	return func() { delete(sk.within, s) }
}

func (sk *skeleton) object(s *Schema, depth int) []byte {
	b := []byte("{")
	if sk.within[s] || depth >= deepest {
		return append(b, '}')
	}
	defer sk.enter(s)()
	for i := range s.Properties {
		p := &s.Properties[i]
		if sk.stops(p.Schema, p.Schema, depth) {
			continue
		}
		name, err := json.Marshal(p.Name)
		if err != nil {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		before := len(b)
		b = append(append(append(b, name...), ':'), sk.of(p.Schema, depth+1)...)
		if sk.bytes += len(b) - before; sk.bytes > MaxBytes {
			break
		}
	}
	return append(b, '}')
}

// Line is a member of what a schema takes, in words.
type Line struct {
	Path    string // customer.items[].price; "": the whole
	Accepts string // a text
}

// mostLines is how many members are told.
const mostLines = 200

// Lines tell the members of what a schema takes.
func (s *Schema) Lines() []Line {
	l := lines{root: s, within: map[*Schema]bool{}}
	l.tell(s, "")
	return l.all
}

type lines struct {
	root   *Schema
	within map[*Schema]bool
	all    []Line
}

func (l *lines) tell(s *Schema, path string) {
	s = s.resolve(l.root)
	if len(l.all) >= mostLines {
		return
	}
	accepts := s.Words()
	if l.within[s] {
		accepts += ", as above"
	}
	l.all = append(l.all, Line{path, accepts})
	if l.within[s] {
		return
	}
	l.within[s] = true
	defer delete(l.within, s)
	for i := range s.Properties {
		name := s.Properties[i].Name
		if path != "" {
			name = path + "." + name
		}
		l.tell(s.Properties[i].Schema, name)
	}
	if s.AdditionalProperties != nil {
		l.tell(s.AdditionalProperties, path+".*")
	}
	if len(s.PrefixItems) > 0 {
		l.tell(s.PrefixItems[0], path+"[]")
	}
	if s.Items != nil && s.ContentEncoding == "" {
		l.tell(s.Items, path+"[]")
	}
}
