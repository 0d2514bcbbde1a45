package stepwell

// What the simulation needs of the inside: a strict replay of a whole log.

import (
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// ReplayStrictly evaluates a workflow against the log of a run, in strict mode, and returns how it ends: nil where it does not.
func ReplayStrictly(d Definition, run string, log []world.Event) (*replay.Outcome, error) {
	var cfg Config
	if err := cfg.defaults(); err != nil {
		return nil, err
	}
	r := &registrar{cfg: &cfg}
	d.register(r)
	m := replay.New(replay.Config{Run: run, Born: log[0].Time, Seed: log[0].Birth.Seed, Strict: true}, r.workflows[0].Body(log[0].Payload))
	defer m.Close()
	if err := m.Feed(log, false); err != nil {
		return nil, err
	}
	return m.Outcome(), nil
}
