package main

// This file makes TypedDicts of schemas. Python 3.10 has no NotRequired: what has both is two classes, of which one
// inherits the other.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// schema is as much of OpenAPI's as the description uses.
type schema struct {
	Ref         string             `json:"$ref"`
	Type        string             `json:"type"`
	Description string             `json:"description"`
	Enum        []string           `json:"enum"`
	Properties  map[string]*schema `json:"properties"`
	Required    []string           `json:"required"`
	Items       *schema            `json:"items"`
	Additional  json.RawMessage    `json:"additionalProperties"` // a schema, or false
	OneOf       []*schema          `json:"oneOf"`
	Nullable    bool               `json:"nullable"`
}

// content is a body, by its media type.
type content map[string]struct {
	Schema schema `json:"schema"`
}

// api is the description.
type api struct {
	Paths map[string]map[string]struct {
		RequestBody struct {
			Content content `json:"content"`
		} `json:"requestBody"`
		Responses map[string]struct {
			Content content `json:"content"`
		} `json:"responses"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`
}

// notForClients are paths of other programs: workers, and Workflow DevKit.
var notForClients = []string{"/v1/world", "/wdk/"}

const head = `# Code generated from server/openapi.json by internal/tools/clientpython/typeddicts. DO NOT EDIT.
"""What requests and answers of the REST API have, as types: each is a plain dict when it runs."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union
`

// generator writes each type once, behind those that its definition needs.
type generator struct {
	schemas map[string]*schema
	begun   map[string]bool
	classes bytes.Buffer
	aliases bytes.Buffer // behind the classes: they are evaluated
}

// generate is the Python file.
func generate(description []byte) ([]byte, error) {
	var a api
	if err := json.Unmarshal(description, &a); err != nil {
		return nil, err
	}
	g := &generator{schemas: a.Components.Schemas, begun: map[string]bool{}}
	for _, path := range slices.Sorted(maps.Keys(a.Paths)) {
		if slices.ContainsFunc(notForClients, func(p string) bool { return strings.HasPrefix(path, p) }) {
			continue
		}
		for _, method := range slices.Sorted(maps.Keys(a.Paths[path])) {
			o := a.Paths[path][method]
			bodies := []content{o.RequestBody.Content}
			for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
				bodies = append(bodies, o.Responses[status].Content)
			}
			for _, body := range bodies {
				for _, media := range slices.Sorted(maps.Keys(body)) {
					if ref := body[media].Schema.Ref; ref != "" {
						if _, err := g.refer(ref); err != nil {
							return nil, err
						}
					}
				}
			}
		}
	}
	return slices.Concat([]byte(head), g.classes.Bytes(), []byte("\n"), g.aliases.Bytes()), nil
}

// refer returns the name of a schema, and defines it where nobody has.
func (g *generator) refer(ref string) (string, error) {
	name := strings.TrimPrefix(ref, "#/components/schemas/")
	s := g.schemas[name]
	if s == nil {
		return "", fmt.Errorf("there is no schema %q", ref)
	}
	if g.begun[name] {
		return name, nil
	}
	g.begun[name] = true
	if s.Properties != nil {
		return name, g.class(name, s)
	}
	typ, err := g.typeOf(s, name)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&g.aliases, "\n%s%s = %s\n", remark("", s.Description), name, typ)
	return name, nil
}

// typeOf is a schema as Python says it; one with members of its own gets the name.
func (g *generator) typeOf(s *schema, name string) (typ string, err error) {
	switch {
	case s.Ref != "":
		return g.refer(s.Ref)
	case len(s.OneOf) > 0:
		var of []string
		for i, one := range s.OneOf {
			t, err := g.typeOf(one, fmt.Sprintf("%s%d", name, i+1))
			if err != nil {
				return "", err
			}
			of = append(of, t)
		}
		typ = "Union[" + strings.Join(of, ", ") + "]"
	case len(s.Enum) > 0:
		var of []string
		for _, value := range s.Enum {
			of = append(of, strconv.Quote(value))
		}
		typ = "Literal[" + strings.Join(of, ", ") + "]"
	case s.Properties != nil:
		typ, err = name, g.class(name, s)
	case s.Type == "array":
		typ, err = g.typeOf(s.Items, name)
		typ = "List[" + typ + "]"
	case s.Type == "object":
		of := &schema{}
		if bytes.HasPrefix(s.Additional, []byte("{")) {
			err = json.Unmarshal(s.Additional, of)
		}
		if err == nil {
			typ, err = g.typeOf(of, name)
		}
		typ = "Dict[str, " + typ + "]"
	case s.Type == "":
		return "Any", nil
	default:
		var known bool
		if typ, known = scalars[s.Type]; !known {
			return "", fmt.Errorf("%s: there is no type %q", name, s.Type)
		}
	}
	if s.Nullable {
		typ = "Optional[" + typ + "]"
	}
	return typ, err
}

var scalars = map[string]string{"string": "str", "integer": "int", "number": "float", "boolean": "bool"}

// keywords are names that no member of a class can have.
var keywords = strings.Fields("and as assert async await break class continue def del elif else except finally for from " +
	"global if import in is lambda nonlocal not or pass raise return try while with yield False None True")

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// class writes the class of an object: behind the classes of its members that have no name.
func (g *generator) class(name string, s *schema) error {
	var required, optional, bases []string
	var spelled strings.Builder // bases for members whose names are none
	for _, member := range slices.Sorted(maps.Keys(s.Properties)) {
		typ, err := g.typeOf(s.Properties[member], name+strings.ToUpper(member[:1])+member[1:])
		if err != nil {
			return err
		}
		must := slices.Contains(s.Required, member)
		if !identifier.MatchString(member) || slices.Contains(keywords, member) {
			base := fmt.Sprintf("_%sNamed%d", name, len(bases))
			total := map[bool]string{true: "True", false: "False"}[must]
			fmt.Fprintf(&spelled, "\n\n%s = TypedDict(%q, {%q: %q}, total=%s)\n", base, base, member, typ, total)
			bases = append(bases, base)
			continue
		}
		line := remark("    ", s.Properties[member].Description) + "    " + member + ": " + typ + "\n"
		if must {
			required = append(required, line)
		} else {
			optional = append(optional, line)
		}
	}
	g.classes.WriteString(spelled.String())
	if len(required) > 0 && len(optional) > 0 {
		fmt.Fprintf(&g.classes, "\n\nclass _%sRequired(TypedDict):\n%s", name, strings.Join(required, ""))
		bases = append(bases, "_"+name+"Required")
		required = nil
	}
	if len(bases) == 0 {
		bases = []string{"TypedDict"}
	}
	if len(required) == 0 {
		bases = append(bases, "total=False")
	}
	fmt.Fprintf(&g.classes, "\n\nclass %s(%s):\n", name, strings.Join(bases, ", "))
	if s.Description != "" {
		fmt.Fprintf(&g.classes, "    \"\"\"%s\"\"\"\n\n", strings.ReplaceAll(s.Description, `\`, `\\`))
	}
	if len(required)+len(optional) == 0 && s.Description == "" {
		optional = []string{"    pass\n"}
	}
	g.classes.WriteString(strings.Join(append(required, optional...), ""))
	return nil
}

// remark is a description as comments of 120 columns at most.
func remark(indent, text string) string {
	var b strings.Builder
	line := indent + "#"
	for _, word := range strings.Fields(text) {
		if len([]rune(line))+1+len([]rune(word)) > 120 {
			b.WriteString(line + "\n")
			line = indent + "#"
		}
		line += " " + word
	}
	if line != indent+"#" {
		b.WriteString(line + "\n")
	}
	return b.String()
}
