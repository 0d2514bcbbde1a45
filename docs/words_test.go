package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWordsAreInTheCode: the file that the page names for a word is there, and has it.
func TestWordsAreInTheCode(t *testing.T) {
	t.Parallel()
	rows := regexp.MustCompile("(?m)^\\| ([a-z, ]+) \\| .* \\| `([^`]+)` \\|").FindAllStringSubmatch(read(t, "docs/words.md"), -1)
	for _, row := range rows {
		code, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(row[2])))
		if err != nil {
			t.Error(err)
			continue
		}
		for word := range strings.SplitSeq(row[1], ", ") {
			if !strings.Contains(strings.ToLower(string(code)), word) {
				t.Errorf("%s does not say %q", row[2], word)
			}
		}
	}
	if len(rows) < 40 {
		t.Errorf("got %d words, want those of the page", len(rows))
	}
}
