package engine

// This file holds the bodies of a session, from when their start is decided until they have returned.

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

// bodies are those that a session has: some are to start, the others run.
//
//   - A body that is to start has a slot, and one in quarantine its place; it starts when what records it is durable.
//     Its slot is given back where that never comes.
//   - A step has one body that runs here at most. It is here until it has returned, or the session gives its attempt
//     up.
//   - What it held when it returned is given back once, whether somebody still waits for its result or not.
type bodies struct {
	e         *Engine
	own       *title
	slots     *stepSlots
	isolation *isolation
	running   map[string]*body // by step
	starts    []*body          // to start when the commit is there
}

// open gives the bodies their room, and room takes it back.
func (b *bodies) open(running map[string]*body, starts []*body) {
	b.running, b.starts = running, starts
}

func (b *bodies) room() (starts []*body) {
	starts, b.starts = b.starts, nil
	return starts
}

// of is the body of a step that runs here; nil: none does.
func (b *bodies) of(step string) *body { return b.running[step] }

// count is how many run, and some reports whether any does.
func (b *bodies) count() int { return len(b.running) }
func (b *bodies) some() bool { return len(b.running) > 0 }

// add adds one that starts, remove takes one out, and clear takes out all.
func (b *bodies) add(one *body)      { b.running[one.step] = one }
func (b *bodies) remove(step string) { delete(b.running, step) }
func (b *bodies) clear()             { clear(b.running) }

// start adds a body that is to start when the turn is durable. starting is how many do, and isStarting reports whether
// that of a step does. drainStarts takes all of them, and keepRoom gives their list back.
func (b *bodies) start(one *body) { b.starts = append(b.starts, one) }
func (b *bodies) starting() int   { return len(b.starts) }
func (b *bodies) isStarting(step string) bool {
	return slices.ContainsFunc(b.starts, func(one *body) bool { return one.step == step })
}
func (b *bodies) drainStarts() []*body {
	starts := b.starts
	b.starts = nil
	return starts
}
func (b *bodies) keepRoom(starts []*body) {
	clear(starts)
	b.starts = starts[:0]
}

// dropStarts gives back the slots of bodies that will not start.
func (b *bodies) dropStarts() {
	starts := b.drainStarts()
	b.slots.back(len(starts))
	for _, one := range starts {
		if one.quarantined {
			b.isolation.done()
		}
	}
}

// cancel ends the contexts of all that run.
func (b *bodies) cancel(cause error) {
	for _, one := range b.running {
		one.cancel(cause)
	}
}

// working reports whether a body runs that has not yielded its slot: then the session keeps its run slot.
func (b *bodies) working() bool {
	for _, one := range b.running {
		if !one.seat.isAway() {
			return true
		}
	}
	return false
}

// letGo lets those in quarantine that wait for runs go on by themselves: the session starts nothing.
func (b *bodies) letGo() {
	for _, one := range b.running {
		if one.parked {
			one.seat.letGo()
		}
	}
}

// returned takes over what a body held when it returned.
func (b *bodies) returned(msg *message) {
	if msg.result.slot {
		b.slots.back(1)
	}
	if msg.result.alone {
		b.isolation.done()
	}
}

// inOrder lists the steps whose bodies run here, in the order in which they were asked for; one that is over comes
// first.
func (b *bodies) inOrder(state *world.State) []string {
	created := func(step string) int64 {
		if st := state.Step(step); st != nil {
			return st.Created
		}
		return 0
	}
	return slices.SortedFunc(maps.Keys(b.running), func(x, y string) int {
		return cmp.Or(cmp.Compare(created(x), created(y)), cmp.Compare(x, y))
	})
}

// reportAbandoned tells whoever owns the run now that the attempts which run here were given up, not dead: the process
// outlived its lease.
func (b *bodies) reportAbandoned(now time.Time) {
	for step, one := range b.running {
		if one.task == nil && !one.parked {
			b.reportAttempt(step, one.attempt, "its worker lost its lease", now)
		}
	}
}

// reportUnbegun tells the same of attempts whose start a commit has written though their bodies never begin: the lease
// ended before its answer came.
func (b *bodies) reportUnbegun(c *world.Commit, now time.Time) {
	const why = "its worker lost its lease before it began"
	for i := range c.Events {
		if e := &c.Events[i]; e.Type == world.StepStarted {
			b.reportAttempt(e.ID, e.Attempt, why, now)
		}
	}
	for i := range c.Tasks {
		if t := c.Tasks[i]; t.Worker != "" {
			b.e.bodies.Go(func() { b.e.deliverTask(b.e.abandonment(&t, b.e.clock.now(), why)) })
		}
	}
}

func (b *bodies) reportAttempt(step string, attempt int, why string, now time.Time) {
	d := &world.Delivery{Run: b.own.run, ID: fmt.Sprintf("abandoned:%s:%d", step, attempt), Events: []world.Event{{
		Type: world.StepRetrying, ID: step, Attempt: attempt, RetryAt: now, Error: abandoned(why),
	}}}
	b.e.bodies.Go(func() {
		if _, err := b.e.cfg.World.Deliver(b.e.workCtx, d); err != nil {
			b.e.cfg.Logger.Info("an abandoned attempt could not be reported", "run_id", d.Run, "step.id", step, "err", err)
		}
	})
}
