package docs_test

// The tutorial: one program that grows. Each chapter has a file below examples/tutorial, and shows parts of it.

import (
	"fmt"
	"strings"
	"testing"
)

// chapters is how many the tutorial has.
const chapters = 6

// chapterOf is the number of a chapter of the tutorial; 0: the page is none.
func chapterOf(page string) (n int) {
	_, _ = fmt.Sscanf(page, "docs/tutorial/%d-", &n) // another page has none
	return n
}

func chapterProgram(t *testing.T, n int) string {
	t.Helper()
	return read(t, fmt.Sprintf("examples/tutorial/%d/main.go", n))
}

// programsOf are the programs that a page has its reader save, with the lines from which on they are there. A chapter
// begins with the program of the one before; its own is there from its first block of Go.
func programsOf(t *testing.T, page string) (all []block) {
	t.Helper()
	n := chapterOf(page)
	if n > 1 {
		all = append(all, block{code: chapterProgram(t, n-1)})
	}
	for _, b := range blocksOf(page, read(t, page)) {
		switch {
		case b.lang != "go":
		case n > 0:
			b.code = chapterProgram(t, n)
			return append(all, b)
		case strings.HasPrefix(b.code, "package main\n"):
			all = append(all, b)
		}
	}
	return all
}

// TestTutorial: what a chapter shows is its program, line by line, what it adds is shown, and the chapter is short.
func TestTutorial(t *testing.T) {
	t.Parallel()
	before, n := "", 0
	for _, page := range pages(t) {
		chapter := chapterOf(page)
		if chapter == 0 {
			continue
		}
		n++
		text, program := read(t, page), flat(chapterProgram(t, chapter))
		var all strings.Builder
		for _, b := range blocksOf(page, text) {
			if b.lang != "go" {
				continue
			}
			if all.WriteString(flat(b.code)); !strings.Contains(program, flat(b.code)) {
				t.Errorf("%s: this is no part of examples/tutorial/%d/main.go", b.at(), chapter)
			}
		}
		for line := range strings.Lines(program) {
			if line = strings.TrimSpace(line); len(line) > 20 && line[0] != '"' && !strings.Contains(before+all.String(), line) && !quoted(line) {
				t.Errorf("%s does not show what its program adds: %s", page, line)
			}
		}
		if words := len(strings.Fields(text)); words > 700 {
			t.Errorf("%s has %d words, want 700 at most", page, words)
		}
		before = program
	}
	if n != chapters {
		t.Errorf("got %d chapters, want %d", n, chapters)
	}
}

// quoted: which chapter it is.
func quoted(line string) bool { return strings.HasPrefix(line, "// Shop is the program of chapter ") }

// flat is code without what its lines begin with: a page may show a part further to the left.
func flat(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}
