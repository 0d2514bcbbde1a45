package world

// How the attributes of a run are kept as one text.

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// AttributeText returns a run's attributes as a JSON object, by name; "" if there are none. Values
// keep their bytes, unlike with encoding/json. A value that is not JSON is [ErrInvalid].
func AttributeText(attrs map[string]json.RawMessage) (string, error) {
	if len(attrs) == 0 {
		return "", nil
	}
	out := []byte{'{'}
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		if !json.Valid(attrs[name]) {
			return "", fmt.Errorf("%w: attribute %q is not JSON", ErrInvalid, name)
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return "", fmt.Errorf("%w: attribute %q: %w", ErrInvalid, name, err)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted...), ':'), attrs[name]...)
	}
	return string(append(out, '}')), nil
}
