package logs

// This file writes lines for a programmer who watches them come: what happened, below it the cause whole, and last what to do.

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/stepwell/stepwell/internal/human"
)

// Cause is why something went wrong: a line for logs, and more where there is room for it.
type Cause struct {
	Line string
	Text string // the same in lines, with all that there is to say
}

// longestCause is how many characters of a cause stand in a line.
const longestCause = 1000

// CauseOf is a cause that says the same in a line: of an error that joins several, each.
func CauseOf(text string) Cause {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	return Cause{Line: human.Cut(strings.Join(lines, "; "), longestCause), Text: text}
}

// LogValue is the line.
func (c Cause) LogValue() slog.Value { return slog.StringValue(c.Line) }

// ForPeople is a handler that writes warnings for people. Attributes that have a place in a sentence are not repeated.
func ForPeople(to io.Writer) slog.Handler { return &people{to: to, mu: new(sync.Mutex)} }

type people struct {
	to    io.Writer
	mu    *sync.Mutex // of to
	attrs []slog.Attr
}

func (p *people) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (p *people) WithAttrs(as []slog.Attr) slog.Handler {
	return &people{p.to, p.mu, append(p.attrs[:len(p.attrs):len(p.attrs)], as...)}
}

func (p *people) WithGroup(string) slog.Handler { return p }

// Handle writes a record.
func (p *people) Handle(_ context.Context, r slog.Record) error {
	l := peopleLine{}
	for _, a := range p.attrs {
		l.see(a)
	}
	r.Attrs(func(a slog.Attr) bool {
		l.see(a)
		return true
	})
	text := l.text(r.Message)
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := io.WriteString(p.to, text)
	return err
}

// peopleLine is what a record says, by its place.
type peopleLine struct {
	run, workflow, version, step, where, hint string

	cause Cause
	rest  []string
}

func (l *peopleLine) see(a slog.Attr) {
	if c, ok := a.Value.Any().(Cause); ok {
		l.cause = c
		return
	}
	v := human.VisibleLines(a.Value.Resolve().String())
	switch a.Key {
	case "run_id":
		l.run = v
	case "workflow.name":
		l.workflow = v
	case "workflow.version":
		l.version = v
	case "step.name":
		l.step = v
	case "where":
		l.where = v
	case "hint":
		l.hint = v
	case "err":
		l.cause.Text = v
	case "step.id", "tries": // of no use to whoever reads
	default:
		l.rest = append(l.rest, a.Key+" "+v)
	}
}

// text is the record: run X of order v1 …
func (l *peopleLine) text(msg string) string {
	var b strings.Builder
	b.WriteString(msg)
	switch {
	case l.run != "" && l.workflow != "":
		fmt.Fprintf(&b, ": %s of %s", l.run, l.named())
	case l.run != "":
		fmt.Fprintf(&b, ": %s", l.run)
	case l.workflow != "":
		fmt.Fprintf(&b, ": %s", l.named())
	}
	if l.step != "" {
		fmt.Fprintf(&b, ", step %q", l.step)
	}
	if l.where != "" && !strings.Contains(l.cause.Text, l.where) {
		fmt.Fprintf(&b, ", %s", l.where)
	}
	if len(l.rest) > 0 {
		b.WriteString(" (" + strings.Join(l.rest, ", ") + ")")
	}
	b.WriteString("\n")
	for _, part := range []string{human.VisibleLines(l.cause.Text), l.hint} {
		for line := range strings.SplitSeq(part, "\n") {
			if line = strings.TrimRight(line, " "); line != "" {
				b.WriteString("  " + line + "\n")
			}
		}
	}
	return b.String()
}

func (l *peopleLine) named() string {
	if l.version == "" || l.version == "0" {
		return l.workflow
	}
	return l.workflow + " v" + l.version
}
