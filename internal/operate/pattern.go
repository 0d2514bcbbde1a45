package operate

// Patterns are JSON that a value contains, by the rule of PostgreSQL's @>. This file makes them
// from what people type.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/stepwell/stepwell/world"
)

// Pattern is contained in a value that has text at path: Pattern("customer.id", "42") is
// {"customer":{"id":42}}. The path "" is the whole value. A text that is not JSON is a string.
func Pattern(path, text string) json.RawMessage {
	v := json.RawMessage(text)
	if !json.Valid(v) {
		v, _ = json.Marshal(text)
	}
	if path == "" {
		return v
	}
	for _, key := range slices.Backward(strings.Split(path, ".")) {
		name, _ := json.Marshal(key)
		v = slices.Concat([]byte("{"), name, []byte(":"), v, []byte("}"))
	}
	return v
}

// BothPatterns is contained in each value that contains a and b. A nil a is every value. It fails
// with [world.ErrInvalid] where a or b is not JSON, or where nothing can contain both.
func BothPatterns(a, b json.RawMessage) (json.RawMessage, error) {
	if a == nil {
		return b, nil
	}
	var values [2]any
	for i, p := range [...]json.RawMessage{a, b} {
		if err := world.CheckJSON("the pattern", p); err != nil {
			return nil, err
		}
		d := json.NewDecoder(bytes.NewReader(p))
		d.UseNumber()
		if err := d.Decode(&values[i]); err != nil {
			return nil, fmt.Errorf("%w: the pattern: %w", world.ErrInvalid, err)
		}
	}
	both, ok := merge(values[0], values[1])
	if !ok {
		return nil, fmt.Errorf("%w: no value contains both %.100s and %.100s", world.ErrInvalid, a, b)
	}
	return json.Marshal(both)
}

func merge(a, b any) (any, bool) {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return nil, false
		}
		all := maps.Clone(x)
		for k, v := range y {
			if had, twice := x[k]; twice {
				if v, ok = merge(had, v); !ok {
					return nil, false
				}
			}
			all[k] = v
		}
		return all, true
	case []any:
		y, ok := b.([]any)
		return slices.Concat(x, y), ok
	}
	return a, reflect.DeepEqual(a, b)
}
