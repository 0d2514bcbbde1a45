package stepwell

// What tests outside the package need of the inside: the machine of a workflow, fed with a log.

import (
	"fmt"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// ReplayLog evaluates a workflow against the log of a run and returns how it ends: nil where it does not.
func ReplayLog(d Definition, run string, log []world.Event) (*replay.Outcome, error) {
	var cfg Config
	if err := cfg.defaults(); err != nil {
		return nil, err
	}
	r := &registrar{cfg: &cfg}
	d.register(r)
	if len(r.workflows) != 1 || len(log) == 0 || log[0].Birth == nil {
		return nil, fmt.Errorf("no workflow, or no birth in the log of %d events", len(log))
	}
	m := replay.New(replay.Config{Run: run, Born: log[0].Time, Seed: log[0].Birth.Seed}, r.workflows[0].Body(log[0].Payload))
	defer m.Close()
	if err := m.Feed(log, false); err != nil {
		return nil, err
	}
	return m.Outcome(), nil
}
