package sqlite

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/stepwell/stepwell/world"
)

var (
	attributesOf  = load("attributes_of")
	setAttributes = load("set_attributes")
)

// attributesText is how the attributes of a run are kept: a JSON object, or null. Values keep their bytes, which encoding/json would not do.
func attributesText(attrs map[string]json.RawMessage) (any, error) {
	if len(attrs) == 0 {
		return nil, nil
	}
	out := []byte{'{'}
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		if !json.Valid(attrs[name]) {
			return nil, fmt.Errorf("%w: attribute %q is not JSON", world.ErrInvalid, name)
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, fmt.Errorf("%w: attribute %q: %w", world.ErrInvalid, name, err)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted...), ':'), attrs[name]...)
	}
	return string(append(out, '}')), nil
}

func (g *group) setAttribute(r *run, name string, value []byte) error {
	attrs := make(map[string]json.RawMessage)
	if _, err := g.c.one(attributesOf, func(row row) error {
		if row.null(0) {
			return nil
		}
		return json.Unmarshal(row.bytes(0), &attrs)
	}, r.key); err != nil {
		return err
	}
	attrs[name] = value
	return g.writeAttributes(r, attrs)
}

func (g *group) writeAttributes(r *run, attrs map[string]json.RawMessage) error {
	text, err := attributesText(attrs)
	if err != nil {
		return fmt.Errorf("run %s: %w", r.id, err)
	}
	return g.exec(setAttributes, r.key, text)
}
