package main

// This file holds code to the rules of workflows, before it runs: it calls go vet with this program as its tool.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/stepwell/stepwell/vet"
)

// The exit codes, those of stepwell.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// vetting is what a call asks for, and where it writes.
type vetting struct {
	fix, diff, allowed bool
	shapes, json       bool
	only, pure         string

	stdout, stderr io.Writer
}

// usage is an error of the command line, and what to do about it.
type usage struct {
	error
	next string
}

func usagef(next, format string, args ...any) error {
	return &usage{fmt.Errorf(format, args...), next}
}

// vetAll reads the command line, holds the packages to the rules, and returns the exit code.
func vetAll(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	v := &vetting{stdout: stdout, stderr: stderr}
	f := v.commandLine()
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		f.SetOutput(stdout)
		fmt.Fprint(stdout, help())
		f.PrintDefaults()
		return exitOK
	case err != nil:
		err = usagef("see stepwellvet --help", "%w", err)
	default:
		err = v.run(ctx, f.Args())
	}
	if err == nil {
		return exitOK
	}
	code, word, next := exitFailure, "FAILED", ""
	if u, ok := errors.AsType[*usage](err); ok {
		code, word, next = exitUsage, "USAGE", u.next
	}
	switch {
	case v.json:
		_ = encoder(stderr).Encode(failure{word, err.Error(), next, code}) // there is nobody left to tell
	case next != "":
		fmt.Fprintf(stderr, "stepwellvet: %v\n  %s\n", err, next)
	default:
		fmt.Fprintf(stderr, "stepwellvet: %v\n", err)
	}
	return code
}

// commandLine is what stepwell vet has too: internal/cli/vet.go is held to it.
func (v *vetting) commandLine() *flag.FlagSet {
	f := flag.NewFlagSet("stepwellvet", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.BoolVar(&v.fix, "fix", false, "repair what has a simple repair, and report the rest")
	f.BoolVar(&v.diff, "diff", false, "show the repairs and change nothing")
	f.BoolVar(&v.allowed, "allowed", false, "list and count the lines that //stepwell:allow allows, and report nothing else")
	f.BoolVar(&v.shapes, "shapes", false, "write the shapes of what is recorded today to testdata/shapes.json, and report nothing")
	f.StringVar(&v.only, "only", "", "only these `rules`, separated by commas")
	f.StringVar(&v.pure, "pure", "", "a `file` of functions and packages that workflow code may call")
	f.BoolVar(&v.json, "json", false, "write one JSON object per finding")
	return f
}

// failure is what --json says of an error, as stepwell does.
type failure struct {
	Code  string `json:"code"`
	Error string `json:"error"`
	Next  string `json:"next,omitempty"`
	Exit  int    `json:"exit"`
}

func encoder(to io.Writer) *json.Encoder {
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	return e
}

func help() string {
	text := `Find code in packages that breaks the rules of workflows, and print the line, the reason, and what to write instead.

  stepwellvet [flags] [PACKAGE]...
  go vet -vettool=$(which stepwellvet) [PACKAGE]...

Without PACKAGE it reads ./...  The exit code is 1 if it found something.

The rules, in full at https://github.com/stepwell/stepwell/blob/main/docs/rules.md:

`
	for _, a := range vet.Analyzers() {
		about, _, _ := strings.Cut(strings.TrimPrefix(a.Doc, "report "), " in Stepwell's workflow code")
		text += fmt.Sprintf("  %-13s %s\n", a.Name, about)
	}
	return text + "\nThe flags:\n\n"
}

func ruleNames() (names []string) {
	for _, a := range vet.Analyzers() {
		names = append(names, a.Name)
	}
	return names
}

// count is a number of things, in words.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// run calls go vet, once to repair and once to report.
func (v *vetting) run(ctx context.Context, packages []string) error {
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
		said, err := goVet(ctx, append(append(how, flags...), packages...), v.stdout)
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || !v.diff || said != "") {
			return vetFailed(said, err)
		}
		if v.diff {
			return nil
		}
	}
	said, err := goVet(ctx, append(flags, packages...), v.stdout)
	if v.shapes {
		return v.record(said, err)
	}
	n, rest, shown := v.show(said)
	switch {
	case shown != nil:
		return shown
	case err != nil && (n == 0 || rest != ""):
		return vetFailed(rest, err)
	case v.allowed && !v.json:
		fmt.Fprintf(v.stderr, "%s\n", count(n, "allowance"))
		return nil
	case n > 0 && !v.allowed:
		return fmt.Errorf("%s: each line says what to write instead; stepwell vet --fix repairs the simple ones", count(n, "finding"))
	}
	return nil
}

// record writes the shapes that were found.
func (v *vetting) record(said string, failed error) error {
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
	return writeShapes(v.stdout, all)
}

// flags are those of the tool.
func (v *vetting) flags() (flags []string, err error) {
	known := ruleNames()
	for name := range strings.FieldsFuncSeq(v.only, func(r rune) bool { return r == ',' }) {
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
func (v *vetting) show(said string) (n int, rest string, err error) {
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
		if !v.json {
			fmt.Fprintln(v.stdout, line)
			continue
		}
		f := vetFinding{File: m[1], Rule: m[5], Message: m[4], See: m[6]}
		f.Line, _ = strconv.Atoi(m[2])
		f.Column, _ = strconv.Atoi(m[3])
		if err := encoder(v.stdout).Encode(f); err != nil {
			return n, rest, err
		}
	}
	return n, rest, nil
}
