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
func (s *session) observed() observe.Run {
	st := s.state
	return observe.Run{
		ID: s.own.run, Workflow: st.Birth.Workflow, Version: st.Version, Context: st.Birth.Context, Parent: st.Birth.Parent, Status: st.Status,
		CreatedAt: st.CreatedAt, StartedAt: st.StartedAt, EndedAt: st.EndedAt, Error: st.Error,
	}
}

// subject is what an event is about, as it was before the event: the fold forgets what is over.
type subject struct {
	step *world.Step
	wait *world.Wait
}

// subjectOf is asked before an event is folded.
func (s *session) subjectOf(e *world.Event) (sub subject) {
	if listens(s.e) {
		sub.step, sub.wait = s.state.Step(e.ID), s.state.Wait(e.ID)
	}
	return sub
}

// note notes an event that was folded.
func (s *session) note(e *world.Event, sub subject) {
	if !listens(s.e) {
		return
	}
	if e.Type == world.StepStarted {
		s.firstStart(e, sub.step)
	}
	if s.e.metrics != nil {
		s.notes.countEvent(s.state, e, sub.step)
	}
	if s.e.cfg.Observer != nil {
		s.noteEvent(s.e.cfg.Observer, e, sub)
	}
	if e.Type == world.StepCompleted || e.Type == world.StepFailed {
		s.notes.ends(e.ID)
	}
}

// listens reports whether somebody wants to hear of events.
func listens(e *Engine) bool { return e.cfg.Observer != nil || e.metrics != nil }

func (s *session) noteEvent(o *observe.Observer, e *world.Event, sub subject) {
	var tell func()
	switch e.Type {
	case world.RunStarted:
		tell = bind(o.RunStarted, s.observed)
	case world.RunContinued:
		tell = bind(o.RunContinued, s.observed)
	case world.RunCompleted, world.RunFailed, world.RunCancelled:
		tell = bind(o.RunEnded, s.observed)
	case world.StepStarted:
		tell = s.bindStep(o.StepStarted, e, sub.step)
	case world.StepRetrying:
		tell = s.bindStep(o.StepRetried, e, sub.step)
	case world.StepCompleted, world.StepFailed:
		tell = s.bindStep(o.StepEnded, e, sub.step)
	case world.WaitCreated:
		tell = bind(o.WaitStarted, func() observe.Wait {
			return observe.Wait{Run: s.observed(), ID: e.ID, Name: e.Name, Kind: e.Kind, StartedAt: e.Time}
		})
	case world.WaitCompleted:
		if w := sub.wait; w != nil {
			tell = bind(o.WaitEnded, func() observe.Wait {
				return observe.Wait{
					Run: s.observed(), ID: w.ID, Name: w.Key.Name, Kind: w.Kind, StartedAt: w.Created, EndedAt: e.Time, Outcome: e.Outcome,
				}
			})
		}
	case world.SignalReceived:
		tell = bind(o.Signal, func() observe.Signal {
			return observe.Signal{Run: s.observed(), Event: e.Name, SentAt: happenedAt(e), At: e.Time, Seq: s.state.Seq}
		})
	}
	s.notes.add(s.state.Seq, tell)
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
func (s *session) firstStart(e *world.Event, st *world.Step) {
	if st != nil && !e.OccurredAt.IsZero() {
		s.notes.begins(e.ID, e.OccurredAt)
	}
}

func (s *session) bindStep(fn func(observe.Step), e *world.Event, st *world.Step) func() {
	if st == nil {
		return nil
	}
	return bind(fn, func() observe.Step {
		step := observe.Step{
			Run: s.observed(), ID: st.ID, Name: st.Key.Name, Kind: st.Kind, Attempt: e.Attempt, StartedAt: s.notes.startOf(st), Error: e.Error,
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

// tellNotes counts and tells what is durable by now.
func (s *session) tellNotes() {
	if s.notes.some() {
		s.notes.tell(s.durable, func(n *note) { n.reach(s.e) })
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
func (s *session) tellBlocked(b *world.Block) {
	o := s.e.cfg.Observer
	if o == nil || o.RunBlocked == nil || b == nil || s.state == nil {
		return
	}
	run := s.observed()
	if run.Workflow == "" && s.wf != nil { // its log could not be read
		run.Workflow, run.Version = s.wf.Name, s.wf.Version
	}
	run.Blocked = b
	s.e.tellOne(func() { o.RunBlocked(run) })
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
func (s *session) childContext(b *world.Birth) map[string]string {
	given := b.Context
	out := s.e.carry(given, func(o *observe.Observer) map[string]string {
		if o.StartingChild == nil {
			return nil
		}
		return o.StartingChild(s.observed(), observe.Start{Workflow: b.Workflow, Context: given})
	})
	if len(out) > 0 {
		return out
	}
	return traceOf(s.state.Birth.Context)
}

// watching is the Observer's part of an attempt.
type watching struct {
	step observe.Step
	end  func(err error) // nil: it does not want to know
}

// watchBody lets the Observer see an attempt of this session's own.
func (s *session) watchBody(b *body, name string) {
	if o := s.e.cfg.Observer; o != nil && o.Attempt != nil {
		kind := world.KindClosure
		if st := s.state.Step(b.step); st != nil {
			kind = st.Kind
		}
		b.watching = &watching{step: observe.Step{
			Run: s.observed(), ID: b.step, Name: name, Kind: kind, Attempt: b.attempt, StartedAt: b.started,
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
func (s *session) withSeen(options json.RawMessage) json.RawMessage {
	trace := traceOf(s.state.Birth.Context)
	if s.e.cfg.Observer == nil && trace == nil {
		return options
	}
	all := map[string]json.RawMessage{}
	if len(options) > 0 && json.Unmarshal(options, &all) != nil {
		return options
	}
	about, err := json.Marshal(seen{Version: s.state.Version, Context: trace})
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
