package engine

// This file holds the code of a run, in memory.

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// evaluation is the code of a run: its definition, and its machine.
//
//   - There is no machine without a definition. It is of the run's present segment, and began with what that carries.
//   - Each machine that was made is unwound, or handed to the cache: the present one when the session ends, one of an
//     earlier segment as soon as no body runs that it asked for.
//   - Others may look at which machine is fed, and at nothing else.
type evaluation struct {
	e       *Engine
	own     *title
	wf      *Workflow // nil: claimed only to be cancelled
	m       *replay.Machine
	watched atomic.Pointer[replay.Machine] // the machine that is fed; for the watch
	trial   trial
	carried carried           // what the segment started with
	old     []*replay.Machine // of segments that are over, while bodies run that they asked for
}

// open gives what the evaluation needs.
func (v *evaluation) open(e *Engine, own *title) {
	v.e, v.own, v.trial = e, own, trial{on: e.cfg.Strict}
}

// use begins with the code that there is for a run; nil: it is let alone.
func (v *evaluation) use(wf *Workflow) { v.wf = wf }

// machine is the code that runs; nil: none does. workflow is its definition; nil: this worker has none.
func (v *evaluation) machine() *replay.Machine { return v.m }
func (v *evaluation) workflow() *Workflow      { return v.wf }

// strictly is what strict mode knows.
func (v *evaluation) strictly() *trial { return &v.trial }

// evaluating is the machine that is fed; nil: there is none. Anybody may ask.
func (v *evaluation) evaluating() *replay.Machine { return v.watched.Load() }

// unread is how many payloads the code has not taken, and crowded reports whether that is so much that senders are
// to be told: that is done with the release, and so does not wait for a moment without mail.
func (v *evaluation) unread() int {
	if v.m == nil {
		return 0
	}
	return v.m.Kept()
}

func (v *evaluation) crowded() bool { return v.m != nil && v.m.Crowded(v.e.cfg.Unread) }

// resume goes on with a machine that was cached, which is to hear what has been since, if there was anything.
func (v *evaluation) resume(m *replay.Machine, since bool) {
	v.m = m
	v.m.SetReplaying(since)
	v.watched.Store(m)
}

// forget unwinds the machine, which is to be made anew.
func (v *evaluation) forget() {
	v.e.unwind(v.m)
	v.m, v.carried = nil, carried{}
}

// without takes the code away until back is called.
func (v *evaluation) without() (back func()) {
	wf, m := v.wf, v.m
	v.wf, v.m, v.carried = nil, nil, carried{}
	return func() { v.wf, v.m = wf, m }
}

// enter makes the machine of a segment that was read from the log, and begin that of a run whose birth is in the
// turn.
func (v *evaluation) enter(state *world.State, unread []world.Event) {
	v.carried = carried{
		unread: unread, attributes: maps.Clone(state.Attributes), hooks: slices.SortedFunc(state.Hooks(), byHookID),
	}
	v.trial.segment()
	if v.wf != nil {
		v.newMachine(state)
		v.m.SetReplaying(true)
	}
}

func (v *evaluation) begin(state *world.State) {
	v.carried.attributes = state.Birth.Attributes
	v.newMachine(state)
}

// next begins the next segment. With no definition, it is left to others, and false.
func (v *evaluation) next(wf *Workflow, with carried, state *world.State) bool {
	v.carried = with
	if wf == nil {
		v.m = nil
		v.watched.Store(nil)
		return false
	}
	v.wf = wf
	v.newMachine(state)
	return true
}

// leaveSegment puts the machine of a segment away that is over. It is unwound as soon as no body runs that it asked
// for: now, or at the end.
func (v *evaluation) leaveSegment(idle bool) {
	v.old = append(v.old, v.m)
	for _, w := range v.trial.leave() {
		v.old = append(v.old, w.m)
	}
	if idle {
		v.unwind()
	}
}

// unwind unwinds the machines of segments that are over.
func (v *evaluation) unwind() {
	for _, m := range v.old {
		v.e.unwind(m)
	}
	v.old = nil
}

func (v *evaluation) newMachine(state *world.State) {
	v.m = v.anew(state)
	v.watched.Store(v.m)
}

// anew makes a machine for the run's present segment.
func (v *evaluation) anew(state *world.State) *replay.Machine {
	return replay.New(replay.Config{
		Run: v.own.run, Created: state.CreatedAt, Seed: state.Birth.Seed, Segment: state.Segment,
		Build: v.e.cfg.Build, Worker: v.e.cfg.Name, Strict: v.e.cfg.Strict, Secret: v.e.cfg.Secret,
		Fails: v.wf.crashes(),
		Fork:  state.Birth.Origin != nil, Unread: v.carried.unread, Hooks: v.carried.hooks, Attributes: v.carried.attributes,
	}, bodyOf(v.wf, state))
}
