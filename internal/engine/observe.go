package engine

// How an Observer comes to hear what it is told, and what is counted for all processes. What a commit brings is noted beside the events as they are folded, and
// told when the commit is there. Without an Observer it is not told: each place asks for nil and goes on.

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"time"

	"github.com/stepwell/stepwell/observe"
	"github.com/stepwell/stepwell/world"
)

// observed is a run's state as it is told.
func (n *notes) observed(st *world.State) observe.Run {
	return observe.Run{
		ID: n.own.run, Workflow: st.Birth.Workflow, Version: st.Version, Context: st.Birth.Context, Parent: st.Birth.Parent, Status: st.Status,
		CreatedAt: st.CreatedAt, StartedAt: st.StartedAt, EndedAt: st.EndedAt, Error: st.Error,
	}
}

// subject is what an event is about, as it was before the event: the fold forgets what is over.
type subject struct {
	step *world.Step
	wait *world.Wait
}

// subjectOf is asked before an event is folded.
func (n *notes) subjectOf(state *world.State, e *world.Event) (sub subject) {
	sub.step, sub.wait = state.Step(e.ID), state.Wait(e.ID)
	return sub
}

// note notes an event that was folded.
func (n *notes) note(state *world.State, e *world.Event, sub subject) {
	if e.Type == world.StepStarted {
		n.firstStart(e, sub.step)
	}
	n.countEvent(state, e, sub.step)
	if n.e.cfg.Observer != nil {
		n.noteEvent(n.e.cfg.Observer, state, e, sub)
	}
	if e.Type == world.StepCompleted || e.Type == world.StepFailed {
		n.ends(e.ID)
	}
}

func (n *notes) noteEvent(o *observe.Observer, state *world.State, e *world.Event, sub subject) {
	var tell func()
	run := func() observe.Run { return n.observed(state) }
	switch e.Type {
	case world.RunStarted:
		tell = bind(o.RunStarted, run)
	case world.RunContinued:
		tell = bind(o.RunContinued, run)
	case world.RunCompleted, world.RunFailed, world.RunCancelled:
		tell = bind(o.RunEnded, run)
	case world.StepStarted:
		tell = n.bindStep(o.StepStarted, state, e, sub.step)
	case world.StepRetrying:
		tell = n.bindStep(o.StepRetried, state, e, sub.step)
	case world.StepCompleted, world.StepFailed:
		tell = n.bindStep(o.StepEnded, state, e, sub.step)
	case world.WaitCreated:
		tell = bind(o.WaitStarted, func() observe.Wait {
			return observe.Wait{Run: n.observed(state), ID: e.ID, Name: e.Name, Kind: e.Kind, StartedAt: e.Time}
		})
	case world.WaitCompleted:
		if w := sub.wait; w != nil {
			tell = bind(o.WaitEnded, func() observe.Wait {
				return observe.Wait{
					Run: n.observed(state), ID: w.ID, Name: w.Key.Name, Kind: w.Kind, StartedAt: w.Created, EndedAt: e.Time, Outcome: e.Outcome,
				}
			})
		}
	case world.SignalReceived:
		tell = bind(o.Signal, func() observe.Signal {
			return observe.Signal{Run: n.observed(state), Event: e.Name, SentAt: happenedAt(e), At: e.Time, Seq: state.Seq}
		})
	}
	n.add(state.Seq, tell)
}

// bind makes the call of a function with what make says now; nil where there is none.
func bind[T any](fn func(T), make func() T) func() {
	if fn == nil {
		return nil
	}
	v := make()
	return func() { fn(v) }
}

// firstStart keeps when the first attempt of a task began: its owner hears of it, and appends it, with the end of the last.
func (n *notes) firstStart(e *world.Event, st *world.Step) {
	if st != nil && !e.OccurredAt.IsZero() {
		n.begins(e.ID, e.OccurredAt)
	}
}

func (n *notes) bindStep(fn func(observe.Step), state *world.State, e *world.Event, st *world.Step) func() {
	if st == nil {
		return nil
	}
	return bind(fn, func() observe.Step {
		step := observe.Step{
			Run: n.observed(state), ID: st.ID, Name: st.Key.Name, Kind: st.Kind, Attempt: e.Attempt, StartedAt: n.startOf(st), Error: e.Error,
		}
		if e.Type != world.StepStarted {
			step.EndedAt = happenedAt(e)
		}
		return step
	})
}

// happenedAt is when something happened, wherever that was.
func happenedAt(e *world.Event) time.Time {
	if !e.OccurredAt.IsZero() && e.OccurredAt.Before(e.Time) {
		return e.OccurredAt
	}
	return e.Time
}

// tellAll counts and tells what is durable by now.
func (n *notes) tellAll(durable int64) {
	if n.some() {
		n.tell(durable, func(one *note) { one.reach(n.e) })
	}
}

// reach tells or counts what a note is about.
func (n *note) reach(e *Engine) {
	if n.tell != nil {
		e.tellOne(n.tell)
	} else {
		e.metrics.Count(n.of, 1, n.seconds)
	}
}

// tellBlocked tells that a run was released blocked.
func (n *notes) tellBlocked(state *world.State, wf *Workflow, b *world.Block) {
	o := n.e.cfg.Observer
	if o == nil || o.RunBlocked == nil || b == nil || state == nil {
		return
	}
	run := n.observed(state)
	if run.Workflow == "" && wf != nil { // its log could not be read
		run.Workflow, run.Version = wf.Name, wf.Version
	}
	run.Blocked = b
	n.e.tellOne(func() { o.RunBlocked(run) })
}

// tellSwept tells that runs were deleted.
func (e *Engine) tellSwept(runs int) {
	e.metrics.Swept(runs)
	if o := e.cfg.Observer; o != nil && o.Swept != nil && runs > 0 {
		e.tellOne(func() { o.Swept(runs) })
	}
}

// tellOne calls a function of the Observer, which may panic.
func (e *Engine) tellOne(tell func()) { Guarded(e.cfg.Logger, tell) }

// Guarded calls a function of an Observer. Where it panics, that is logged.
func Guarded(log *slog.Logger, tell func()) {
	defer func() {
		if v := recover(); v != nil {
			log.Error("the Observer panicked", "err", fmt.Sprint(v), "stack", trimStack(debug.Stack()))
		}
	}()
	tell()
}

// carry adds to the context of a run that is about to be created what the Observer says, but for what is there already. The map that it is given stays as it is.
func (e *Engine) carry(context map[string]string, ask func(o *observe.Observer) map[string]string) map[string]string {
	o := e.cfg.Observer
	if o == nil {
		return context
	}
	var more map[string]string
	e.tellOne(func() { more = ask(o) })
	if len(more) == 0 {
		return context
	}
	out := maps.Clone(more)
	maps.Copy(out, context)
	return out
}

// Carry is what a run is created with whose start was called with a context: see [observe.Observer].Starting.
func (e *Engine) Carry(ctx context.Context, workflow string, given map[string]string) map[string]string {
	return e.carry(given, func(o *observe.Observer) map[string]string {
		if o.Starting == nil {
			return nil
		}
		return o.Starting(ctx, observe.Start{Workflow: workflow, Context: given})
	})
}

// childContext is what a child is created with: its trace goes on with its parent's.
func (n *notes) childContext(state *world.State, b *world.Birth) map[string]string {
	given := b.Context
	out := n.e.carry(given, func(o *observe.Observer) map[string]string {
		if o.StartingChild == nil {
			return nil
		}
		return o.StartingChild(n.observed(state), observe.Start{Workflow: b.Workflow, Context: given})
	})
	if len(out) > 0 {
		return out
	}
	return traceOf(state.Birth.Context)
}

// watching is the Observer's part of an attempt.
type watching struct {
	step observe.Step
	end  func(err error) // nil: it does not want to know
}

// watchBody lets the Observer see an attempt of this session's own.
func (n *notes) watchBody(state *world.State, b *body, name string) {
	if o := n.e.cfg.Observer; o != nil && o.Attempt != nil {
		kind := world.KindClosure
		if st := state.Step(b.step); st != nil {
			kind = st.Kind
		}
		b.watching = &watching{step: observe.Step{
			Run: n.observed(state), ID: b.step, Name: name, Kind: kind, Attempt: b.attempt, StartedAt: b.started,
		}}
	}
}

// watchTask lets the Observer see an attempt of a task.
func (e *Engine) watchTask(b *body) {
	o, t := e.cfg.Observer, b.task
	if o == nil || o.Attempt == nil {
		return
	}
	run := observe.Run{ID: t.Run, Workflow: t.Workflow, Status: world.Running}
	if seen := seenWith(t.Options); seen != nil {
		run.Version, run.Context = seen.Version, seen.Context
	}
	b.watching = &watching{step: observe.Step{
		Run: run, ID: t.Step, Name: t.Name, Kind: world.KindTask, Attempt: t.Attempt, StartedAt: b.started,
	}}
}

// begin tells the Observer that an attempt begins, and returns the context that its body gets.
func (w *watching) begin(e *Engine, ctx context.Context) context.Context {
	body := ctx
	e.tellOne(func() {
		its, end := e.cfg.Observer.Attempt(ctx, w.step)
		if w.end = end; its != nil {
			body = its
		}
	})
	return body
}

// over tells the Observer what an attempt came to.
func (w *watching) over(e *Engine, err error) {
	if end := w.end; end != nil {
		w.end = nil
		e.tellOne(func() { end(err) })
	}
}

// seen is what a task carries for the Observer of whoever runs it, beside its policy.
type seen struct {
	Version int               `json:"version,omitempty"`
	Context map[string]string `json:"context,omitempty"` // traceKeys alone
}

// withSeen adds to a task's options what an Observer elsewhere needs of its run. Without an Observer, and without a trace, they stay as they are.
func (n *notes) withSeen(state *world.State, options json.RawMessage) json.RawMessage {
	trace := traceOf(state.Birth.Context)
	if n.e.cfg.Observer == nil && trace == nil {
		return options
	}
	all := map[string]json.RawMessage{}
	if len(options) > 0 && json.Unmarshal(options, &all) != nil {
		return options
	}
	about, err := json.Marshal(seen{Version: state.Version, Context: trace})
	if err != nil {
		return options
	}
	all["seen"] = about
	if out, err := json.Marshal(all); err == nil {
		return out
	}
	return options
}

func seenWith(options json.RawMessage) *seen {
	var all struct {
		Seen *seen `json:"seen"`
	}
	if len(options) == 0 || json.Unmarshal(options, &all) != nil {
		return nil
	}
	return all.Seen
}

// traceKeys are what a task carries of its run's context, so that whoever runs it can go on with the trace.
var traceKeys = []string{"traceparent", "tracestate"}

// traceOf is what of a context belongs to its trace; nil: nothing.
func traceOf(context map[string]string) map[string]string {
	var out map[string]string
	for _, k := range traceKeys {
		if v := context[k]; v != "" {
			if out == nil {
				out = map[string]string{}
			}
			out[k] = v
		}
	}
	return out
}
