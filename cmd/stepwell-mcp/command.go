package main

// This file runs commands of stepwell: each tool is one, with --json, and so has its rules, words and exit codes.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Bounds of one call.
const (
	mostAtOnce  = 4                // commands that run at the same time
	callTime    = time.Minute      // for one to end
	bulkTime    = 10 * time.Minute // the same for one that acts on many runs
	endGrace    = 5 * time.Second  // for one to end that was interrupted
	mostWritten = 64 << 20         // bytes that one may write
	mostWord    = 8 << 10          // bytes of one word of a command line
	mostSaid    = 64 << 10         // bytes of what it says beside that
)

// Environment variables that a command is told by: see package main of stepwell, and world/remote.
const (
	throughVariable = "STEPWELL_THROUGH"
	keyVariable     = "STEPWELL_API_KEY"
	serverVariable  = "STEPWELL_SERVER"
)

// commands runs commands on one database, or one server.
type commands struct {
	program string   // stepwell
	target  []string // flags: --db or --server with its value; empty: the environment says it
	places  chan struct{}
}

func newCommands(program string, target []string) *commands {
	return &commands{program, target, make(chan struct{}, mostAtOnce)}
}

// caller is on whose behalf a command runs.
type caller struct {
	through string  // "mcp", and what the client calls itself
	key     *string // of the server; nil: the environment says it
}

// line is a command line. What comes from an assistant is the value of a flag, in one word with it, or stands behind
// "--": it is never taken for a flag.
type line struct {
	words []string // of the command, and its flags
	args  []string // that are none
	stdin []byte
	time  time.Duration
}

func commandLine(words ...string) *line { return &line{words: append(words, "--json"), time: callTime} }

// flag adds a flag; "" adds none.
func (l *line) flag(name, value string) *line {
	if value != "" {
		l.words = append(l.words, "--"+name+"="+value)
	}
	return l
}

// on adds a switch that is on.
func (l *line) on(name string, is bool) *line {
	if is {
		l.words = append(l.words, "--"+name)
	}
	return l
}

func (l *line) with(args ...string) *line {
	l.args = append(l.args, args...)
	return l
}

// check refuses words that no command line can have.
func (l *line) check() error {
	for _, word := range slices.Concat(l.words, l.args) {
		switch {
		case len(word) > mostWord:
			return fmt.Errorf("an argument is too long: it has %d bytes, of %d at most; nothing was done", len(word), mostWord)
		case strings.ContainsRune(word, 0):
			return errors.New("an argument has the character NUL; nothing was done")
		}
	}
	return nil
}

// failure is how a command says that it failed.
type failure struct {
	Code string `json:"code"`
	Text string `json:"error"`
	Next string `json:"next"`
	Exit int    `json:"exit"`
}

// Error is what the command says, with its code and what to do next.
func (f *failure) Error() string {
	s := f.Text + " (" + f.Code + ")"
	if f.Next != "" {
		s += "\n" + f.Next
	}
	return cutLines(s)
}

// call runs a command, and calls each for every value that it writes, until one is an error. What the command ends
// with is a [*failure].
func (c *commands) call(ctx context.Context, who caller, l *line, each func(json.RawMessage) error) error {
	if err := l.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.time)
	defer cancel()
	select {
	case c.places <- struct{}{}:
		defer func() { <-c.places }()
	case <-ctx.Done():
		return errors.New("there are too many calls at once: nothing was done; try again")
	}
	cmd := exec.CommandContext(ctx, c.program, slices.Concat(l.words, c.target, []string{"--"}, l.args)...)
	if runtime.GOOS != "windows" {
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	}
	cmd.WaitDelay = endGrace
	cmd.Env = append(os.Environ(), throughVariable+"="+who.through)
	if who.key != nil {
		cmd.Env = append(cmd.Env, keyVariable+"="+*who.key)
	}
	said := &tail{}
	cmd.Stdin, cmd.Stderr = bytes.NewReader(l.stdin), said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", c.program, err)
	}
	read := eachValue(out, each)
	if read != nil {
		cancel()
	}
	ended := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](ended); ok && read == nil && exit.ExitCode() > 0 {
		return said.failure(exit.ExitCode())
	}
	switch {
	case read != nil:
		return read
	case ctx.Err() != nil:
		return fmt.Errorf("it took longer than %s, or was given up: what is done is done", l.time)
	}
	return ended
}

// eachValue reads JSON values.
func eachValue(from io.Reader, each func(json.RawMessage) error) error {
	some := &io.LimitedReader{R: from, N: mostWritten}
	for d := json.NewDecoder(some); ; {
		var value json.RawMessage
		err := d.Decode(&value)
		switch {
		case some.N <= 0:
			return fmt.Errorf("the answer has more than %d MiB: ask for less, with a limit or a filter", mostWritten>>20)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the answer: %w", err)
		}
		if err := each(value); err != nil {
			return err
		}
	}
}

// tail keeps the end of what is written to it.
type tail struct{ b []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.b = append(t.b, b...)
	if more := len(t.b) - mostSaid; more > 0 {
		t.b = slices.Delete(t.b, 0, more)
	}
	return len(b), nil
}

// failure is what the last line says.
func (t *tail) failure(exit int) error {
	lines := strings.Split(strings.TrimSpace(string(t.b)), "\n")
	f := &failure{}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), f); err != nil || f.Code == "" {
		return fmt.Errorf("stepwell ended with exit code %d, and did not say why", exit)
	}
	return f
}

// failedWith reports whether a command failed with an exit code, as those do that say it behind what they write.
func failedWith(err error, exit int) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.Exit == exit
}

// one runs a command that writes one value.
func one[T any](ctx context.Context, c *commands, who caller, l *line) (out T, err error) {
	err = c.call(ctx, who, l, func(value json.RawMessage) error { return json.Unmarshal(value, &out) })
	return out, err
}

// all runs a command that writes any number of values, and keeps some.
func all[T any](ctx context.Context, c *commands, who caller, l *line, most int) (out []T, more bool, err error) {
	out = []T{}
	err = c.call(ctx, who, l, func(value json.RawMessage) error {
		if more = len(out) == most; more {
			return nil
		}
		var is T
		err := json.Unmarshal(value, &is)
		out = append(out, is)
		return err
	})
	return out, more, err
}
