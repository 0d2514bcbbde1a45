package logs

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// lines is what was logged, by timers too.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func text(b *lines, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// TestSeldom: ten of a kind a minute, each kind by itself, and what was left out is said at the end of the minute, or when the process ends.
func TestSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b lines
		s := NewSeldom(text(&b, slog.LevelInfo))
		say := func(n int, of string) {
			for i := range n {
				s.Warn("it failed", slog.String("workflow.name", of), "n", i)
			}
		}
		count := func(want string) int { return strings.Count(b.String(), want) }
		say(25, "a")
		say(3, "b")
		if a, other := count("workflow.name=a\n"), count("workflow.name=b\n"); a != 10 || other != 3 {
			t.Fatalf("%d and %d lines, want 10 and 3:\n%s", a, other, b.String())
		}
		<-time.After(time.Minute + time.Millisecond)
		if n := count(`msg="lines were left out" what="it failed" left_out=15`); n != 1 {
			t.Fatalf("%d lines say what was left out, want 1:\n%s", n, b.String())
		}
		say(1, "a")
		if n := count("workflow.name=a\n"); n != 11 {
			t.Errorf("%d lines in the next minute, want one more:\n%s", n, b.String())
		}
		say(12, "b")
		s.Flush()
		if n := count("left_out=2 "); n != 1 {
			t.Errorf("the end does not say what was left out:\n%s", b.String())
		}
		<-time.After(time.Hour)
		if n := count("lines were left out"); n != 2 {
			t.Errorf("it was said again:\n%s", b.String())
		}
	})
}

// TestSeldomIsBounded: names that are made of data share what is left.
func TestSeldomIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b lines
		s := NewSeldom(text(&b, slog.LevelInfo))
		for i := range 5 * mostKinds {
			s.Warn("it failed", slog.String("workflow.name", fmt.Sprint("w", i)))
		}
		if n := strings.Count(b.String(), "\n"); n != mostKinds+mostLines || len(s.kinds) != mostKinds+1 {
			t.Errorf("%d lines of %d kinds, want %d of %d", n, len(s.kinds), mostKinds+mostLines, mostKinds+1)
		}
		s.Flush()
		if want := fmt.Sprintf("left_out=%d", 4*mostKinds-mostLines); !strings.Contains(b.String(), want) {
			t.Errorf("it does not say %s", want)
		}
	})
}

// TestSeldomAtDebug: who wants all of it gets all of it.
func TestSeldomAtDebug(t *testing.T) {
	var b lines
	s := NewSeldom(text(&b, slog.LevelDebug))
	for range 30 {
		s.Warn("it failed", slog.Attr{})
	}
	if warn, debug := strings.Count(b.String(), "level=WARN"), strings.Count(b.String(), "level=DEBUG"); warn != 10 || debug != 20 {
		t.Errorf("%d and %d lines, want 10 and 20", warn, debug)
	}
	s.Flush()
}

func TestForPeople(t *testing.T) {
	for _, c := range []struct {
		msg  string
		args []any
		want string
	}{
		{"run failed", []any{
			"run_id", "r1", "workflow.name", "order", "workflow.version", 3, "step.id", "step_1", "step.name", "charge", "where", "main.go:41",
			"err", errors.New("card refused"), "hint", "To see what you can do: stepwell runs show r1",
		}, "run failed: r1 of order v3, step \"charge\", main.go:41\n  card refused\n  To see what you can do: stepwell runs show r1\n"},
		{"run is blocked", []any{
			"run_id", "r1", "workflow.name", "order", "reason", "DIVERGED", "tries", 1,
			"err", Cause{"it no longer matches; the log has a", "it no longer matches\n  the log has    a\n  the code asks  b   main.go:9"}, "hint", "Deploy.",
		}, "run is blocked: r1 of order (reason DIVERGED)\n  it no longer matches\n    the log has    a\n    the code asks  b   main.go:9\n  Deploy.\n"},
		{"the database is away", []any{"err", "no \x1b[31mconnection"}, "the database is away\n  no \\u001b[31mconnection\n"},
	} {
		var b bytes.Buffer
		log := slog.New(ForPeople(&b))
		log.Info("silent")
		log.Warn(c.msg, c.args...)
		if got := b.String(); got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
}
