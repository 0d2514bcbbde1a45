package ops

import "testing"

// What may be a secret in an endpoint's URL is not shown; where it is, and what else it says, is.
func TestShownEndpoint(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.com":  "https://example.com",
		"https://example.com/": "https://example.com/",
		"https://example.com:8443/events/orders-that-were-paid/v2":                "https://example.com:8443/events/orders-that-were-paid/v2",
		"https://example.com/events?token=geheim&kind=a&geheim":                   "https://example.com/events?token=…&kind=…&=…",
		"https://hooks.example.com/services/T0001/B0001/XXsecr3tXXXXXXXXXXXXXXXX": "https://hooks.example.com/services/T0001/B0001/XXs…",
		"https://example.com/a%20b":                                               "https://example.com/a%20b",
		"://geheim":                                                               "…",
	} {
		if got := ShownEndpoint(text); got != want {
			t.Errorf("%s is shown as %s, want %s", text, got, want)
		}
	}
}
