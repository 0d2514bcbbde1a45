package operate

// What the audit log has of what was done to many runs.

import (
	"maps"
	"net/url"
)

// FilterNoted is a filter, as a query has it, for the audit log: without what people wrote into inputs, attributes and
// keys.
func FilterNoted(query url.Values) string {
	values := maps.Clone(query)
	for name := range values {
		switch name {
		case "workflow", "status", "since", "until", "prefix", "version", "patch", "unpatched", "failedSince", "cause", "roots", "parent", "origin":
		default:
			values[name] = []string{"..."}
		}
	}
	return values.Encode()
}
