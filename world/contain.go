package world

import (
	"bytes"
	"encoding/json"
)

// Contains reports whether the JSON document doc contains the JSON pattern, as PostgreSQL's @>
// defines it. An object contains a pattern if it has all of the pattern's keys, with values that
// contain the pattern's values. An array contains a pattern if each element of the pattern is
// contained in one of its elements. Other values must be equal, numbers by value. JSON that does
// not parse contains nothing.
func Contains(doc, pattern []byte) bool {
	d, ok := parse(doc)
	if !ok {
		return false
	}
	p, ok := parse(pattern)
	return ok && contains(d, p)
}

func parse(b []byte) (v any, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	return v, dec.Decode(&v) == nil
}

func contains(doc, pattern any) bool {
	switch p := pattern.(type) {
	case map[string]any:
		d, ok := doc.(map[string]any)
		if !ok {
			return false
		}
		for k, v := range p {
			if dv, has := d[k]; !has || !contains(dv, v) {
				return false
			}
		}
		return true
	case []any:
		d, ok := doc.([]any)
		if !ok {
			return false
		}
		for _, v := range p {
			if !anyContains(d, v) {
				return false
			}
		}
		return true
	case json.Number:
		d, ok := doc.(json.Number)
		return ok && numberText(d.String()) == numberText(p.String())
	default:
		return doc == pattern
	}
}

func anyContains(docs []any, pattern any) bool {
	for _, d := range docs {
		if contains(d, pattern) {
			return true
		}
	}
	return false
}
