package docs_test

// Each answer at the edges is a promise: the page that lists them names a test of each.

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

var answer = regexp.MustCompile(`(?m)^\*\*(\d+)\. `)

// TestEachAnswerNamesATest: there are thirty, and none is without.
func TestEachAnswerNamesATest(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("failures.md")
	if err != nil {
		t.Fatal(err)
	}
	found := answer.FindAllSubmatchIndex(page, -1)
	for i, m := range found {
		end := len(page)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		if got := string(page[m[2]:m[3]]); got != strconv.Itoa(i+1) {
			t.Fatalf("answer %d is numbered %s", i+1, got)
		}
		if !named.Match(page[m[0]:end]) {
			t.Errorf("answer %d names no test", i+1)
		}
	}
	if len(found) != 30 {
		t.Errorf("got %d answers, want 30", len(found))
	}
}
