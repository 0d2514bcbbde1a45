package cli

// This file writes the reference of all commands, in Markdown, from the texts that their --help prints. The site of the
// documentation has it on the page of the command line.

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stepwell/stepwell/server/site"
)

func init() {
	site.RegisterCommands(func() string { return reference(rootCommand(newCLI(&shell{}))) })
}

// reference is a table of all commands, and a section on each.
func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("## Reference\n\n| command | does |\n| --- | --- |\n")
	var all []*cobra.Command
	var find func(cmd *cobra.Command)
	find = func(cmd *cobra.Command) {
		if explained(cmd) {
			all = append(all, cmd)
		}
		for _, sub := range cmd.Commands() {
			find(sub)
		}
	}
	find(root)
	for _, cmd := range all {
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", nameOf(cmd), strings.ReplaceAll(nameOf(cmd), " ", "-"), strings.ReplaceAll(cmd.Short, "|", `\|`))
	}
	for _, cmd := range all {
		explain(&b, cmd)
	}
	return b.String()
}

// nameOf is what a user writes after stepwell.
func nameOf(cmd *cobra.Command) string {
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	return name
}

// explained reports whether a command has a section: it does something of ours, and not only list its subcommands.
func explained(cmd *cobra.Command) bool {
	name := nameOf(cmd)
	if !cmd.Runnable() || cmd.Hidden || name == "" || name == "help" || strings.HasPrefix(name, "completion") {
		return false
	}
	own := false // a flag of a group is of the command that the group is, too
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { own = own || f.Name != "help" && !f.Hidden })
	return own || !cmd.HasSubCommands()
}

// explain writes the section on one command.
func explain(b *strings.Builder, cmd *cobra.Command) {
	long := strings.TrimSpace(strings.ReplaceAll(cmd.Long, exitHelp, ""))
	fmt.Fprintf(b, "\n### %s\n\n```text\n%s\n```\n\n", nameOf(cmd), cmd.UseLine())
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

// indented fences the indented lines of a help text.
func indented(text string) string {
	var b strings.Builder
	code := false
	for line := range strings.Lines(text + "\n") {
		switch in := strings.HasPrefix(line, "  "); {
		case in && !code:
			b.WriteString("```text\n")
		case code && !in:
			b.WriteString("```\n\n")
		}
		code = strings.HasPrefix(line, "  ")
		b.WriteString(strings.TrimPrefix(line, "  "))
	}
	if code {
		b.WriteString("```\n")
	}
	return strings.TrimSpace(b.String())
}
