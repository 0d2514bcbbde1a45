package world

// How the attributes of a run are kept as one text.

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// AttributeText is the attributes of a run as a JSON object, by name; "" where there are none. Values keep their bytes, which encoding/json would not
// do. One that is not JSON is [ErrInvalid].
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
