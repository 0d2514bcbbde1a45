package cli

// This file starts stepwellvet, which holds code to the rules of workflows: a module of its own, so that this program
// has none of what reads Go code.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const vetProgram = "stepwellvet"

// vetInstall is how to get it.
const vetInstall = "go install github.com/stepwell/stepwell/vet/cmd/" + vetProgram + "@latest"

func vetCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "vet [flags] [PACKAGE]...",
		Short: "Find code that breaks the rules of workflows, before it runs",
		Long: `Find code in packages that breaks the rules of workflows, and print the line, the reason, and what to write instead.
Without PACKAGE it reads ./...
It calls go vet, which caches its results: only changed code is read again. No program runs, and no database is opened.
docs/analyzer.md lists the rules; so does stepwellvet --help.

The work is done by another program, stepwellvet. Release archives have it next to stepwell. Otherwise install it:

  ` + vetInstall + `

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
		RunE: func(cmd *cobra.Command, packages []string) error {
			var args []string
			cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
				if f.Changed {
					args = append(args, "--"+f.Name+"="+f.Value.String())
				}
			})
			return runVet(cmd, c, append(append(args, "--"), packages...))
		},
	}
	f := cmd.Flags()
	f.Bool("fix", false, "repair what has a simple repair, and report the rest")
	f.Bool("diff", false, "show the repairs and change nothing")
	f.Bool("allowed", false, "list and count the lines that //stepwell:allow allows, and report nothing else")
	f.Bool("shapes", false, "write the shapes of what is recorded today to testdata/shapes.json, and report nothing")
	f.String("only", "", "only these `rules`, separated by commas")
	f.String("pure", "", "a `file` of functions and packages that workflow code may call")
	c.jsonFlag(cmd, "write one JSON object per finding")
	return cmd
}

// runVet runs the program, which says itself what it found and what went wrong.
func runVet(cmd *cobra.Command, c *cli, args []string) error {
	program, err := findVet(cmd.Context())
	if err != nil {
		return &fault{exitFailure, err, "release archives have it next to stepwell; or install it:  " + vetInstall}
	}
	vet := exec.CommandContext(cmd.Context(), program, args...)
	vet.Stdin, vet.Stdout, vet.Stderr = c.stdin, c.stdout, c.stderr
	err = vet.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.Exited() {
		return &fault{code: ended.ExitCode(), err: errSaid}
	}
	return err
}

// findVet finds the program beside this one, in PATH, or where go install puts it.
func findVet(ctx context.Context) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	program, err := beside(self, vetProgram)
	if err == nil {
		return program, nil
	}
	var dirs struct{ GOBIN, GOPATH string }
	if out, bad := exec.CommandContext(ctx, "go", "env", "-json", "GOBIN", "GOPATH").Output(); bad == nil {
		_ = json.Unmarshal(out, &dirs) // it is what go writes
	}
	for _, path := range filepath.SplitList(dirs.GOPATH) {
		dirs.GOBIN = cmp.Or(dirs.GOBIN, filepath.Join(path, "bin"))
	}
	if path, bad := exec.LookPath(filepath.Join(dirs.GOBIN, vetProgram)); dirs.GOBIN != "" && bad == nil {
		return path, nil
	}
	return "", err
}
