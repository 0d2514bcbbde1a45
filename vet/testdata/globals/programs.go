package globals

import (
	"context"
	"log/slog"

	"github.com/stepwell/stepwell"
)

// store is of the program: its methods are a workflow and a step, and all runs have it in common.
type store struct {
	log   *slog.Logger
	calls int
	known map[string]bool
	limit int
}

func newStore(log *slog.Logger) []stepwell.Definition {
	s := &store{log: log, known: map[string]bool{}, limit: 3}
	return []stepwell.Definition{stepwell.Define("store", s.flow), stepwell.DefineStep("learn", s.learn)}
}

func (s *store) flow(ctx stepwell.Context, id string) (int, error) {
	s.calls++
	if s.calls > 10 { // want `workflow code reads calls, which all runs have in common and change \(globals/programs.go:\d+\)`
		return 0, nil
	}
	if s.known[id] { // want `workflow code reads known, which all runs have in common and change`
		s.log.Info("known") // want `Logger.Info of log in workflow code`
	}
	own := &visit{store: s}
	own.seen++
	return s.limit + own.seen, nil // near: globals
}

func (s *store) learn(ctx context.Context, id string) (int, error) {
	s.known[id] = true
	return len(s.known), nil
}

// visit is of one run.
type visit struct {
	store *store
	seen  int
}
