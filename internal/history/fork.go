package history

// This file cuts a log for a fork: a new run that begins with what the source had come to.
//
//  1. It takes the results before the cut, in their order and with their times, and the creations of what they are about. Steps that had
//     not ended are left out, attempts and all: the code asks for them anew. Waits that had not ended stay, with their deadlines.
//  2. IDs are made anew from the names that creations record: they hold the run's ID and its birth. Numbers are given anew.
//  3. Of the segments before the newest, nothing stays but their starts and what was carried over.
//  4. Tokens of hooks are the source's as long as nobody can need them: see [Cut].KeepToken.
//  5. The time between the cut and the fork does not count for the run's timeout; where that had run out it begins anew.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// Cut says what a fork takes over of its source.
type Cut struct {
	Run       string                     // ID of the new run
	Key       string                     // its idempotency key; "": none
	At        int64                      // number of the last event of the source that is taken
	Created   time.Time                  // of the new run
	By        string                     // who forks
	Version   int                        // of the new run; 0: the source's
	Input     json.RawMessage            // of the newest segment; nil: the source's
	Results   map[string]json.RawMessage // results of steps that take the place of the recorded ones, by the source's step ID
	Late      bool                       // results behind the cut are taken too, of what was asked for before it: see [History.Retry]
	Anew      bool                       // the time for the run's timeout begins anew
	KeepToken func(token string) bool    // whether the fork can have a token of the source's; nil: none
}

// entity is what the cut knows of a step, wait or hook of the source.
type entity struct {
	key     world.Key
	created int64
	ended   bool
	id      string // in the fork
}

type cutter struct {
	Cut
	cut      int64 // At, as the source numbers it; h and At may leave no number out
	h        dense
	state    *world.State // at the cut
	newest   int64        // number of the event that began the newest segment
	entities map[string]*entity
	unread   map[int64]bool    // carried into the newest segment
	hooks    map[string]bool   // the same
	aside    map[int64]bool    // payloads that the source set aside behind the cut: they stay with it
	late     []world.Event     // results behind the cut that are kept
	tokens   map[string]string // of hooks, by their IDs, where they are others than the source's
	chosen   []string          // of the source, that the code chose and has others for
	numbers  map[int64]int64   // of the source's events in the fork
	out      []world.Event
}

// Fork returns the events that a fork begins with. The history is not changed. A cut that is not in the log, or a step that is not before
// the cut, is [world.ErrInvalid].
func (h *History) Fork(c Cut) ([]world.Event, error) {
	if err := h.gone(c.At); err != nil {
		return nil, err
	}
	cut := c.At
	w, err := h.whole()
	if err != nil {
		return nil, err
	}
	if w.numbers != nil {
		c.At = w.numbers[c.At]
	}
	state, err := w.stateAt(c.At)
	if err != nil {
		return nil, err
	}
	f := &cutter{
		Cut: c, cut: cut, h: w, state: state, newest: state.SegmentSeq, entities: map[string]*entity{}, unread: map[int64]bool{}, aside: map[int64]bool{}, hooks: map[string]bool{},
		numbers: map[int64]int64{},
	}
	f.retoken()
	f.survey()
	for id := range c.Results {
		if e := f.entities[id]; e == nil || !strings.HasPrefix(id, world.PrefixStep+"_") || e.created <= f.newest {
			return nil, fmt.Errorf("%w: run %s: no step %s in the newest segment up to event %d", world.ErrInvalid, h.Run, id, c.At)
		}
	}
	for i := range f.h.Events[:c.At] {
		f.adopt(&f.h.Events[i])
	}
	for i := range f.late {
		f.adopt(&f.late[i])
	}
	f.invent()
	if f.state.Paused != nil {
		f.add(0, world.Event{Type: world.RunResumed, Time: f.last(), By: c.By, Reason: "forked"})
	}
	return f.out, nil
}

// survey finds what there is up to the cut, and what of it had ended.
func (f *cutter) survey() {
	segment := 0
	for i := range f.h.Events[:f.At] {
		e := &f.h.Events[i]
		switch e.Type {
		case world.RunContinued:
			if segment++; e.Next.Segment != 0 {
				segment = e.Next.Segment
			}
			if e.Seq == f.newest {
				for _, n := range e.Next.Unread {
					f.unread[n] = true
				}
				for _, id := range e.Next.Hooks {
					f.hooks[id] = true
				}
			}
		case world.StepCreated, world.WaitCreated, world.HookCreated, world.HookConflict, world.AttrSet:
			key := e.Key(segment)
			if made, ok := f.h.segments[e.ID]; ok && e.Type == world.HookCreated {
				key.Segment = made
			}
			if e.Type == world.WaitCreated {
				key.Name = f.heard(key.Name)
			}
			f.entities[e.ID] = &entity{
				key: key, created: e.Seq, ended: record(e), id: world.CorrelationID(f.Run, f.Created, key),
			}
		case world.StepCompleted, world.StepFailed:
			f.end(e.ID)
		}
	}
	for _, e := range f.h.Events[f.At:] { // results may follow in the fork, and what its code would have decided before them was decided here
		if e.Type == world.StepCreated && e.Kind == world.KindAside && (f.Late || len(f.Results) > 0) {
			f.aside[e.From] = true
		}
	}
	if !f.Late {
		return
	}
	for _, e := range f.h.Events[f.At:] {
		of := f.entities[e.ID]
		switch {
		case e.Type == world.StepCompleted && of != nil && !of.ended:
			of.ended = true
		case e.Type == world.WaitCompleted && of != nil && e.Outcome != world.OutcomeReceived: // the code takes what it receives
		case e.Type == world.HookReceived && f.state.Hook(e.ID) != nil, e.Type == world.SignalReceived && (e.ID == "" || of != nil):
		default:
			continue
		}
		f.late = append(f.late, e)
	}
}

// heard is the name of an event in the fork: that of a hook's heartbeats names the fork's hook.
func (f *cutter) heard(name string) string {
	if id, ok := strings.CutPrefix(name, journal.Heartbeats); ok && f.entities[id] != nil {
		return journal.Heartbeats + f.entities[id].id
	}
	return name
}

// record reports whether a step_created is no step, but the record of something that is complete with it.
func record(e *world.Event) bool {
	return e.Kind == world.KindPatch || e.Kind == world.KindStream || e.Kind.Posts() || e.Kind.Decision()
}

func (f *cutter) end(step string) {
	if e := f.entities[step]; e != nil {
		e.ended = true
	}
}

// kept reports whether an event of the source is part of the fork.
func (f *cutter) kept(e *world.Event) bool {
	old := e.Seq < f.newest
	switch e.Type {
	case world.RunCreated, world.RunStarted, world.RunContinued, world.CancelRequested:
		return true
	case world.InputReceived:
		return f.newest != 1 || f.Input == nil
	case world.RunPaused, world.RunResumed, world.HookConflict, world.HookDisposed, world.WaitCreated, world.WaitCompleted, world.AttrSet:
		return !old
	case world.SignalReceived, world.HookReceived:
		return (!old || f.unread[e.Seq]) && !f.aside[e.Seq]
	case world.HookCreated:
		return !old || f.hooks[e.ID]
	case world.StepCreated, world.StepStarted, world.StepRetrying, world.StepWoken, world.StepCompleted, world.StepFailed:
		of := f.entities[e.ID]
		_, edited := f.Results[e.ID]
		return !old && of != nil && (of.ended || edited && e.Type == world.StepCreated)
	}
	return false // the end of the run
}

func (f *cutter) adopt(e *world.Event) {
	if !f.kept(e) {
		return
	}
	c := *e
	c.Commit, c.Build = 0, ""
	if c.Type != world.SignalReceived && c.Type != world.HookReceived {
		c.Delivery = ""
	}
	if of := f.entities[c.ID]; of != nil {
		c.ID = of.id
	}
	if c.Type == world.StepCompleted || c.Type == world.StepFailed {
		c.Peer = "" // it is of the source's child
	}
	if c.From != 0 {
		c.From = f.numbers[c.From]
	}
	if of := f.entities[c.Peer]; (c.Kind.Decision() || c.Kind == world.KindReceive) && of != nil {
		c.Peer = of.id // the hook
	}
	if c.Type == world.WaitCreated || c.Type == world.SignalReceived {
		c.Name = f.heard(c.Name)
	}
	switch c.Type {
	case world.RunCreated:
		f.birth(&c)
	case world.RunStarted:
		if f.Version != 0 {
			c.Version = 0
		}
	case world.RunContinued:
		f.next(&c)
	case world.StepCompleted, world.StepFailed:
		if v, ok := f.Results[e.ID]; ok {
			c.Type, c.Payload, c.Apart, c.Error = world.StepCompleted, v, "", nil
		}
	case world.HookCreated:
		if token, other := f.tokens[e.ID]; other {
			c.Peer, c.Token = f.h.Run, token
		} else if c.Peer = f.of(e); !e.Chosen {
			c.Peer = f.h.Run // replay is told that it is not the one that it would make
		}
	case world.AttrSet:
		if f.holds(e.Payload) {
			return // the code sets it anew, to its own token
		}
	}
	f.add(e.Seq, c)
}

// add numbers an event; from is its number in the source.
func (f *cutter) add(from int64, e world.Event) {
	e.Seq = int64(len(f.out)) + 1
	f.numbers[from] = e.Seq
	f.out = append(f.out, e)
}

// last is the time of the last event so far, but for the birth, which is younger than what follows.
func (f *cutter) last() time.Time {
	if len(f.out) < 2 {
		return f.state.Time
	}
	return f.out[len(f.out)-1].Time
}

func (f *cutter) birth(c *world.Event) {
	b := *c.Birth
	b.Key, b.Parent, b.NotBefore = f.Key, nil, time.Time{}
	b.Origin = &world.Origin{Run: f.h.Run, Seq: f.cut}
	if f.Version != 0 {
		b.Version = f.Version
	}
	if b.Timeout > 0 && !f.state.StartedAt.IsZero() {
		since := f.state.Time
		if f.Anew || since.Sub(f.state.StartedAt) >= b.Timeout { // it had run out
			b.Timeout, since = Timeout(f.h.Events), f.state.StartedAt
		}
		b.Timeout += f.Created.Sub(since)
	}
	c.Time, c.Birth = f.Created, &b
	if f.newest == 1 && f.Input != nil {
		c.Payload, c.Apart = f.Input, ""
	}
}

// Timeout is how long the run that begins with these events had from its birth, or from its start where that was later: what a fork's birth says counts from
// the start of the run that it was forked from.
func Timeout(events []world.Event) time.Duration {
	d := events[0].Birth.Timeout
	started := 1
	for started < len(events) && events[started].Type == world.InputReceived {
		started++
	}
	if d > 0 && len(events) > started && events[started].Type == world.RunStarted && events[started].Time.Before(events[0].Time) {
		d -= events[0].Time.Sub(events[started].Time)
	}
	return d
}

// next names what a segment was given by what is kept of that.
func (f *cutter) next(c *world.Event) {
	n := *c.Next
	n.Unread, n.Base, n.Trim = nil, nil, 0 // numbers are others here
	for _, seq := range c.Next.Unread {
		if to := f.numbers[seq]; to != 0 && f.unread[seq] {
			n.Unread = append(n.Unread, to)
		}
	}
	n.Hooks = nil
	for _, id := range c.Next.Hooks {
		if f.hooks[id] {
			n.Hooks = append(n.Hooks, f.entities[id].id)
		}
	}
	if f.Version != 0 {
		n.Version = 0
	}
	if c.Seq == f.newest && f.Input != nil {
		c.Payload, c.Apart = f.Input, ""
	}
	c.Next = &n
}

// invent ends the steps that had not ended, whose results were given.
func (f *cutter) invent() {
	ids := make([]string, 0, len(f.Results))
	for id := range f.Results {
		if e := f.entities[id]; !e.ended {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return int(f.entities[a].created - f.entities[b].created) })
	for _, id := range ids {
		f.add(0, world.Event{Type: world.StepCompleted, ID: f.entities[id].id, Time: f.last(), Payload: f.Results[id]})
	}
}

// StepNamed returns the ID of the step with a name, "charge" or "poll[2]", whose creation is the last up to an event.
func (h *History) StepNamed(name string, at int64) (id string, ok bool) {
	for i := range h.Events {
		if e := &h.Events[i]; e.Seq <= at && e.Type == world.StepCreated && !record(e) && (e.ID == name || e.Name == name && e.Occurrence == 0 || named(e) == name) {
			id, ok = e.ID, true
		}
	}
	return id, ok
}

func named(e *world.Event) string { return e.Name + "[" + strconv.Itoa(e.Occurrence) + "]" }
