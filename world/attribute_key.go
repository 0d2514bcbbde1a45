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

// AttributeKey is a text by which a world may keep and find values of attributes: of all values that contain a pattern by [Contains], the key is that of
// the pattern. Others may share it, so who is found is still to be looked at: all objects have one key, and so have all arrays. It is short, printable
// or not, has no NUL, and is the same in every release. What is not JSON has an empty key, and contains nothing.
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
