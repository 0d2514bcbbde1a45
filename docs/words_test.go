package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWordsAreInTheCode: the file that the page names for a word is there, and has it. A word has one row, and a row says one thing.
func TestWordsAreInTheCode(t *testing.T) {
	t.Parallel()
	rows := regexp.MustCompile("(?m)^\\| ([a-z, ]+) \\| (.*) \\| `([^`]+)` \\|").FindAllStringSubmatch(read(t, "docs/design/words.md"), -1)
	known := map[string]bool{}
	for _, row := range rows {
		code, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(row[3])))
		if err != nil {
			t.Error(err)
			continue
		}
		if strings.Contains(row[2], ";") {
			t.Errorf("%q means two things: %s", row[1], row[2])
		}
		for word := range strings.SplitSeq(row[1], ", ") {
			if known[word] {
				t.Errorf("%q has two rows: one word has one meaning", word)
			}
			known[word] = true
			if !strings.Contains(strings.ToLower(string(code)), word) {
				t.Errorf("%s does not say %q", row[3], word)
			}
		}
	}
	if len(rows) < 40 {
		t.Errorf("got %d words, want those of the page", len(rows))
	}
}
