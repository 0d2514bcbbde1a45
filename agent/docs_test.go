package agent_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// TestTheDocsAreThis: each block of the pages that is marked as ours is in code of this module, which is compiled.
func TestTheDocsAreThis(t *testing.T) {
	t.Parallel()
	code := read(t, "docs_code_test.go") + read(t, "example/main.go")
	n := map[string]int{}
	for _, page := range []string{"agents.md", "cookbook.md"} {
		for _, b := range regexp.MustCompile("(?ms)^```go agent\n(.*?)^```$").FindAllStringSubmatch(read(t, "../docs/"+page), -1) {
			if n[page]++; !strings.Contains(code, b[1]) {
				t.Errorf("%s: this is no code of docs_code_test.go or of the example:\n%s", page, b[1])
			}
		}
	}
	if n["agents.md"] < 5 {
		t.Errorf("got blocks %v", n)
	}
}

// TestTheVersionThatIsNeeded: what is released beside the root needs the root as it is released.
func TestTheVersionThatIsNeeded(t *testing.T) {
	t.Parallel()
	next := regexp.MustCompile(`(?m)^## (v\S+)`).FindStringSubmatch(read(t, "../CHANGELOG.md"))
	if want := "github.com/stepwell/stepwell " + next[1] + "\n"; !strings.Contains(read(t, "go.mod"), want) {
		t.Errorf("go.mod does not require %s", want)
	}
}
