package engine

// This file watches for workflow code that does not give control back: it costs a slot and a core, and nobody else
// would tell.

import (
	"context"
	"time"

	"github.com/stepwell/stepwell/internal/replay"
)

// stall is code that has had control since the watch first saw it.
type stall struct {
	machine *replay.Machine
	round   uint64 // how often code of it got control
	since   time.Time
	told    bool
}

// watchLoop looks at all sessions a few times in each [Config.Stall], and reports code that has not given control
// back for so long, once, with its stack.
func (e *Engine) watchLoop(ctx context.Context) {
	seen := map[*session]*stall{}
	for pause(ctx, e.cfg.Stall/5) {
		e.says.look(ctx)
		now := e.clock.now()
		still := map[*session]*stall{}
		for _, s := range e.holdings.evaluating() {
			m := s.eval.evaluating()
			round, on := m.Evaluating()
			if !on {
				continue
			}
			st := seen[s]
			if st == nil || st.machine != m || st.round != round {
				st = &stall{machine: m, round: round, since: now}
			}
			still[s] = st
			if !st.told && now.Sub(st.since) >= e.cfg.Stall {
				st.told = true
				e.cfg.Logger.Warn("workflow code does not yield", "run_id", s.own.run, "workflow.name", s.eval.workflow().Name, "since", st.since,
					"stack", trimStack(m.Stack()))
			}
		}
		seen = still
		e.noteStalls(seen)
	}
	e.noteStalls(nil)
}

func (e *Engine) noteStalls(seen map[*session]*stall) {
	told := map[string]time.Time{}
	for s, st := range seen {
		if st.told {
			told[s.own.run] = st.since
		}
	}
	e.stalls.set(told)
}

// Stalled tells since when the code of a run that this worker evaluates has not given control back; ok is false
// where it does, or is not here.
func (e *Engine) Stalled(run string) (since time.Time, ok bool) {
	return e.stalls.of(run)
}
