package stepwelltest

// This file makes chance repeatable: what is random in a workflow comes from its run's seed.

import (
	"context"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// seeded is a world that gives runs seeds by their IDs, and remembers who was created, and who was blocked for a broken rule.
type seeded struct {
	world.World

	mu   sync.Mutex
	runs []string                // guarded by mu: all, in order of birth
	rule map[string]*world.Block // guarded by mu: why runs were blocked that broke a rule of workflows, the first time
}

func newSeeded(below world.World) *seeded {
	return &seeded{World: below, rule: map[string]*world.Block{}}
}

// Abilities are those of the world below, but for transactions, which would pass the seeds by.
func (s *seeded) Abilities() world.Abilities {
	a := s.World.Abilities()
	a.Transactor = nil
	return a
}

// Commit seeds what is created with it.
func (s *seeded) Commit(ctx context.Context, c *world.Commit) (world.Committed, error) {
	seed(c)
	for _, child := range c.Births {
		seed(child)
	}
	done, err := s.World.Commit(ctx, c)
	if err == nil && done.Existing == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		if c.Release != nil && breaksRule(c.Release.Blocked) && s.rule[c.Run] == nil {
			s.rule[c.Run] = c.Release.Blocked
		}
		if c.Birth() {
			s.runs = append(s.runs, c.Run)
		}
		for _, child := range c.Births {
			s.runs = append(s.runs, child.Run)
		}
	}
	return done, err
}

// broken tells which runs were ever blocked for a broken rule.
func (s *seeded) broken() map[string]*world.Block {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.rule)
}

// breaksRule reports whether a run is blocked for what no other try makes good: what chance hid the next time is still there.
func breaksRule(b *world.Block) bool {
	return b != nil && (b.Code == world.CodeForeign || b.Code == world.CodeDiverged && strings.HasPrefix(b.Message, replay.Unsteady))
}

func seed(c *world.Commit) {
	if !c.Birth() || c.Events[0].Birth == nil {
		return
	}
	brings := slices.ContainsFunc(c.Events[1:], func(e world.Event) bool { return e.Type != world.SignalReceived }) // those a start sends too
	if brings || c.Events[0].Birth.Origin != nil {                                                                  // what it brings, or was cut from, was written under another seed
		return
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.Run))
	b := *c.Events[0].Birth
	b.Seed = h.Sum64() | 1
	c.Events[0].Birth = &b
}
