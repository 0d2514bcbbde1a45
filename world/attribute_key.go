package world

// Under what a world finds the runs that have an attribute: a short text of its value.

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Strings of more characters than longestKey are found by so many at each end, and by their length.
const (
	longestKey = 128
	endOfKey   = 64
)

// AttributeKey returns a short text by which a store can index attribute values. A value that
// contains a pattern, as [Contains] defines it, has the pattern's key. Different values may share a
// key, so check what you find: all objects have one key, and so have all arrays. A key has no NUL,
// may be unprintable, and never changes between releases. JSON that does not parse has an empty
// key.
func AttributeKey(value []byte) string {
	v, ok := parse(value)
	if !ok {
		return ""
	}
	switch v := v.(type) {
	case nil:
		return "z"
	case bool:
		if v {
			return "t"
		}
		return "f"
	case string:
		return stringKey(v)
	case json.Number:
		text := numberText(v.String())
		return "n" + text[:min(len(text), endOfKey)]
	case []any:
		return "a"
	default:
		return "o"
	}
}

// stringKey has one key for all strings that some database cannot keep, or not tell apart.
func stringKey(s string) string {
	if strings.ContainsAny(s, "\x00\uFFFD") {
		return "s"
	}
	if len(s) <= longestKey {
		return "s" + s
	}
	all := []rune(s)
	if len(all) <= longestKey {
		return "s" + s
	}
	return "s" + string(all[:endOfKey]) + string(all[len(all)-endOfKey:]) + strconv.Itoa(len(all))
}
