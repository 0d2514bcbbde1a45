package behaviour_test

// This file is the sequential oracle: it evaluates a program plainly, one statement after the other. What depends on time (which of a race came
// first, whether an event came in time, what became of another run) it reads in the run's log.

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/stepwell/stepwell/world"
)

// simRead is what a log tells about the statements of its run's program, by their names. Awaits go by the ID of the other run.
type simRead struct {
	names    map[string]string // by correlation ID
	made     map[string]*world.Event
	ended    map[string]*world.Event // steps, waits
	seen     map[string]int64        // number of the event that ended it for the code: of a wait that was received, the signal's
	hooks    map[string][]simRound
	receives map[string]string // hooks, by the waits for their payloads
	patches  map[string]bool
	signals  map[string]int64        // numbers of the first of each name
	kinds    map[string]world.Kind   // by correlation ID
	queued   map[string]bool         // by correlation ID
	begun    map[string]bool         // steps, by name
	left     map[string]*world.Event // steps, waits: what began the next segment, where they had not ended
	attrs    map[string]*world.Event
	segment  int // the newest
	end      *world.Event
	cancel   *world.Event
}

// simRound is one hook of a statement.
type simRound struct {
	id       string
	conflict bool
	payloads []int
	silent   bool // the code gave it up: what comes later is for nobody
	made     time.Time
	closed   time.Time
}

// readLog reads the log of a run with a program.
func readLog(p *simNode, events []world.Event) (*simRead, error) {
	r := &simRead{
		names: map[string]string{}, made: map[string]*world.Event{}, ended: map[string]*world.Event{}, seen: map[string]int64{},
		hooks: map[string][]simRound{}, receives: map[string]string{}, patches: map[string]bool{}, signals: map[string]int64{}, kinds: map[string]world.Kind{},
		queued: map[string]bool{}, begun: map[string]bool{}, left: map[string]*world.Event{}, attrs: map[string]*world.Event{},
	}
	tokens := map[string]string{}
	p.walk(func(n *simNode) {
		if n.Token != "" {
			tokens[n.Token] = n.Name
		}
	})
	for i := range events {
		if err := r.read(&events[i], tokens); err != nil {
			return nil, fmt.Errorf("event %d %s: %w", events[i].Seq, events[i].Type, err)
		}
	}
	return r, nil
}

func (r *simRead) read(e *world.Event, tokens map[string]string) error {
	switch e.Type {
	case world.StepCreated, world.WaitCreated:
		name, err := nameOf(e)
		if err != nil {
			return err
		}
		r.names[e.ID], r.made[name], r.kinds[e.ID], r.queued[e.ID] = name, e, e.Kind, e.Queued
		if h := r.round(e.Peer); h != nil { // it is waited for, or again: there was a heartbeat
			r.receives[e.ID], h.silent = e.Peer, false
		}
		if e.Kind == world.KindPatch {
			r.patches[name] = true
		}
	case world.StepStarted:
		r.begun[r.names[e.ID]] = true
	case world.StepCompleted, world.StepFailed:
		r.ended[r.names[e.ID]], r.seen[r.names[e.ID]] = e, e.Seq
	case world.WaitCompleted:
		r.ended[r.names[e.ID]], r.seen[r.names[e.ID]] = e, e.Seq
		if e.Outcome == world.OutcomeReceived && e.From > 0 {
			r.seen[r.names[e.ID]] = e.From
		}
		if h := r.round(r.receives[e.ID]); h != nil {
			h.silent = e.Outcome == world.OutcomeDue && len(h.payloads) == 0
		}
	case world.SignalReceived:
		if r.signals[e.Name] == 0 {
			r.signals[e.Name] = e.Seq
		}
	case world.HookCreated:
		name, err := hookOf(e.Payload)
		if err != nil {
			return err
		}
		r.names[e.ID] = name
		r.hooks[name] = append(r.hooks[name], simRound{id: e.ID, made: e.Time})
	case world.HookDisposed:
		if h := r.round(e.ID); h != nil {
			h.closed = e.Time
		}
	case world.HookConflict:
		r.hooks[tokens[e.Token]] = append(r.hooks[tokens[e.Token]], simRound{id: e.ID, conflict: true})
	case world.HookReceived:
		return r.payload(e)
	case world.RunContinued:
		r.segment++
		for name := range r.made {
			if r.ended[name] == nil && r.left[name] == nil {
				r.left[name] = e
			}
		}
	case world.AttrSet:
		if before := r.attrs[e.Name]; before != nil {
			return fmt.Errorf("attribute %s was set by event %d", e.Name, before.Seq)
		}
		r.attrs[e.Name] = e
	case world.CancelRequested:
		r.cancel = e
	case world.RunCompleted, world.RunFailed, world.RunCancelled:
		r.end = e
	}
	return nil
}

// round is what is known of a hook; nil: it is none, or not the last of its statement.
func (r *simRead) round(hook string) *simRound {
	rounds := r.hooks[r.names[hook]]
	if len(rounds) == 0 || rounds[len(rounds)-1].id != hook {
		return nil
	}
	return &rounds[len(rounds)-1]
}

// payload adds to the last hook of a statement: one that is disposed of receives nothing.
func (r *simRead) payload(e *world.Event) error {
	last := r.round(e.ID)
	if last == nil {
		return fmt.Errorf("a payload of hook %s, which is not open", e.ID)
	}
	var v int
	if err := json.Unmarshal(e.Payload, &v); err != nil {
		return err
	}
	if n := len(last.payloads); n > 0 && last.payloads[n-1] >= v {
		return fmt.Errorf("payload %d of hook %s comes after payload %d", v, e.ID, last.payloads[n-1])
	}
	last.payloads = append(last.payloads, v)
	return nil
}

// hookOf is the statement that a hook's metadata names.
func hookOf(metadata []byte) (name string, err error) {
	var attended struct{ Metadata json.RawMessage }
	if json.Unmarshal(metadata, &attended) == nil && attended.Metadata != nil {
		metadata = attended.Metadata
	}
	return name, json.Unmarshal(metadata, &name)
}

// nameOf is the name of the statement that made an entity: tasks and children have it in their input.
func nameOf(e *world.Event) (string, error) {
	if e.Kind != world.KindTask && e.Kind != world.KindChild {
		return e.Name, nil
	}
	var n simNode
	err := json.Unmarshal(e.Payload, &n)
	return n.Name, err
}

// result is what a run comes to whose code completes, over all its segments.
func (r *simRead) result(p *simNode) (int, error) {
	v, err := r.value(p)
	for p = p.Next; p != nil && err == nil; p = p.Next {
		var w int
		w, err = r.value(p)
		v = mix(v, w)
	}
	return v, err
}

// value is what a program comes to where its segment completes. A missing outcome is an error.
func (r *simRead) value(n *simNode) (int, error) {
	switch n.Op {
	case "comp":
		return r.value(&n.Kids[0])
	case "attr":
		if e := r.attrs[n.Name]; e == nil || string(e.Payload) != fmt.Sprint(n.Value) {
			return 0, fmt.Errorf("attribute %s is %+v, want %d", n.Name, e, n.Value)
		}
		return 1, nil
	case "step", "task", "blob":
		if e := r.ended[n.Name]; e != nil && e.Error != nil && e.Error.Code == world.CodeNotStarted {
			return simLate, r.late(n)
		}
		if n.Fails < 0 {
			return simFailed, nil
		}
		return n.Value, nil
	case "sleep":
		return 1, nil
	case "event":
		e := r.ended[n.Name]
		if r.inLastTurn(n) {
			return n.Value, nil
		}
		if e == nil {
			return 0, fmt.Errorf("the wait for event %s has no end", n.Name)
		}
		if e.Outcome == world.OutcomeDue {
			return simFailed, nil
		}
		return n.Value, nil
	case "child":
		return r.other(n.Kids[0].Name)
	case "await":
		return r.other(n.ID)
	case "send":
		if r.completed(n.Name) {
			return 1, nil
		}
		return r.other(n.Name)
	case "spawn":
		return 1, nil
	case "hook":
		return r.hook(n)
	case "patch":
		if r.patches[n.Name] {
			return r.value(&n.Kids[0])
		}
		return r.value(&n.Kids[1])
	case "guard":
		return r.all(n.Kids[1:])
	case "cond":
		held := r.made[n.told(true)] != nil
		v, err := r.value(&n.Kids[0])
		if held {
			v++
		}
		return mix(v), err
	case "race", "select":
		first := 0
		for i := range n.Kids {
			if r.order(&n.Kids[i]) < r.order(&n.Kids[first]) {
				first = i
			}
		}
		v, err := r.value(&n.Kids[first])
		if n.Op == "select" {
			v = mix(first, v)
		}
		return v, err
	}
	return r.all(n.Kids)
}

// late holds that a step which no worker began in time had not begun, and that its time was over.
func (r *simRead) late(n *simNode) error {
	made, ended := r.made[n.Name], r.ended[n.Name]
	if n.Queue == 0 || r.begun[n.Name] || ended.Time.Sub(made.Time) < n.Queue {
		return fmt.Errorf("step %s is said not to have begun after %s; it may take %s, and begun: %v", n.Name, ended.Time.Sub(made.Time), n.Queue, r.begun[n.Name])
	}
	return nil
}

// completed reports whether a step did.
func (r *simRead) completed(name string) bool {
	return r.ended[name] != nil && r.ended[name].Type == world.StepCompleted
}

func (r *simRead) all(kids []simNode) (int, error) {
	var vs []int
	for i := range kids {
		v, err := r.value(&kids[i])
		if err != nil {
			return 0, err
		}
		vs = append(vs, v)
	}
	return mix(vs...), nil
}

// order is the place in the log of what ended a kid of a race.
func (r *simRead) order(n *simNode) int64 {
	name := n.Name
	if n.Op == "child" {
		name = n.Kids[0].Name
	}
	if seq := r.seen[name]; seq > 0 {
		return seq
	}
	if n.Op == "event" && r.inLastTurn(n) {
		return r.signals[n.Name]
	}
	return math.MaxInt64
}

// inLastTurn reports whether the code may have waited for an event that had come in the turn in which it came to its end: such a wait is not recorded.
func (r *simRead) inLastTurn(n *simNode) bool { return r.made[n.Name] == nil && r.signals[n.Name] > 0 }

// other is the value of another run's outcome. That it is the right one is checked between the runs.
func (r *simRead) other(name string) (v int, err error) {
	e := r.ended[name]
	switch {
	case e == nil:
		return 0, fmt.Errorf("the result of run %s is not there", name)
	case e.Type == world.StepFailed:
		v, ok := simCodes[e.Error.Code]
		if !ok {
			err = fmt.Errorf("run %s: unknown code %s", name, e.Error.Code)
		}
		return v, err
	}
	return v, json.Unmarshal(e.Payload, &v)
}

func (r *simRead) hook(n *simNode) (int, error) {
	rounds, want := r.hooks[n.Name], 1
	if n.Again && !n.Open {
		want = 2
	}
	if len(rounds) != want {
		return 0, fmt.Errorf("statement %s has %d hooks, want %d", n.Name, len(rounds), want)
	}
	var vs []int
	for _, h := range rounds {
		switch {
		case h.conflict:
			vs = append(vs, simConflict)
		case n.Timeout > 0 && (len(h.payloads) == 0 || h.silent):
			if silent := h.closed.Sub(h.made); !h.closed.IsZero() && silent < n.Timeout {
				return 0, fmt.Errorf("statement %s gave its hook up after %s of silence, want %s", n.Name, silent, n.Timeout)
			}
			vs = append(vs, simSilent)
		case len(h.payloads) < n.Payloads:
			return 0, fmt.Errorf("statement %s went on after %d payloads, want %d", n.Name, len(h.payloads), n.Payloads)
		default:
			vs = append(vs, h.payloads[:n.Payloads]...)
		}
	}
	return mix(vs...), nil
}
