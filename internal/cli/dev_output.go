package cli

// This file writes what several programs say at the same time, a name before each line.

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// devOutput keeps lines whole.
type devOutput struct {
	c  *cli
	mu sync.Mutex // of both places
}

func newDevOutput(c *cli) *devOutput { return &devOutput{c: c} }

// say says something of our own.
func (o *devOutput) say(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fmt.Fprintln(o.c.stdout, o.prefix("dev", bold)+fmt.Sprintf(format, args...))
}

func (o *devOutput) prefix(name string, t tone) string {
	return o.c.style().Paint(t, fmt.Sprintf("%-6s │ ", name))
}

// lines is where somebody writes lines.
func (o *devOutput) lines(name string, t tone, to io.Writer) *devLines {
	return &devLines{o: o, to: to, prefix: o.prefix(name, t)}
}

// mostDevLine bounds a line; what is longer becomes several.
const mostDevLine = 64 << 10

// devLines puts a name before each line. It is safe for concurrent use.
type devLines struct {
	o      *devOutput
	to     io.Writer
	prefix string
	rest   []byte // of a line that has not ended; guarded by o.mu
}

// Write writes whole lines, and keeps what is left.
func (l *devLines) Write(b []byte) (int, error) {
	l.o.mu.Lock()
	defer l.o.mu.Unlock()
	n := len(b)
	for len(b) > 0 {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		b = rest
		l.rest = append(l.rest, line...)
		if whole || len(l.rest) >= mostDevLine {
			l.line()
		}
	}
	return n, nil
}

// flush writes a line that has not ended.
func (l *devLines) flush() {
	l.o.mu.Lock()
	defer l.o.mu.Unlock()
	if len(l.rest) > 0 {
		l.line()
	}
}

func (l *devLines) line() {
	_, _ = fmt.Fprintf(l.to, "%s%s\n", l.prefix, l.rest) // nobody is there to be told
	l.rest = l.rest[:0]
}
