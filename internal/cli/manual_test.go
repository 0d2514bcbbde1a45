package cli

// docs/cli.md is held to the commands, and so is their reference, which the site of the documentation has below it.

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/server/site"
)

// groups are the commands of the first level, with what is below each.
func groups(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("| command | subcommands | does |\n| --- | --- | --- |\n")
	for _, cmd := range root.Commands() {
		if !cmd.Runnable() || cmd.Hidden || cmd.Name() == "help" {
			continue
		}
		var below []string
		for _, sub := range cmd.Commands() {
			below = append(below, sub.Name())
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", cmd.Name(), strings.Join(below, ", "), strings.ReplaceAll(cmd.Short, "|", `\|`))
	}
	return b.String()
}

// TestManual: the parts of the page that the program knows are what it says.
func TestManual(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "cli.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(string(text), "\r\n", "\n")
	got := want
	for part, says := range map[string]string{
		"commands": groups(rootCommand(newCLI(&shell{}))),
		"exits":    "```text\n" + exitCodes() + "\n```\n",
	} {
		from, to := "<!-- "+part+":begin -->\n", "<!-- "+part+":end -->\n"
		before, rest, ok := strings.Cut(got, from)
		_, after, ended := strings.Cut(rest, to)
		if !ok || !ended {
			t.Fatalf("%s has no place for the %s", path, part)
		}
		got = before + from + "\n" + says + "\n" + to + after
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s is not what the commands say; write it anew with -update (-want +got):\n%s", path, diff)
	}
}

// TestReference: the site has a section on each command, with its flags, and no other page has it.
func TestReference(t *testing.T) {
	files, err := site.Files()
	if err != nil {
		t.Fatal(err)
	}
	page, source := string(files["cli.html"]), string(files["cli.md"])
	n := 0
	for cmd := range commands(rootCommand(newCLI(&shell{}))) {
		if !explained(cmd) {
			continue
		}
		n++
		id := strings.ReplaceAll(nameOf(cmd), " ", "-")
		if strings.Count(page, `id="`+id+`"`) != 1 || !strings.Contains(page, `href="#`+id+`"`) {
			t.Errorf("the site has no section on %s, or no link to it", nameOf(cmd))
		}
		_, section, _ := strings.Cut(source, "\n### "+nameOf(cmd)+"\n")
		section, _, _ = strings.Cut(section, "\n### ")
		if usage := cmd.LocalNonPersistentFlags().FlagUsages(); !strings.Contains(section, strings.TrimRight(usage, "\n")) {
			t.Errorf("the section on %s does not have its flags", nameOf(cmd))
		}
	}
	if n < 80 {
		t.Errorf("got %d commands", n)
	}
	if fences := regexp.MustCompile("(?m)^```").FindAllString(source, -1); len(fences)%2 != 0 {
		t.Errorf("got %d fences in the reference: one is open", len(fences))
	}
}

// TestIndented: what help texts indent is code, and what they do not is prose.
func TestIndented(t *testing.T) {
	want := "a:\n```text\nx\n y\n```\n\nb\nc\n\n```text\nz\n```"
	if got := indented("a:\n  x\n   y\nb\nc\n\n  z"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestEveryCommandIsExplained: what it does, how it is called, an example, and its exit codes.
func TestEveryCommandIsExplained(t *testing.T) {
	for cmd := range commands(rootCommand(newCLI(&shell{}))) {
		if !explained(cmd) {
			continue
		}
		for what, ok := range map[string]bool{
			"a short text":                   cmd.Short != "" && !strings.HasSuffix(cmd.Short, "."),
			"a long one":                     cmd.Long != "",
			"its exit codes":                 strings.Contains(cmd.Long, "Exit codes:"),
			"an example":                     strings.Contains(cmd.Example, "stepwell "+nameOf(cmd)),
			"a check of its arguments":       cmd.Args != nil,
			"an end behind its last example": !strings.HasSuffix(cmd.Example, "\n"),
		} {
			if !ok {
				t.Errorf("%s lacks %s", cmd.CommandPath(), what)
			}
		}
	}
}
