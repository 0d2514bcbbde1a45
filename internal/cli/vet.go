package cli

// This file holds code to the rules of workflows, before it runs: it is the tool of go vet, and calls it.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/analysis"
	"github.com/stepwell/stepwell/internal/human"
)

// vetVariable tells this program that go vet calls it, for one package.
const vetVariable = "STEPWELL_VET_TOOL"

// vetting is what a call of vet asks for.
type vetting struct {
	fix, diff, allowed bool
	shapes             bool
	only               []string
	pure               string
}

func vetCommand(c *cli) *cobra.Command {
	var v vetting
	cmd := &cobra.Command{
		Use:   "vet [flags] [PACKAGE]...",
		Short: "Find code that breaks the rules of workflows, before it runs",
		Long: `Find code in packages that breaks the rules of workflows, and print the line, the reason, and what to write instead.
Without PACKAGE it reads ./...
It calls go vet, which caches its results: only changed code is read again. No program runs, and no database is opened.

The rules, each with a section in docs/analyzer.md:

` + ruleList() + `
If a line breaks a rule for a good reason, say so in a comment on it, above it, or on its function:

  //stepwell:allow time it is only shown

The file of --pure lists packages and functions that workflow code may always call, one per line: example.com/money,
example.com/money.Round or example.com/money.Amount.Round.

If a package has logs of runs in testdata/histories, its workflows are checked against them. --shapes writes the shapes of
all recorded types to testdata/shapes.json of each package, next to the existing ones; a type that can no longer hold one
of them is reported later.

` + exitHelp,
		Example: `  stepwell vet ./...
  stepwell vet --fix ./orders
  stepwell vet --only time,maporder --json ./... | jq -r .rule
  stepwell vet --allowed ./...`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), c, args) },
	}
	f := cmd.Flags()
	f.BoolVar(&v.fix, "fix", false, "repair what has a simple repair, and report the rest")
	f.BoolVar(&v.diff, "diff", false, "show the repairs and change nothing")
	f.BoolVar(&v.allowed, "allowed", false, "list and count the lines that //stepwell:allow allows, and report nothing else")
	f.BoolVar(&v.shapes, "shapes", false, "write the shapes of what is recorded today to testdata/shapes.json, and report nothing")
	f.StringSliceVar(&v.only, "only", nil, "only these `rules`, separated by commas")
	f.StringVar(&v.pure, "pure", "", "a `file` of functions and packages that workflow code may call")
	c.jsonFlag(cmd, "write one JSON object per finding")
	return cmd
}

func ruleNames() (names []string) {
	for _, a := range analysis.Analyzers() {
		names = append(names, a.Name)
	}
	return names
}

// ruleList is a line a rule.
func ruleList() string {
	var b strings.Builder
	for _, a := range analysis.Analyzers() {
		about, _, _ := strings.Cut(strings.TrimPrefix(a.Doc, "report "), " in Stepwell's workflow code")
		fmt.Fprintf(&b, "  %-13s %s\n", a.Name, about)
	}
	return b.String()
}

// run calls go vet, once to repair and once to report.
func (v *vetting) run(ctx context.Context, c *cli, packages []string) error {
	flags, err := v.flags()
	if err != nil {
		return err
	}
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	if v.diff || v.fix {
		how := []string{"-fix"}
		if v.diff {
			how = append(how, "-diff")
		}
		said, err := goVet(ctx, append(append(how, flags...), packages...), c.stdout)
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || !v.diff || said != "") {
			return vetFailed(said, err)
		}
		if v.diff {
			return nil
		}
	}
	said, err := goVet(ctx, append(flags, packages...), c.stdout)
	if v.shapes {
		return v.record(c, said, err)
	}
	n, rest, shown := v.show(c, said)
	switch {
	case shown != nil:
		return shown
	case err != nil && (n == 0 || rest != ""):
		return vetFailed(rest, err)
	case v.allowed && !c.json:
		fmt.Fprintf(c.stderr, "%s\n", human.Count(n, "allowance"))
		return nil
	case n > 0 && !v.allowed:
		return fmt.Errorf("%s: each line says what to write instead; stepwell vet --fix repairs the simple ones", human.Count(n, "finding"))
	}
	return nil
}

// record writes the shapes that were found.
func (v *vetting) record(c *cli, said string, failed error) error {
	all, rest := map[string]shapes{}, ""
	for line := range strings.Lines(said) {
		m := vetLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil || m[5] == "" {
			if !strings.HasPrefix(line, "# ") {
				rest += line
			}
			continue
		}
		if err := keep(all, m[1], m[4]); err != nil {
			return err
		}
	}
	if failed != nil && (len(all) == 0 || rest != "") {
		return vetFailed(rest, failed)
	}
	return writeShapes(c, all)
}

// flags are those of the tool.
func (v *vetting) flags() (flags []string, err error) {
	known := ruleNames()
	for _, name := range v.only {
		if !strings.Contains(" "+strings.Join(known, " ")+" ", " "+name+" ") {
			return nil, usagef("the rules are "+strings.Join(known, ", "), "vet: there is no rule %q", name)
		}
		flags = append(flags, "-"+name)
	}
	if v.allowed {
		flags = []string{"-allow", "-allowed"}
	}
	if v.shapes {
		flags = []string{"-changed", "-shapes"}
	}
	if state := goldens(); state != "" {
		flags = append(flags, "-golden="+state)
	}
	if v.pure == "" {
		return flags, nil
	}
	text, err := os.ReadFile(v.pure)
	if err != nil {
		return nil, usagef("give the path of a file with one name per line", "vet: %w", err)
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		names = append(names, strings.Fields(line)...)
	}
	return append(flags, "-pure="+strings.Join(names, ",")), nil
}

// goVet calls go vet with this program as its tool, and returns what it says.
func goVet(ctx context.Context, args []string, stdout io.Writer) (said string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"vet", "-vettool=" + self}, args...)...)
	cmd.Env = append(os.Environ(), vetVariable+"=1")
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &b
	err = cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return "", usagef("install Go: https://go.dev/dl", "vet: the go command was not found")
	}
	return b.String(), err
}

func vetFailed(said string, err error) error {
	if said = strings.TrimSpace(said); said != "" {
		return fmt.Errorf("go vet: %w\n%s", err, said)
	}
	return fmt.Errorf("go vet: %w", err)
}

// vetLine is one, as go vet prints it: in a file of Go, or in what it was generated from.
var vetLine = regexp.MustCompile(`^(?:vet: )?(.+?):(\d+)(?::(\d+))?: (.*?)(?: \((\w+): (docs/rules\.md#\S+)\))?$`)

// vetFinding is one in JSON.
type vetFinding struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Rule    string `json:"rule"`
	Message string `json:"message"`
	See     string `json:"see"`
}

// show writes the findings, and returns how many there are, and what else was said.
func (v *vetting) show(c *cli, said string) (n int, rest string, err error) {
	for lines := bufio.NewScanner(strings.NewReader(said)); lines.Scan(); {
		line := lines.Text()
		m := vetLine.FindStringSubmatch(line)
		if m == nil || m[5] == "" {
			if !strings.HasPrefix(line, "# ") {
				rest += line + "\n"
			}
			continue
		}
		if v.allowed && !strings.HasPrefix(m[4], "allowed: ") {
			continue
		}
		n++
		if !c.json {
			fmt.Fprintln(c.stdout, line)
			continue
		}
		f := vetFinding{File: m[1], Rule: m[5], Message: m[4], See: m[6]}
		f.Line, _ = strconv.Atoi(m[2])
		f.Column, _ = strconv.Atoi(m[3])
		if err := c.encoder().Encode(f); err != nil {
			return n, rest, err
		}
	}
	return n, rest, nil
}
