package docs_test

// The page of rules has a form, so that none of them is half told.

import (
	"strings"
	"testing"
)

// TestEachRuleIsToldWhole: every rule, and every part of one, has a wrong and a right example and says what happens when it is broken.
func TestEachRuleIsToldWhole(t *testing.T) {
	t.Parallel()
	_, rules, _ := strings.Cut(read(t, "docs/rules.md"), "\n## ")
	n := 0
	for part := range strings.SplitSeq(strings.ReplaceAll("\n"+rules, "\n### ", "\n## "), "\n## ") {
		title, text, _ := strings.Cut(part, "\n")
		if !strings.Contains(text, "```go\n") {
			continue // what comes before the parts
		}
		n++
		for _, want := range []string{"\nWrong:", "\nRight", "When it is broken: "} {
			if !strings.Contains(text, want) {
				t.Errorf("rule %q has no %q", title, strings.TrimSpace(want))
			}
		}
	}
	if n < 15 {
		t.Errorf("got %d rules and parts of rules, want the page's", n)
	}
}
