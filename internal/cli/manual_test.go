package cli

// docs/cli.md: the manual, written from the commands themselves.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

const manualHead = `# The command line

<!-- Written by go test ./internal/cli -run TestManual -update from the texts of the commands. -->

With stepwell you look at the runs in a database and act on them; [Operating it](operating.md) says what to do when. Each
command prints its part of this page with --help. stepwell completion writes a script for your shell that completes
commands, flags, IDs of runs, tokens of hooks and names of workflows. On a terminal, tables are cut or wrapped to its
width, or to COLUMNS. In pipes and files nothing is cut.

`

// manual is the page.
func manual(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(manualHead)
	b.WriteString("| command | does |\n| --- | --- |\n")
	for cmd := range commands(root) {
		if inManual(cmd) {
			fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", nameOf(cmd), strings.ReplaceAll(nameOf(cmd), " ", "-"), strings.ReplaceAll(cmd.Short, "|", "\\|"))
		}
	}
	b.WriteString("\n## Exit codes\n\nUnless a command says otherwise:\n\n```text\n" + exitCodes() + "\n```\n\n## JSON\n\n" + jsonHelp + "\n")
	for cmd := range commands(root) {
		if inManual(cmd) {
			section(&b, cmd)
		}
	}
	return b.String()
}

func nameOf(cmd *cobra.Command) string {
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	return name
}

// inManual reports whether a command does something of ours.
func inManual(cmd *cobra.Command) bool {
	return cmd.Runnable() && !cmd.HasSubCommands() && !cmd.Hidden && cmd.Name() != "help" && !strings.HasPrefix(nameOf(cmd), "completion")
}

// section is the part about one command.
func section(b *strings.Builder, cmd *cobra.Command) {
	long := strings.TrimSpace(strings.ReplaceAll(cmd.Long, exitHelp, ""))
	fmt.Fprintf(b, "\n## %s\n\n```text\n%s\n```\n\n", nameOf(cmd), cmd.UseLine())
	text, codes, own := strings.Cut(long, "Exit codes:")
	b.WriteString(indented(strings.TrimSpace(text)) + "\n")
	if own {
		b.WriteString("\n```text\nExit codes:" + codes + "\n```\n")
	}
	if cmd.Example != "" {
		b.WriteString("\n```text\n")
		for line := range strings.Lines(cmd.Example) {
			b.WriteString(strings.TrimPrefix(strings.TrimRight(line, "\n"), "  ") + "\n")
		}
		b.WriteString("```\n")
	}
	if flags := cmd.LocalNonPersistentFlags().FlagUsages(); strings.TrimSpace(flags) != "" {
		b.WriteString("\n```text\n" + strings.TrimRight(flags, "\n") + "\n```\n")
	}
}

// indented fences the indented paragraphs of a help text.
func indented(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if strings.HasPrefix(p, "  ") {
			lines := strings.Split(p, "\n")
			for j := range lines {
				lines[j] = strings.TrimPrefix(lines[j], "  ")
			}
			paragraphs[i] = "```text\n" + strings.Join(lines, "\n") + "\n```"
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

func TestManual(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "cli.md")
	got := manual(rootCommand(newCLI(&shell{})))
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
		t.Errorf("%s is not what the commands say; write it anew with -update (-want +got):\n%s", path, diff)
	}
}

// TestEveryCommandIsExplained: what it does, how it is called, an example, and its exit codes.
func TestEveryCommandIsExplained(t *testing.T) {
	for cmd := range commands(rootCommand(newCLI(&shell{}))) {
		if !inManual(cmd) {
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
