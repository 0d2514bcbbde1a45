// Package docs_test holds the documentation to the code of today: its Go is compiled, its SQL and its commands are run, its links lead somewhere.
package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the module's directory, seen from this package's.
const root = ".."

// block is a fenced code block of a page, or the declarations that its fragments share: a comment that begins with "<!--go".
type block struct {
	page string // its path, from the module's root
	line int    // of its first line of code
	lang string
	mark string // what stands behind the language
	code string
}

func (b block) at() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// shared is the language of what is declared for a page's blocks and not shown.
const shared = "shared"

// pages are all pages that teach, from the module's root, the first one first.
func pages(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob("*.md")
	chapters, _ := filepath.Glob("tutorial/*.md") // the pattern is right
	design, _ := filepath.Glob("design/*.md")     // this one, too
	if err != nil || len(docs) == 0 || len(chapters) == 0 || len(design) == 0 {
		t.Fatalf("got %d pages, %d chapters, %d of the design, %v", len(docs), len(chapters), len(design), err)
	}
	docs = append(append(docs, chapters...), design...)
	for i, name := range docs {
		docs[i] = "docs/" + filepath.ToSlash(name)
	}
	return append([]string{"README.md"}, append(docs, "examples/README.md", "docs/skills/stepwell/SKILL.md")...)
}

// read returns the text of a file of this module.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// blocks returns all code blocks of all pages.
func blocks(t *testing.T) (all []block) {
	t.Helper()
	for _, page := range pages(t) {
		all = append(all, blocksOf(page, read(t, page))...)
	}
	return all
}

func blocksOf(page, text string) (all []block) {
	end := ""
	for i, line := range strings.Split(text, "\n") {
		switch last := len(all) - 1; {
		case end != "" && line == end:
			end = ""
		case end != "":
			all[last].code += line + "\n"
		case line == "<!--go":
			all, end = append(all, block{page: page, line: i + 2, lang: shared}), "-->"
		case strings.HasPrefix(line, "```"):
			lang, mark, _ := strings.Cut(strings.TrimPrefix(line, "```"), " ")
			all, end = append(all, block{page: page, line: i + 2, lang: lang, mark: mark}), "```"
		}
	}
	return all
}

// TestBlocksOf keeps the reader of pages honest: a block that it overlooked would be held to nothing.
func TestBlocksOf(t *testing.T) {
	t.Parallel()
	got := blocksOf("p.md", "text\n```go\nvar x = 1\n```\n<!--go\ntype T int\n-->\n```go must not\nx\n```\n```sql\nSELECT 1;\n```\n")
	want := []block{
		{"p.md", 3, "go", "", "var x = 1\n"}, {"p.md", 6, shared, "", "type T int\n"},
		{"p.md", 9, "go", "must not", "x\n"}, {"p.md", 12, "sql", "", "SELECT 1;\n"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	n := 0
	for _, page := range pages(t) {
		n += strings.Count("\n"+read(t, page), "\n```")
	}
	fenced := slices.DeleteFunc(blocks(t), func(b block) bool { return b.lang == shared })
	if n != 2*len(fenced) {
		t.Errorf("got %d blocks, the pages have %d fences", len(fenced), n)
	}
}
