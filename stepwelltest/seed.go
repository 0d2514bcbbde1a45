package stepwelltest

// This file makes chance repeatable: what is random in a workflow comes from its run's seed.

import (
	"context"
	"hash/fnv"
	"sync"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// seeded is a world in memory that gives runs seeds by their IDs, and remembers who was born.
type seeded struct {
	*memory.World

	mu   sync.Mutex
	runs []string // guarded by mu: all, in order of birth
}

func newSeeded() *seeded { return &seeded{World: memory.New()} }

// Commit seeds what is born with it.
func (s *seeded) Commit(ctx context.Context, c *world.Commit) (world.Committed, error) {
	seed(c)
	for _, child := range c.Births {
		seed(child)
	}
	done, err := s.World.Commit(ctx, c)
	if err == nil && done.Existing == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		if c.Birth() {
			s.runs = append(s.runs, c.Run)
		}
		for _, child := range c.Births {
			s.runs = append(s.runs, child.Run)
		}
	}
	return done, err
}

func seed(c *world.Commit) {
	if !c.Birth() || c.Events[0].Birth == nil {
		return
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.Run))
	b := *c.Events[0].Birth
	b.Seed = h.Sum64() | 1
	c.Events[0].Birth = &b
}
