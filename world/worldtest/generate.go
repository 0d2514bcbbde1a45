// Generated logs: sequences of events that a legal run can have, held against the fold as they are drawn.

package worldtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
	"pgregory.net/rapid"
)

// History draws the log of a legal run, from its birth: at most limit numbered events of all types,
// with all their fields. The fold accepts each; the State is its result.
func History(t *rapid.T, run string, limit int) ([]world.Event, *world.State) {
	h := history{t: t, run: run, now: world.Now(), state: &world.State{ID: run}}
	h.key = pick(&h, "key", "", "", "", "2026-11")
	h.add(h.birth())
	for len(h.events) < limit && !h.state.Status.Terminal() {
		h.add(h.next())
	}
	return h.events, h.state
}

// Split splits events into commits at drawn places.
func Split(t *rapid.T, events []world.Event) (commits [][]world.Event) {
	for len(events) > 0 {
		n := rapid.IntRange(1, min(len(events), 12)).Draw(t, "events in a commit")
		commits, events = append(commits, events[:n:n]), events[n:]
	}
	return commits
}

type history struct {
	t      *rapid.T
	run    string
	now    time.Time
	state  *world.State
	events []world.Event
	key    string // ID of the key that the run is encrypted with; payloads look no different
	n      int    // entities, signals and tokens so far, to make new names of
}

// add numbers, stamps and folds an event.
func (h *history) add(e world.Event) {
	h.now = h.now.Add(time.Duration(rapid.IntRange(0, 3).Draw(h.t, "µs")) * time.Microsecond)
	e.Seq, e.Time = h.state.Seq+1, h.now
	if e.Type == world.RunCreated || e.Type != world.AttrSet && (e.Payload != nil || e.Match != nil || e.Error != nil || e.Listen != nil) {
		e.Encrypted = h.key
	}
	e.Listened = h.state.EndsListening(&e)
	folded := e
	if changed, err := h.state.Apply(&folded, time.Time{}); err != nil || !changed {
		h.t.Fatalf("event %d, %s: changed %v, error %v; the generator drew what is not legal", e.Seq, e.Type, changed, err)
	}
	h.events = append(h.events, e)
}

func pick[T any](h *history, label string, from ...T) T {
	return rapid.SampledFrom(from).Draw(h.t, label)
}

func (h *history) fresh(prefix string) string {
	h.n++
	return fmt.Sprintf("%s_%d", prefix, h.n)
}

func (h *history) name() string {
	return pick(h, "name", "a", "charge card", `quo"ted \ back`, "größe/€/🙂", strings.Repeat("n", world.MaxName))
}

func (h *history) payload() json.RawMessage {
	return pick(h, "payload", nil, json.RawMessage(`null`), json.RawMessage(`{}`), json.RawMessage(`{ "a" : [1, 2.50, 1e3] }`),
		json.RawMessage(`"größe 🙂 \u0000 <&>"`), json.RawMessage(`12345678901234567890`), json.RawMessage(`"`+strings.Repeat("x", 3000)+`"`))
}

func (h *history) problem() *world.Error {
	e := &world.Error{Name: "*fs.PathError", Message: "no such file: \"ü\"\n", Code: pick(h, "code", "", world.CodeTimeout, "MINE")}
	if rapid.Bool().Draw(h.t, "deep") {
		e.Causes = []*world.Error{{Message: "inner", Value: json.RawMessage(`{"a":1}`)}, {Message: "other", Matches: []string{"EOF"}}}
		e.Where, e.Stack, e.Permanent = "main.go:17", "goroutine 1:\n\tmain.main()", true
	}
	return e
}

func (h *history) later() time.Time {
	return h.now.Add(time.Duration(rapid.IntRange(1, 1e9).Draw(h.t, "later")) * time.Microsecond)
}

func (h *history) maybe(t time.Time) time.Time {
	if rapid.Bool().Draw(h.t, "with time") {
		return t
	}
	return time.Time{}
}

func (h *history) attributes() map[string]json.RawMessage {
	return pick(h, "attributes", nil, map[string]json.RawMessage{"tenant": json.RawMessage(`"t 1"`), "größe": json.RawMessage(`{ "x": 1 }`)})
}

func (h *history) birth() world.Event {
	b := &world.Birth{
		Workflow: "generated", Version: pick(h, "version", 0, 1, 12), Seed: rapid.Uint64().Draw(h.t, "seed"),
		Priority: pick(h, "priority", 0, 1, 3), Attributes: h.attributes(),
	}
	if rapid.Bool().Draw(h.t, "full birth") {
		b.Key, b.Retention, b.Timeout, b.NotBefore = h.run, 30*24*time.Hour, time.Minute, h.later()
		b.Parent, b.Origin = &world.Parent{Run: "wrun_gone", Step: "step_gone", Detached: true}, &world.Origin{Run: "wrun_gone", Seq: 12}
		b.Deployment, b.Context = "blue", map[string]string{"traceparent": "00-ab-cd-01", "user": "jörg"}
	}
	if rapid.Bool().Draw(h.t, "gathers") {
		b.Gather = &world.Gather{Key: pick(h, "key of what is gathered", "", "größe"), Quiet: time.Second, Most: time.Minute}
	}
	return world.Event{Type: world.RunCreated, Payload: h.payload(), Birth: b}
}

// next draws one event that is legal now.
func (h *history) next() world.Event {
	var legal []func() world.Event
	offer := func(weight int, f func() world.Event) {
		for range weight {
			legal = append(legal, f)
		}
	}
	offer(4, h.stepCreated)
	offer(2, h.waitCreated)
	offer(2, h.hookCreated)
	offer(2, h.signal)
	offer(1, h.attrSet)
	offer(1, h.runEvent)
	if open := sorted(h.state.Steps(), func(s *world.Step) string { return s.ID }); len(open) > 0 {
		offer(6, func() world.Event { return h.step(pick(h, "step", open...)) })
	}
	if open := sorted(h.state.Waits(), func(w *world.Wait) string { return w.ID }); len(open) > 0 {
		offer(2, func() world.Event { return h.waitCompleted(pick(h, "wait", open...)) })
	}
	if open := sorted(h.state.Hooks(), func(k *world.Hook) string { return k.ID }); len(open) > 0 {
		offer(2, func() world.Event { return h.hook(pick(h, "hook", open...)) })
	}
	return rapid.SampledFrom(legal).Draw(h.t, "event")()
}

// sorted makes a choice among open entities depend on the drawn numbers alone.
func sorted[T any](all func(func(T) bool), id func(T) string) []T {
	return slices.SortedFunc(all, func(a, b T) int { return strings.Compare(id(a), id(b)) })
}

func (h *history) creation(t world.EventType, prefix string) world.Event {
	e := world.Event{Type: t, Name: h.name(), Path: pick(h, "path", "", "fetch[17]/go[0]"), Occurrence: rapid.IntRange(0, 3).Draw(h.t, "occurrence")}
	e.ID = h.fresh(prefix)
	if rapid.Bool().Draw(h.t, "derived ID") {
		k := e.Key(h.state.Segment)
		k.Name += h.fresh("")
		k.Kind = map[string]world.Kind{
			world.PrefixStep: world.KindClosure, world.PrefixWait: world.KindSleep, world.PrefixHook: world.KindHook, world.PrefixAttr: world.KindAttr,
		}[prefix]
		e.ID = world.CorrelationID(h.run, h.state.CreatedAt, k)
	}
	return e
}

func (h *history) stepCreated() world.Event {
	e := h.creation(world.StepCreated, world.PrefixStep)
	e.Kind = pick(h, "kind", world.KindClosure, world.KindTask, world.KindChild, world.KindAwait, world.KindSend, world.KindPatch)
	e.Payload = h.payload()
	switch e.Kind {
	case world.KindTask:
		e.Queued = true
		if rapid.Bool().Draw(h.t, "under a limit") {
			e.Places = []world.Place{{Limit: "bank", Number: 2, Key: h.name()}}
		}
	case world.KindChild, world.KindAwait, world.KindSend:
		e.Peer = h.fresh("wrun_other")
	}
	return e
}

// refer has an event refer to a value that is kept apart, now and then.
func (h *history) refer(e *world.Event) {
	if !rapid.Bool().Draw(h.t, "kept apart") {
		return
	}
	a := world.Apart{ID: world.NewID(world.PrefixApart, world.Now()), Size: 1, SHA256: strings.Repeat("0", 64)}
	if e.Payload = a.JSON(); rapid.Bool().Draw(h.t, "a reference, and no value that looks like one") {
		e.Apart = a.ID
	}
}

func (h *history) step(s *world.Step) world.Event {
	e := world.Event{ID: s.ID, Attempt: s.Attempts}
	choice := rapid.IntRange(0, 5).Draw(h.t, "what of the step")
	switch {
	case choice >= 2 && choice < 5 && s.Status == world.StepPending && !s.RetryAt.IsZero(): // rare, as few steps wait to be tried again
		e.Type, e.By = world.StepWoken, "ann"
	case choice == 0:
		e.Type, e.Payload, e.OccurredAt = world.StepCompleted, h.payload(), h.maybe(h.now)
		h.refer(&e)
		if rapid.Bool().Draw(h.t, "through the inbox") {
			e.Delivery = h.fresh("delivery ü")
		}
	case choice == 1:
		e.Type, e.Error = world.StepFailed, h.problem()
	case s.Status == world.StepRunning:
		e.Type, e.Error, e.RetryAt = world.StepRetrying, h.problem(), h.maybe(h.later())
	default:
		e.Type, e.Attempt = world.StepStarted, s.Attempts+1
	}
	return e
}

func (h *history) waitCreated() world.Event {
	e := h.creation(world.WaitCreated, world.PrefixWait)
	e.Kind = pick(h, "kind", world.KindSleep, world.KindEvent, world.KindCondition, world.KindReceive)
	e.Until = h.maybe(h.later())
	if e.Kind == world.KindEvent {
		e.Match = pick(h, "match", nil, json.RawMessage(`{"id" : 7}`))
		if rapid.Bool().Draw(h.t, "listens") {
			e.Listen = world.NewListen("order.*", pick(h, "since", 0, time.Minute), e.Match, "", nil)
		}
	}
	return e
}

func (h *history) waitCompleted(w *world.Wait) world.Event {
	e := world.Event{Type: world.WaitCompleted, ID: w.ID, Outcome: pick(h, "outcome", world.OutcomeDue, world.OutcomeWoken, world.OutcomeReceived)}
	if e.Outcome == world.OutcomeReceived {
		e.From = h.state.Seq
	}
	return e
}

func (h *history) hookCreated() world.Event {
	e := h.creation(world.HookCreated, world.PrefixHook)
	e.Token, e.Chosen, e.Payload = h.fresh(h.run+" tökén"), rapid.Bool().Draw(h.t, "chosen"), h.payload()
	if rapid.IntRange(0, 3).Draw(h.t, "conflict") == 0 {
		e = world.Event{Type: world.HookConflict, ID: e.ID, Name: e.Name, Path: e.Path, Occurrence: e.Occurrence, Token: e.Token, Peer: "wrun_holder"}
	}
	return e
}

func (h *history) hook(k *world.Hook) world.Event {
	if rapid.Bool().Draw(h.t, "dispose") {
		return world.Event{Type: world.HookDisposed, ID: k.ID}
	}
	return world.Event{Type: world.HookReceived, ID: k.ID, Delivery: h.fresh("payload"), Payload: h.payload(), OccurredAt: h.maybe(h.now)}
}

func (h *history) signal() world.Event {
	return world.Event{Type: world.SignalReceived, Delivery: h.fresh("signal"), Name: h.name(), Payload: h.payload(), OccurredAt: h.maybe(h.now)}
}

func (h *history) attrSet() world.Event {
	e := h.creation(world.AttrSet, world.PrefixAttr)
	if e.Payload = h.payload(); e.Payload == nil {
		e.Payload = json.RawMessage(`1`)
	}
	return e
}

// runEvent draws an event about the run as a whole; the end comes seldom.
func (h *history) runEvent() world.Event {
	if h.state.Status == world.Pending {
		if g := h.state.Birth.Gather; g != nil && rapid.Bool().Draw(h.t, "a further input") {
			key := pick(h, "key of a start", "", h.run+"/"+h.fresh("start"))
			return world.Event{Type: world.InputReceived, Name: key, Delivery: h.fresh("input"), Payload: json.RawMessage(`{"further":1}`)}
		}
		return world.Event{Type: world.RunStarted, Version: pick(h, "version", 0, 2), MaxPayload: pick(h, "max payload", 0, 1<<10), MaxValue: pick(h, "max value", 0, world.MaxApart)}
	}
	by := world.Event{By: "ann <ann@example.org>", Reason: pick(h, "reason", "", "because of \"this\"")}
	switch choice := rapid.IntRange(0, 9).Draw(h.t, "what of the run"); {
	case choice < 3 && h.state.Paused == nil:
		by.Type = world.RunPaused
	case choice < 3:
		by.Type = world.RunResumed
	case choice < 4 && h.state.Cancel == nil:
		by.Type, by.Delivery = world.CancelRequested, h.fresh("cancel")
	case choice == 7:
		e := world.Event{Type: world.RunCompleted, Payload: h.payload()}
		h.refer(&e)
		return e
	case choice == 8:
		return world.Event{Type: world.RunFailed, Error: h.problem()}
	case choice == 9:
		by.Type, by.Error = world.RunCancelled, pick(h, "error", nil, h.problem())
	default:
		return h.continued()
	}
	return by
}

func (h *history) continued() world.Event {
	next := &world.Continuation{Version: pick(h, "version", 0, 3), Attributes: maps.Clone(h.attributes())}
	for i, k := range sorted(h.state.Hooks(), func(k *world.Hook) string { return k.ID }) {
		if i%2 == 0 {
			next.Hooks = append(next.Hooks, k.ID)
		}
	}
	if rapid.Bool().Draw(h.t, "unread") {
		next.Unread = []int64{1, h.state.Seq}
	}
	if pick(h, "base", true, true, true, false) {
		if next.Base = h.state.BaseFor(next); next.Base != nil && rapid.Bool().Draw(h.t, "trimmed") {
			next.Base.Starts, next.Trim = []int64{h.state.Seq}, h.state.Seq+1
		}
	}
	return world.Event{Type: world.RunContinued, Payload: h.payload(), Next: next, MaxPayload: pick(h, "max payload", 0, world.MaxCommit/4)}
}
