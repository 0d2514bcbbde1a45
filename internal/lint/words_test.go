package lint

// This file keeps words out that the code had for what the field has a term for: docs/words.md lists those that it uses.

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
)

// oldWords are refused as parts of the names of what is declared, and of files; beside them what to say.
var oldWords = map[string]string{
	"take": "claim", "takes": "claims", "taken": "claimed", "taking": "claiming", "taker": "claimer",
	"beat": "heartbeat", "beats": "heartbeats",
	"seal": "encrypt", "seals": "encrypts", "sealed": "encrypted", "sealing": "encrypting", "unsealed": "plain",
	"suspect": "quarantine", "suspects": "quarantine", "acquit": "release from quarantine", "absolve": "release from quarantine",
	"lend": "yield", "lends": "yields", "lent": "yielded", "lending": "yielding",
	"bear": "create", "bears": "creates", "bore": "created", "born": "created", "unborn": "uncreated",
}

const openAPI = "what openapi.json calls the schema"

// oldWordsStay are the exceptions, by directory and name, with the reason.
var oldWordsStay = map[string]string{
	".Takes":      "what REST calls the claims of a run: Go says the same",
	".Sealed":     "what REST says of a run that is encrypted: Go says the same",
	".WhySuspect": "what REST says of a step in quarantine: Go says the same",
	".bear":       "the animal, in an example",

	"world/remote/wire.TakeQuery": openAPI, "world/remote/wire.Taken": openAPI, "world/remote/wire.TakenRun": openAPI,
	"world/remote/wire.BeatQuery": openAPI, "world/remote/wire.Beat": openAPI,
}

func TestWords(t *testing.T) { check(t, wordRule) }

// wordRule finds old words in what a file declares, and in its own name. The names of tests are sentences.
func wordRule(s *source) (faults []string) {
	for _, part := range nameParts(strings.TrimSuffix(path.Base(s.path), ".go")) {
		if say := oldWords[part]; say != "" {
			faults = append(faults, fmt.Sprintf("%s: %q in the name of a file: say %q", s.path, part, say))
		}
	}
	for _, id := range declared(s.file) {
		if s.allowed(id.Pos()) || oldWordsStay[s.dir+"."+id.Name] != "" {
			continue
		}
		for _, part := range nameParts(id.Name) {
			if say := oldWords[part]; say != "" {
				faults = append(faults, fmt.Sprintf("%s: %q in %s: say %q", s.at(id.Pos()), part, id.Name, say))
			}
		}
	}
	return faults
}

// declared are the names that a file declares, of fields, parameters and locals too.
func declared(f *ast.File) (ids []*ast.Ident) {
	expr := func(list ...ast.Expr) {
		for _, e := range list {
			if id, ok := e.(*ast.Ident); ok {
				ids = append(ids, id)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if !testName.MatchString(n.Name.Name) {
				ids = append(ids, n.Name)
			}
		case *ast.TypeSpec:
			ids = append(ids, n.Name)
		case *ast.ValueSpec:
			ids = append(ids, n.Names...)
		case *ast.Field:
			ids = append(ids, n.Names...)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				expr(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				expr(n.Key, n.Value)
			}
		}
		return true
	})
	return ids
}

var (
	testName = regexp.MustCompile(`^(Test|Benchmark|Fuzz|Example)`)
	hump     = regexp.MustCompile(`[A-Z]+[a-z]*|[a-z]+`)
)

// nameParts are the words of a name, in small letters.
func nameParts(name string) (parts []string) {
	for _, p := range hump.FindAllString(name, -1) {
		parts = append(parts, strings.ToLower(p))
	}
	return parts
}

func TestWordRule(t *testing.T) {
	for src, want := range map[string]int{
		"func takeOnce() {}":                                   1,
		"func mistake(intake int) {}":                          0,
		"type T struct{ Taken, lastBeat int }":                 2,
		"func f() { born := 1; _ = born }":                     1,
		"func f() { for bear := range 3 { _ = bear } }":        1,
		"func TestWhatIsTakenStays() {}":                       0,
		"var x = aead.Seal(nil)":                               0,
		"var taken = 1 //lint:allow as the standard library's": 0,
	} {
		if got := wordRule(mustParse(t, "world/x.go", "package p\n"+src)); len(got) != want {
			t.Errorf("%s: got %q, want %d", src, got, want)
		}
	}
	if got := wordRule(mustParse(t, "world/take_lost.go", "package p\n")); len(got) != 1 {
		t.Errorf("a file: got %q, want 1 fault", got)
	}
}
