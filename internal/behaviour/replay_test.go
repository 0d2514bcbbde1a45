package behaviour_test

// Logs held against code by the machine alone: no App, no world.

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// replayLog evaluates a workflow against the log of a run and returns how it ends: nil where it does not.
func replayLog(d stepwell.Definition, run string, log []world.Event) (*replay.Outcome, error) {
	code, err := kit.Code(d)
	if err != nil {
		return nil, err
	}
	if len(log) == 0 || log[0].Birth == nil {
		return nil, fmt.Errorf("no birth in the log of %d events", len(log))
	}
	m := replay.New(replay.Config{Run: run, Created: log[0].Time, Seed: log[0].Birth.Seed}, code(log[0].Payload))
	defer m.Close()
	if err := m.Feed(log, false); err != nil {
		return nil, err
	}
	return m.Outcome(), nil
}

// replayStrictly evaluates a workflow against the log of a run, segment by segment, in strict mode. Each comes to the
// continuation that began the next; it returns how the last one ends: nil where it does not.
func replayStrictly(d stepwell.Definition, run string, log []world.Event) (out *replay.Outcome, err error) {
	code, err := kit.Code(d)
	if err != nil {
		return nil, err
	}
	state := &world.State{ID: run}
	for first := 0; first < len(log); {
		next := first + 1
		for next < len(log) && log[next].Type != world.RunContinued {
			next++
		}
		if out, err = replaySegment(code, state, log, first, next); err != nil {
			return nil, err
		}
		if next < len(log) && (out == nil || out.Continue == nil || string(out.Continue.Input) != string(log[next].Payload)) {
			return nil, fmt.Errorf("event %d continues the run with %s, its code came to %+v", next+1, log[next].Payload, out)
		}
		first = next
	}
	return out, nil
}

// replaySegment evaluates the code of the segment that the events from first to next are. The state is that before
// them, and behind them after.
func replaySegment(code func([]byte) replay.Body, state *world.State, log []world.Event, first, next int) (out *replay.Outcome, err error) {
	for i := first; i < next; i++ {
		if _, err := state.Apply(&log[i], time.Time{}); err != nil {
			return nil, err
		}
		if i > first {
			continue
		}
		cfg := replay.Config{Run: state.ID, Created: state.CreatedAt, Seed: state.Birth.Seed, Segment: state.Segment, Strict: true, Fails: func(*replay.PanicError) bool { return true }}
		cfg.Hooks = slices.SortedFunc(state.Hooks(), func(a, b *world.Hook) int { return cmp.Compare(a.ID, b.ID) })
		if c := log[first].Next; c != nil {
			for _, seq := range c.Unread {
				cfg.Unread = append(cfg.Unread, log[seq-1])
			}
		}
		m := replay.New(cfg, code(log[first].Payload))
		defer m.Close()
		if err := m.Feed(log[first:next], false); err != nil {
			return nil, err
		}
		out = m.Outcome()
	}
	return out, nil
}
