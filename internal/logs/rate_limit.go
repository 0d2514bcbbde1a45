package logs

// This file keeps ten thousand lines of one kind from filling a disk, and from hiding what else is said.

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	mostLines = 10          // of one kind in a window
	window    = time.Minute //
	mostKinds = 1000        // that are told apart
)

// Seldom warns, at most ten times a minute of one kind of thing. What is more is written at the level debug, and counted: one line says how many were left out. It
// is safe for concurrent use.
type Seldom struct {
	log *slog.Logger

	mu    sync.Mutex
	kinds map[kind]*count // guarded by mu
}

// kind is a message, and what it is about: a workflow, an address.
type kind struct{ msg, about string }

// count is how often it was said in this window.
type count struct {
	of         slog.Attr
	begun      time.Time
	said, left int
	timer      *time.Timer // says what was left out; nil: nothing was
}

// NewSeldom makes one that writes to a logger.
func NewSeldom(log *slog.Logger) *Seldom { return &Seldom{log: log, kinds: map[kind]*count{}} }

// Heard reports whether anybody is told of warnings.
func (s *Seldom) Heard(ctx context.Context) bool { return s.log.Enabled(ctx, slog.LevelWarn) }

// Warn says something about what of names, which is an attribute of the line too; one with an empty key is of none.
func (s *Seldom) Warn(msg string, of slog.Attr, args ...any) {
	level := slog.LevelWarn
	if !s.allowed(msg, of) {
		level = slog.LevelDebug
	}
	if of.Key != "" {
		args = append(args, of)
	}
	s.log.Log(context.Background(), level, msg, args...)
}

// allowed counts a line.
func (s *Seldom) allowed(msg string, of slog.Attr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, now := kind{msg, of.Value.String()}, time.Now()
	c := s.kinds[k]
	if c == nil {
		if len(s.kinds) >= mostKinds {
			s.forgetLocked(now)
		}
		if len(s.kinds) >= mostKinds {
			k, of = kind{msg, ""}, slog.Attr{}
			c = s.kinds[k]
		}
	}
	if c == nil {
		c = &count{of: of, begun: now}
		s.kinds[k] = c
	}
	if now.Sub(c.begun) >= window && c.timer == nil {
		c.begun, c.said = now, 0
	}
	if c.said < mostLines {
		c.said++
		return true
	}
	if c.left++; c.timer == nil {
		c.timer = time.AfterFunc(window-now.Sub(c.begun), func() { s.tell(k) })
	}
	return false
}

// forgetLocked drops kinds of which nothing is said any more.
func (s *Seldom) forgetLocked(now time.Time) {
	for k, c := range s.kinds {
		if c.timer == nil && now.Sub(c.begun) >= window {
			delete(s.kinds, k)
		}
	}
}

// tell says how many lines of a kind were left out.
func (s *Seldom) tell(k kind) {
	s.mu.Lock()
	c := s.kinds[k]
	if c == nil || c.left == 0 {
		s.mu.Unlock()
		return
	}
	delete(s.kinds, k)
	c.timer.Stop()
	s.mu.Unlock()
	args := []any{"what", k.msg, "left_out", c.left, "since", c.begun.UTC().Truncate(time.Second)}
	if c.of.Key != "" {
		args = append(args, c.of)
	}
	s.log.Warn("lines were left out", append(args, "hint", "the level debug has them all")...)
}

// Flush says now what was left out: a process is about to end.
func (s *Seldom) Flush() {
	s.mu.Lock()
	var all []kind
	for k, c := range s.kinds {
		if c.left > 0 {
			all = append(all, k)
		}
	}
	s.mu.Unlock()
	for _, k := range all {
		s.tell(k)
	}
}

type servedKey struct{}

// Served is a context for a start whose workflow has somebody who works only when he is told to: that no live worker has it is not worth a line.
func Served(ctx context.Context) context.Context {
	return context.WithValue(ctx, servedKey{}, true)
}

// IsServed reports whether a context is one of [Served].
func IsServed(ctx context.Context) bool { return ctx.Value(servedKey{}) != nil }
