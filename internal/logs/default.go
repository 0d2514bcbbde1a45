// Package logs is how Stepwell says by itself what an operator should know: where lines go when nobody said so, how often one of a kind is written, and how
// they look to a programmer at work.
package logs

import (
	"context"
	"log/slog"
	"os"
)

// DevVariable is set by stepwell dev: warnings are written for people then, see [ForPeople].
const DevVariable = "STEPWELL_DEV"

// Discard is a logger that nobody hears.
func Discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Default is where warnings go when a program gave no logger: to slog.Default as it is when they are written; under stepwell dev to standard error, for people.
func Default(getenv func(string) string) *slog.Logger {
	if getenv(DevVariable) != "" {
		return slog.New(ForPeople(os.Stderr))
	}
	return slog.New(&standard{least: slog.LevelWarn})
}

// Own is where what an author's own code says goes when the program gave no logger: all of it to slog.Default.
func Own() *slog.Logger { return slog.New(&standard{least: slog.LevelDebug}) }

// standard is the handler of slog.Default, from a level up. A program may set that one later than it makes an App.
type standard struct {
	least slog.Level
	with  []func(slog.Handler) slog.Handler // attributes and groups, in order
}

func (s *standard) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= s.least && slog.Default().Handler().Enabled(ctx, l)
}

func (s *standard) Handle(ctx context.Context, r slog.Record) error {
	h := slog.Default().Handler()
	for _, with := range s.with {
		h = with(h)
	}
	return h.Handle(ctx, r)
}

func (s *standard) WithAttrs(as []slog.Attr) slog.Handler {
	return s.and(func(h slog.Handler) slog.Handler { return h.WithAttrs(as) })
}

func (s *standard) WithGroup(name string) slog.Handler {
	return s.and(func(h slog.Handler) slog.Handler { return h.WithGroup(name) })
}

func (s *standard) and(with func(slog.Handler) slog.Handler) slog.Handler {
	return &standard{least: s.least, with: append(s.with[:len(s.with):len(s.with)], with)}
}
