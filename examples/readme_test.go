// Package examples_test holds the list of examples to the examples: what each prints is held by its own test.
package examples_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shown is a command of the list, and the output that follows it.
var shown = regexp.MustCompile("(?s)```sh\ngo run \\./examples/(\\w+)\n```\n\n```text\n(.*?)```\n")

// endless are the programs that work until somebody ends them: they print nothing by themselves. Their tests
// kill them, and the list says what to
// type meanwhile.
var endless = []string{"orders", "pipeline"}

// TestTheListIsTrue: each example is in the list, with the output that its own test wants.
func TestTheListIsTrue(t *testing.T) {
	t.Parallel()
	list := read(t, "README.md")
	mains, err := filepath.Glob("*/main.go")
	if err != nil || len(mains) == 0 {
		t.Fatalf("got %d examples, %v", len(mains), err)
	}
	outputs := map[string]string{}
	for _, m := range shown.FindAllStringSubmatch(list, -1) {
		outputs[m[1]] = m[2]
	}
	for _, main := range mains {
		name := filepath.Dir(main)
		if slices.Contains(endless, name) {
			if !strings.Contains(list, "```sh\ngo run ./examples/"+name+"\n```\n") || !strings.Contains(read(t, filepath.Join(name, "main_test.go")), "func TestKilled(") {
				t.Errorf("%s: want its command in the list, and a test that kills it", name)
			}
		} else if got, want := outputs[name], wanted(t, name); got != want {
			t.Errorf("%s: the list shows\n%swant\n%s", name, got, want)
		}
		if !strings.Contains(list, "]("+name+"/main.go)") {
			t.Errorf("%s: the table has no link to it", name)
		}
		delete(outputs, name)
	}
	for name := range outputs {
		t.Errorf("%s: the list has it, and there is none", name)
	}
}

// wanted is the output that the test of an example holds it to.
func wanted(t *testing.T, name string) string {
	t.Helper()
	test := read(t, filepath.Join(name, "main_test.go"))
	_, test, ok := strings.Cut(test, "func Example() {\n")
	body, _, _ := strings.Cut(test, "\n}\n")
	_, output, found := strings.Cut(body, "\t// Output:\n")
	if !ok || !found || !strings.Contains(body, "\tmain()\n") {
		t.Fatalf("%s: its test does not run main and say what it prints", name)
	}
	var b strings.Builder
	for line := range strings.Lines(output) {
		b.WriteString(strings.TrimPrefix(strings.TrimRight(line, "\n"), "\t// ") + "\n")
	}
	return b.String()
}

// TestEachExampleFitsOnAPage: they are what a stranger reads first.
func TestEachExampleFitsOnAPage(t *testing.T) {
	t.Parallel()
	mains, err := filepath.Glob("*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, main := range mains {
		text := read(t, main)
		if n := strings.Count(text, "\n"); n > 150 {
			t.Errorf("%s has %d lines, want 150 at most", main, n)
		}
		if command := "//\tgo run ./examples/" + filepath.Dir(main) + "\n"; !strings.Contains(text, command) {
			t.Errorf("%s does not say how it is run", main)
		}
	}
	if others, _ := filepath.Glob("*/*.go"); slices.ContainsFunc(others, func(p string) bool {
		return filepath.Base(p) != "main.go" && filepath.Base(p) != "main_test.go" && filepath.Base(p) != "services.go"
	}) {
		t.Errorf("got the files %s, want a main.go and a main_test.go each, and perhaps a services.go", others)
	}
}

// TestOrdersIsShort: the list says of how many lines it is, without blank ones and comments; bench/orders/lines counts the same.
func TestOrdersIsShort(t *testing.T) {
	t.Parallel()
	n := 0
	for line := range strings.Lines(read(t, "orders/main.go")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	if said := fmt.Sprintf("the whole system in %d lines", n); n > 50 || !strings.Contains(read(t, "README.md"), said) {
		t.Errorf("it has %d lines, want 50 at most, and the list to say so", n)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}
