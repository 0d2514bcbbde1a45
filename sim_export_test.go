package stepwell

// What the simulation needs of the inside: a strict replay of a log.

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// ReplayStrictly evaluates a workflow against the log of a run, segment by segment, in strict mode. Each comes to the continuation that began the next;
// it returns how the last one ends: nil where it does not.
func ReplayStrictly(d Definition, run string, log []world.Event) (out *replay.Outcome, err error) {
	var cfg Config
	if err := cfg.defaults(); err != nil {
		return nil, err
	}
	r := &registrar{cfg: &cfg}
	d.register(r)
	state := &world.State{ID: run}
	for first := 0; first < len(log); {
		next := first + 1
		for next < len(log) && log[next].Type != world.RunContinued {
			next++
		}
		if out, err = r.replaySegment(state, log, first, next); err != nil {
			return nil, err
		}
		if next < len(log) && (out == nil || out.Continue == nil || string(out.Continue.Input) != string(log[next].Payload)) {
			return nil, fmt.Errorf("event %d continues the run with %s, its code came to %+v", next+1, log[next].Payload, out)
		}
		first = next
	}
	return out, nil
}

// replaySegment evaluates the code of the segment that the events from first to next are. The state is that before them, and behind them after.
func (r *registrar) replaySegment(state *world.State, log []world.Event, first, next int) (out *replay.Outcome, err error) {
	for i := first; i < next; i++ {
		if _, err := state.Apply(&log[i], time.Time{}); err != nil {
			return nil, err
		}
		if i > first {
			continue
		}
		cfg := replay.Config{Run: state.ID, Born: state.CreatedAt, Seed: state.Birth.Seed, Segment: state.Segment, Strict: true}
		cfg.Hooks = slices.SortedFunc(state.Hooks(), func(a, b *world.Hook) int { return cmp.Compare(a.ID, b.ID) })
		if c := log[first].Next; c != nil {
			for _, seq := range c.Unread {
				cfg.Unread = append(cfg.Unread, log[seq-1])
			}
		}
		m := replay.New(cfg, r.workflows[0].Body(log[first].Payload))
		defer m.Close()
		if err := m.Feed(log[first:next], false); err != nil {
			return nil, err
		}
		out = m.Outcome()
	}
	return out, nil
}
