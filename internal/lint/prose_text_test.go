package lint

// This file finds the prose that people read: pages, texts in Go (messages, help, log lines), templates of the web UI.

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// prose is one text, without what is code in it.
type prose struct {
	path string
	line int
	user bool // its reader uses Stepwell, and need not know how it is made
	long bool // it is of whole sentences: a page's or a help text's, and no message
	cell bool // it is a cell of a table
	text string
}

// engineers are the pages whose readers work on Stepwell: they may have its inside words.
var engineers = []string{"docs/design/words.md", "docs/design/README.md", "docs/design/starts.md", "docs/design/limits.md", "docs/design/topics.md",
	"docs/design/wdk.md", "docs/protocol.md", "CONTRIBUTING.md"}

// proses returns all texts, those of pages first.
func proses(t *testing.T) (all []prose) {
	t.Helper()
	pages := []string{}
	err := walk(".md", func(p string) error {
		if p != "CHANGELOG.md" && p != "CODE_OF_CONDUCT.md" { // a list
			pages = append(pages, p)
		}
		return nil
	})
	if err != nil || len(pages) < 40 {
		t.Fatalf("got %d pages, %v", len(pages), err)
	}
	read := func(p string) string {
		text, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), "\r\n", "\n")
	}
	for _, p := range pages {
		all = append(all, pageProse(p, read(p), !slices.Contains(engineers, p))...)
	}
	err = walk(".html", func(p string) error {
		all = append(all, templateProse(p, read(p))...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources(t) {
		if speaks(s) {
			all = append(all, goProse(s)...)
		}
	}
	return all
}

var (
	inline  = regexp.MustCompile("`[^`]*`")
	link    = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	made    = regexp.MustCompile(`(?s)<!-- \w+:begin -->.*?<!-- \w+:end -->`) // by a program
	comment = regexp.MustCompile(`(?s)<!--.*?-->`)
	item    = regexp.MustCompile(`^\s*(?:[-*+]|\d+\.) +`)
	files   = regexp.MustCompile(`[\w.:-]*/[\w./:@?=&#%-]+|\b[\w-]+\.(?:com|org|dev|md|go|json|yaml|yml|toml|sh|sql)\b`)
	rule    = regexp.MustCompile(`^[|:\- ]+$`)
)

// codeWord stands for code in a text: one word, which no rule knows.
const codeWord = "CODE"

// pageProse is the prose of a page: paragraphs, items of lists, cells of tables, headings.
func pageProse(path, text string, user bool) (all []prose) {
	blank := func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) }
	text = comment.ReplaceAllStringFunc(made.ReplaceAllStringFunc(text, blank), blank)
	var lines []string
	begun, fence, cell := 0, "", false
	flush := func() {
		if len(lines) > 0 {
			all = append(all, prose{path: path, line: begun, user: user, long: true, cell: cell, text: plain(strings.Join(lines, " "))})
		}
		lines = nil
	}
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
			continue
		case strings.HasPrefix(trimmed, "```"):
			flush()
			fence = "```"
			continue
		case trimmed == "", strings.HasPrefix(trimmed, "<"), strings.HasPrefix(line, "  STEPWELL_"):
			flush()
			continue
		case strings.HasPrefix(trimmed, "|"):
			flush()
			if rule.MatchString(trimmed) {
				continue
			}
			safe := inline.ReplaceAllString(strings.ReplaceAll(trimmed, `\|`, "/"), codeWord)
			for _, text := range strings.Split(strings.Trim(safe, "|"), "|") {
				begun, lines, cell = i+1, []string{strings.TrimSpace(text)}, true
				flush()
			}
			cell = false
			continue
		case item.MatchString(line), strings.HasPrefix(trimmed, "#"):
			flush()
			trimmed = strings.TrimLeft(item.ReplaceAllString(line, ""), "# ")
		}
		if len(lines) == 0 {
			begun = i + 1
		}
		lines = append(lines, trimmed)
		if strings.HasPrefix(line, "#") {
			flush()
		}
	}
	flush()
	return all
}

// plain takes the markup out of a text.
func plain(text string) string {
	text = inline.ReplaceAllString(text, codeWord)
	text = files.ReplaceAllString(link.ReplaceAllString(text, "$1"), codeWord)
	return strings.NewReplacer("**", "", "*", "", "_", "").Replace(text)
}

var (
	action = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	code   = regexp.MustCompile(`(?s)<(code|pre|script|style)[ >].*?</(code|pre|script|style)>`)
	tag    = regexp.MustCompile(`(?s)<[^>]*>`)
)

// templateProse is what a template says, tag by tag.
func templateProse(path, text string) (all []prose) {
	blank := func(with string) func(string) string {
		return func(s string) string { return with + strings.Repeat("\n", strings.Count(s, "\n")) }
	}
	text = action.ReplaceAllStringFunc(text, blank(" "+codeWord+" "))
	text = code.ReplaceAllStringFunc(text, blank(" "+codeWord+" "))
	text = tag.ReplaceAllStringFunc(text, blank("\x00"))
	line := 1
	for _, part := range strings.Split(text, "\x00") {
		if trimmed := strings.TrimSpace(part); len(strings.Fields(trimmed)) > 1 {
			lead := part[:strings.Index(part, trimmed)]
			all = append(all, prose{path: path, line: line + strings.Count(lead, "\n"), user: true, text: trimmed})
		}
		line += strings.Count(part, "\n")
	}
	return all
}

// speaks reports whether people who use Stepwell read texts of a file.
func speaks(s *source) bool {
	if s.test || ast.IsGenerated(s.file) {
		return false
	}
	for _, dir := range []string{"internal/tools", "internal/soak", "internal/faults", "internal/faultvfs", "internal/sample", "internal/lint",
		"internal/answers", "internal/behaviour", "internal/pgtest", "internal/forktest", "internal/clocktest", "internal/crypttest", "internal/openapi", "internal/schematest", "internal/uitest",
		"world/worldtest", "bench", "examples"} {
		if s.dir == dir || strings.HasPrefix(s.dir, dir+"/") {
			return false
		}
	}
	return true
}

var (
	verbs     = regexp.MustCompile(`%[-+# 0-9.\[\]]*[a-zA-Z]`)
	statement = regexp.MustCompile(`(?i)^\s*\(?(SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|DROP|ALTER|PRAGMA|LOCK|VALUES|AND|OR|WHERE|FROM|ORDER BY|LEFT JOIN|JOIN|RETURNING|SET|BEGIN|ON CONFLICT)\b`)
	isSQL     = regexp.MustCompile(`\b(SELECT|FROM|WHERE|RETURNING|UPDATE \w+ SET)\b|\b[a-z]\.\w+, [a-z]\.\w+`)
	example   = regexp.MustCompile(`(?m)^ {2,}.*$`) // of a help text: commands, tables of variables
)

// goProse is what a Go file says: its strings of three words or more that are no SQL.
func goProse(s *source) (all []prose) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			return n.Tag == nil
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind != token.STRING || err != nil || len(strings.Fields(text)) < 3 || statement.MatchString(text) || isSQL.MatchString(text) ||
				s.allowed(n.Pos()) {
				break
			}
			help := s.dir == "internal/cli" && strings.Contains(text, "\n")
			for _, part := range strings.Split(example.ReplaceAllString(text, ""), "\n\n") {
				part = verbs.ReplaceAllString(inline.ReplaceAllString(part, codeWord), codeWord)
				part = files.ReplaceAllString(strings.TrimSpace(strings.ReplaceAll(part, "\n", " ")), codeWord)
				all = append(all, prose{path: s.path, line: s.fset.Position(n.Pos()).Line, user: true, long: help, text: part})
			}
		}
		return true
	})
	return all
}
