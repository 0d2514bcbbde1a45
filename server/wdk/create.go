package wdk

// What an event comes to: the only way in which anything about a run changes.

import (
	"context"
	crypto "crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/devalue"
	"github.com/stepwell/stepwell/world"
)

// createIn asks for an event.
type createIn struct {
	RunID  string  `json:"runId"`
	Event  eventIn `json:"event"`
	Params struct {
		EventCount  *int64 `json:"eventCount"`
		SinceCursor string `json:"sinceCursor"`
		SkipPreload bool   `json:"skipPreload"`
		ResumeID    string `json:"resumeId"`
		Digest      string `json:"resumePayloadDigest"` // of what is delivered as resumeId
		ResolveData string `json:"resolveData"`
	} `json:"params"`
	Call  string `json:"call"`  // names the call: what comes twice under it is done once
	Again bool   `json:"again"` // it was sent before, and no answer came
}

// createOut is what became of it.
type createOut struct {
	Event       *eventOut  `json:"event,omitempty"`
	Run         *runOut    `json:"run,omitempty"`
	Step        *stepOut   `json:"step,omitempty"`
	Hook        *hookOut   `json:"hook,omitempty"`
	Wait        *waitOut   `json:"wait,omitempty"`
	StepCreated bool       `json:"stepCreated,omitempty"`
	Events      []eventOut `json:"events,omitempty"`
	Cursor      any        `json:"cursor,omitempty"`
	HasMore     *bool      `json:"hasMore,omitempty"`
}

// commitID is what the commit of the call is known by, also behind a restart.
func (in *createIn) commitID() (id [16]byte) {
	call := in.Call
	if call == "" {
		call = crypto.Text()
	}
	sum := sha256.Sum256([]byte(call))
	return [16]byte(sum[:16])
}

// commitName is the same as text.
func (in *createIn) commitName() string { return fmt.Sprintf("%x", in.commitID()) }

// mostTries is how often a commit is tried that came behind another one's.
const mostTries = 8

func (h *Host) createEvent(ctx context.Context, in *createIn) (any, error) {
	if in.RunID == "" && in.Event.Type == world.RunCreated {
		in.RunID = world.NewID(world.PrefixRun, time.Now())
	}
	if err := errors.Join(world.CheckRunID(in.RunID), in.Event.check()); err != nil {
		return nil, err
	}
	var out *createOut
	err := trying(ctx, in.Again, func(again bool) error {
		err := h.with(ctx, in.RunID, again, func(r *run) (err error) {
			out, err = h.create(ctx, r, in, again)
			no := errors.As(err, new(*Refusal)) || errors.Is(err, world.ErrTooLarge)
			if no && !again { // what is in memory may be old, and nothing was written
				if err = h.load(ctx, r); err == nil {
					out, err = h.create(ctx, r, in, false)
				}
			}
			if err != nil && !errors.As(err, new(*Refusal)) {
				r.forget()
			}
			return err
		})
		var r *Refusal
		none := errors.As(err, &r) && r.Name == "WorkflowRunNotFoundError"
		if errors.Is(err, errForeign) && in.Event.Type == world.RunStarted {
			return err
		}
		if none && in.Event.begins() {
			out, err = h.birth(ctx, in)
		}
		return err
	})
	return out, err
}

// trying tries what came behind another one's commit again, as one that may have been written.
func trying(ctx context.Context, again bool, f func(again bool) error) error {
	for try := 1; ; try++ {
		err := f(again)
		lost := errors.Is(err, world.ErrLeaseLost) || errors.Is(err, world.ErrUnknownOutcome) || errors.Is(err, world.ErrTerminal)
		switch {
		case err == nil, errors.As(err, new(*Refusal)):
			return err
		case !lost || try == mostTries || ctx.Err() != nil:
			return refused(err)
		}
		again = true
		time.Sleep(time.Duration(try) * 5 * time.Millisecond)
	}
}

// begins reports whether the event can be the first of a run.
func (e *eventIn) begins() bool {
	return e.Type == world.RunCreated || e.Type == world.RunStarted && e.Data["workflowName"] != nil && e.Data["input"] != nil
}

// birth writes a run's first event, and that it has started, where the event says that.
func (h *Host) birth(ctx context.Context, in *createIn) (out *createOut, err error) {
	e := &in.Event
	var attributes map[string]json.RawMessage
	if b := e.Data["attributes"]; len(b) > 0 {
		if err := json.Unmarshal(b, &attributes); err != nil {
			return nil, fmt.Errorf("%w: attributes: %w", world.ErrInvalid, err)
		}
	}
	if e.Data == nil {
		e.Data = map[string]json.RawMessage{}
	}
	now := world.Now()
	kept, err := h.kept(ctx)
	if err != nil {
		return nil, err
	}
	e.Data[specMember] = json.RawMessage(strconv.Itoa(e.Spec))
	events := []world.Event{{Type: world.RunCreated, Time: now, Payload: e.data(), Birth: &world.Birth{
		Workflow: workflowName(e.text("workflowName")), Version: version, Seed: rand.Uint64() | 1, Priority: 1,
		Deployment: e.text("deploymentId"), Attributes: attributes, Retention: kept,
	}}}
	if e.Type == world.RunStarted {
		events = append(events, world.Event{Type: world.RunStarted, Time: now})
	}
	created := &world.Commit{ID: in.commitID(), Run: in.RunID, Worker: h.worker.now(), Claim: 1, First: 1, Events: events}
	_, err = h.world.Commit(ctx, created)
	if errors.Is(err, world.ErrLeaseLost) {
		if held, err := h.holds.have(ctx, events[0].Birth.Workflow, true); err != nil || held {
			if err != nil {
				return nil, err
			}
			return h.createHeld(ctx, in, created)
		}
	}
	if errors.Is(err, world.ErrRunExists) && e.Type == world.RunStarted {
		return nil, fmt.Errorf("%w: it began just now", world.ErrLeaseLost) // and is read
	}
	if err != nil {
		return nil, err
	}
	err = h.with(ctx, in.RunID, true, func(r *run) error {
		r.worker, r.claim = h.worker.now(), 1
		out = r.created(in, len(r.events)-1)
		return nil
	})
	return out, err
}

// create appends an event to a run.
func (h *Host) create(ctx context.Context, r *run, in *createIn, again bool) (*createOut, error) {
	e := &in.Event
	if again {
		if at, err := h.written(ctx, r, in); err != nil {
			return nil, err
		} else if at >= 0 {
			return r.created(in, at), nil
		}
	}
	out, err := r.judge(in)
	if out != nil && !again { // it says what is there without a commit, which would show that this is old
		if err := h.load(ctx, r); err != nil {
			return nil, err
		}
		out, err = r.judge(in)
	}
	if err != nil || out != nil {
		return out, err
	}
	if r.state.Status.Terminal() { // of a step that ran then
		at, err := h.beside.write(ctx, r, in)
		if err != nil {
			return nil, err
		}
		return r.created(in, at), nil
	}
	events, err := r.made(in)
	if err != nil {
		return nil, err
	}
	if err := h.own(ctx, r); err != nil {
		if e.Type == world.RunCancelled && errors.As(err, new(*Refusal)) {
			return h.cancelHeld(ctx, r, in)
		}
		return nil, err
	}
	c, at := r.next(in.commitID()), len(r.events)
	if e.Type == world.HookCreated { // the world says whether the token is free
		c.Events, c.Conditions = events, []world.Condition{{Event: 0}}
	} else {
		for i := range events {
			if at, err = r.follow(c, &events[i]); err != nil {
				return nil, err
			}
		}
		if e.Type == world.AttrSet {
			at -= len(events) - 1
		}
	}
	if err := h.flush(ctx, r, c); err != nil {
		return nil, err
	}
	return r.created(in, at), nil
}

// next is the commit of a run that follows what it has.
func (r *run) next(id [16]byte) *world.Commit {
	return &world.Commit{ID: id, Run: r.id, Worker: r.worker, Claim: r.claim, First: r.state.Seq + 1}
}

// follow has an event follow what the run has, and the commit that is to write it; it returns its place.
func (r *run) follow(c *world.Commit, e *world.Event) (at int, err error) {
	e.Seq, e.Commit = r.state.Seq+1, c.First
	changed, err := r.state.Apply(e, e.Time)
	if err == nil && !changed {
		err = fmt.Errorf("%s says nothing new: %w", e.Type, world.ErrConflict)
	}
	if err != nil {
		if len(c.Events) > 0 {
			r.forget()
		}
		return -1, refused(err)
	}
	c.Events = append(c.Events, *e)
	return len(r.events), r.add(e, false)
}

// flush writes a commit that the run has in memory already; but for what the world decides, which the run takes then.
// Where it fails the run is read anew.
func (h *Host) flush(ctx context.Context, r *run, c *world.Commit) error {
	for i := range c.Events {
		c.Events[i].Seq, c.Events[i].Commit = 0, 0
	}
	done, err := h.world.Commit(ctx, c)
	if err == nil && len(c.Conditions) > 0 {
		if done.Events == nil {
			done.Events = c.Events
		}
		e := done.Events[0]
		e.Seq, e.Commit = c.First, c.First
		err = r.add(&e, true)
	}
	if err != nil {
		r.forget()
	}
	return err
}

// judge refuses an event that the run, as it is, does not take; or answers it, where nothing is to be written.
func (r *run) judge(in *createIn) (*createOut, error) {
	e := &in.Event
	over := r.state.Status.Terminal()
	st, isStep := r.steps[e.CorrelationID], false
	switch e.Type {
	case world.RunCreated:
		return nil, conflict("run %s exists", r.id)
	case world.RunStarted:
		if over {
			return nil, expired("run %s is %s", r.id, r.state.Status)
		}
		if r.state.Status == world.Running {
			return r.created(in, -1), nil
		}
	case world.RunCancelled:
		if r.state.Status == world.Cancelled {
			return r.created(in, r.endedAt()), nil
		}
		fallthrough
	case world.RunCompleted, world.RunFailed, world.AttrSet, world.WaitCreated:
		if over {
			return nil, conflict("run %s is %s", r.id, r.state.Status)
		}
		if e.Type == world.WaitCreated && r.waits[e.CorrelationID] != nil {
			return nil, conflict("wait %s exists", e.CorrelationID)
		}
	case world.StepCreated:
		if over || st != nil {
			return nil, conflict("run %s is %s, or step %s exists", r.id, r.state.Status, e.CorrelationID)
		}
	case world.StepStarted:
		if lazy := e.lazy(); lazy && (over || st != nil) {
			return nil, conflict("run %s is %s, or step %s exists", r.id, r.state.Status, e.CorrelationID)
		} else if lazy {
			return nil, nil
		}
		isStep = true
	case world.StepCompleted, world.StepFailed, world.StepRetrying:
		isStep = true
	case world.HookCreated:
		if over || r.state.Hook(e.CorrelationID) != nil || r.state.Over(e.CorrelationID) {
			return nil, conflict("run %s is %s, or hook %s exists", r.id, r.state.Status, e.CorrelationID)
		}
	case world.HookReceived:
		return r.judgeReceived(in)
	case world.HookDisposed:
		if over || r.state.Hook(e.CorrelationID) == nil {
			return nil, noHook(e.CorrelationID)
		}
	case world.WaitCompleted:
		w := r.waits[e.CorrelationID]
		if w == nil || over && w.completed.IsZero() {
			return nil, missing("wait %.60q of run %s", e.CorrelationID, r.id)
		}
		if !w.completed.IsZero() {
			return nil, conflict("wait %s is completed", e.CorrelationID)
		}
	default:
		return nil, fmt.Errorf("%w: %.40q is not an event that can be requested", world.ErrInvalid, e.Type)
	}
	if !isStep {
		return nil, nil
	}
	switch {
	case over && (e.Type == world.StepStarted || st == nil || st.status != "running"):
		return nil, expired("run %s is %s", r.id, r.state.Status)
	case st == nil:
		return nil, missing("step %.60q of run %s", e.CorrelationID, r.id)
	case st.ended >= 0:
		return nil, conflict("step %s is %s", e.CorrelationID, st.status)
	}
	if wait := time.Until(st.retryAfter); e.Type == world.StepStarted && wait > 0 {
		return nil, refused(&world.TooEarlyError{Step: e.CorrelationID, RetryAfter: wait})
	}
	return nil, nil
}

// judgeReceived: what was delivered before under the same ID is answered as it was then, also where the hook is
// gone since.
func (r *run) judgeReceived(in *createIn) (*createOut, error) {
	e := &in.Event
	if id := in.Params.ResumeID; id != "" {
		for at := range r.events {
			if old := &r.events[at]; old.Type == world.HookReceived && old.Delivery == id {
				if old.ID != e.CorrelationID {
					return nil, conflict("resume %s was delivered to another hook", id)
				}
				var was map[string]json.RawMessage
				_ = json.Unmarshal(old.Payload, &was) // of what came over our API there is none
				if d := textOf(was[digestMember]); d != "" && in.Params.Digest != "" && d != in.Params.Digest {
					return nil, conflict("resume %s was delivered with another payload", id)
				}
				return r.created(in, at), nil
			}
		}
	}
	if r.state.Status.Terminal() {
		return nil, expired("run %s is %s", r.id, r.state.Status)
	}
	if r.state.Hook(e.CorrelationID) == nil {
		return nil, noHook(e.CorrelationID)
	}
	return nil, nil
}

// lazy reports whether a step_started creates its step as well.
func (e *eventIn) lazy() bool {
	return e.Type == world.StepStarted && e.Data["stepName"] != nil && e.Data["input"] != nil
}

// made are the events of ours that an event of the DevKit is.
func (r *run) made(in *createIn) ([]world.Event, error) {
	e := &in.Event
	now := world.Now()
	if now.Before(r.state.Time) {
		now = r.state.Time
	}
	ev := world.Event{Type: e.Type, Time: now, ID: e.CorrelationID}
	if st := r.steps[e.CorrelationID]; st != nil {
		ev.Attempt = st.attempts
	}
	var err error
	switch e.Type {
	case world.RunStarted, world.HookDisposed:
	case world.RunCompleted, world.StepCompleted:
		ev.Payload = e.data()
	case world.RunFailed:
		ev.Error = &world.Error{Message: devalue.Message(e.Data["error"]), Code: e.text("errorCode"), Value: e.Data["error"]}
	case world.RunCancelled:
		ev.By, ev.Reason = name, e.text("cancelReason")
	case world.StepCreated:
		r.nameStep(&ev, e)
		ev.Payload = e.data()
	case world.StepStarted:
		ev.Attempt++
		ev.Payload = e.data("input")
		if e.lazy() {
			created := world.Event{Type: world.StepCreated, Time: now, ID: e.CorrelationID, Payload: e.data("ownerMessageId", "attempt")}
			r.nameStep(&created, e)
			return []world.Event{created, ev}, nil
		}
	case world.StepFailed:
		ev.Error = &world.Error{Message: devalue.Message(e.Data["error"]), Value: e.Data["error"], Permanent: true}
	case world.StepRetrying:
		ev.Error = &world.Error{Message: devalue.Message(e.Data["error"]), Value: e.Data["error"]}
		ev.RetryAt, err = e.moment("retryAfter")
	case world.WaitCreated:
		ev.Kind, ev.Name, ev.Occurrence = world.KindSleep, "sleep", len(r.waits)
		ev.Until, err = e.moment("resumeAt")
	case world.WaitCompleted:
		if ev.Outcome = world.OutcomeWoken; !r.waits[e.CorrelationID].until.After(now) {
			ev.Outcome = world.OutcomeDue
		}
	case world.HookCreated:
		ev.Name, ev.Occurrence, ev.Token, ev.Chosen = "hook", r.hooks, e.text("token"), true
		ev.Payload = e.data("token")
	case world.HookReceived:
		if in.Params.ResumeID != "" && in.Params.Digest != "" {
			e.Data = maps.Clone(e.Data)
			if e.Data == nil {
				e.Data = map[string]json.RawMessage{}
			}
			e.Data[digestMember] = quoted(in.Params.Digest)
		}
		ev.Payload, ev.Delivery = e.data("token"), in.Params.ResumeID // viewers see payloads, and no tokens
	case world.AttrSet:
		return r.attributeEvents(e, ev)
	}
	return []world.Event{ev}, err
}

// nameStep names a step as people know it; the n-th of a name is occurrence n.
func (r *run) nameStep(ev *world.Event, e *eventIn) {
	ev.Kind, ev.Name = world.KindTask, shortName(e.text("stepName"))
	for _, id := range r.order {
		if r.events[r.steps[id].created].Name == ev.Name {
			ev.Occurrence++
		}
	}
}

// attributeEvents are an event for each attribute. The first is the DevKit's, the others are hidden behind it.
func (r *run) attributeEvents(e *eventIn, ev world.Event) (all []world.Event, err error) {
	var changes []struct {
		Key   string          `json:"key"`
		Value json.RawMessage `json:"value"`
	}
	var writer struct {
		Type    string `json:"type"`
		Step    string `json:"stepId"`
		Attempt int    `json:"attempt"`
	}
	err = errors.Join(json.Unmarshal(e.Data["changes"], &changes), json.Unmarshal(e.Data["writer"], &writer))
	if err != nil || len(changes) == 0 {
		return nil, fmt.Errorf("%w: changes and their writer: %w", world.ErrInvalid, err)
	}
	if ev.ID == "" {
		ev.ID = world.NewID(world.PrefixAttr, time.Now())
	}
	if strings.Contains(writer.Step, "#") || writer.Attempt < 0 {
		return nil, fmt.Errorf("%w: attempt %d of step %.60q cannot write", world.ErrInvalid, writer.Attempt, writer.Step)
	}
	if writer.Type == "step" {
		ev.Path = writer.Step + "#" + strconv.Itoa(writer.Attempt)
	}
	id, then := ev.ID, maps.Clone(r.state.Attributes)
	if then == nil {
		then = map[string]json.RawMessage{}
	}
	for _, c := range changes {
		then[c.Key] = c.Value
	}
	if err := world.CheckAttributes(attributes(then)); err != nil {
		return nil, err
	}
	for i, c := range changes {
		if ev.Name, ev.Payload, ev.Occurrence = c.Key, c.Value, i; i > 0 {
			ev.ID = id + "." + strconv.Itoa(i)
		}
		all = append(all, ev)
	}
	return all, nil
}

// written finds the event that the call wrote before, if it did; -1: it did not.
func (h *Host) written(ctx context.Context, r *run, in *createIn) (int, error) {
	if at := r.lateAt(in); at >= 0 {
		return at, nil
	}
	id := in.commitID()
	for at := len(r.events) - 1; at >= 0; at-- {
		e := &r.events[at]
		if e.Commit == 0 || e.Type != in.Event.Type && !(e.Type == world.HookConflict && in.Event.Type == world.HookCreated) ||
			in.Event.CorrelationID != "" && e.ID != in.Event.CorrelationID || e.Occurrence > 0 && e.Type == world.AttrSet {
			continue
		}
		of := *e
		of.Payload, of.Apart = nil, "" // who wrote it is asked, and not what
		_, err := h.world.Outcome(ctx, &world.Commit{
			ID: id, Run: r.id, Worker: r.worker, Claim: r.claim, First: e.Commit, Events: []world.Event{of},
		})
		switch {
		case err == nil:
			return at, nil
		case !errors.Is(err, world.ErrLeaseLost) && !errors.Is(err, world.ErrNotFound):
			return -1, err
		}
	}
	return -1, nil
}

// created is the answer to a call that has written the event at a place; -1: none.
func (r *run) created(in *createIn, at int) *createOut {
	e, all := &in.Event, wantsData(in.Params.ResolveData)
	out := &createOut{}
	if at >= 0 {
		ev := r.out(at, all)
		out.Event = &ev
		out.StepCreated = e.lazy()
	}
	switch e.Type {
	case world.RunCreated, world.RunStarted, world.RunCompleted, world.RunFailed, world.RunCancelled:
		out.Run = r.shownAs(all)
	case world.AttrSet:
		out.Run = r.shownAs(all)
	case world.StepCreated, world.StepStarted, world.StepCompleted, world.StepFailed, world.StepRetrying:
		out.Step = r.step(e.CorrelationID, all)
	case world.HookCreated:
		if at >= 0 && r.events[at].Type == world.HookCreated {
			c := &r.events[at]
			out.Hook = hookOf(&world.HookRow{ID: c.ID, Run: r.id, Token: c.Token, Metadata: c.Payload, CreatedAt: c.Time}, r.spec)
		}
	case world.WaitCreated, world.WaitCompleted:
		out.Wait = r.wait(e.CorrelationID)
	}
	page := func(cursor string) {
		p := r.page(cursor, maxPage, false, all)
		if out.Events, out.HasMore = p.Data.([]eventOut), &p.HasMore; p.Cursor != nil {
			out.Cursor = *p.Cursor
		}
	}
	switch n := in.Params.EventCount; {
	case e.Type == world.RunStarted && !in.Params.SkipPreload:
		page("")
	case at >= 0 && in.Params.SinceCursor != "": // what was skipped is in it
		page(in.Params.SinceCursor)
	case n != nil && at >= 0 && *n < r.slots[at]-1 && *n >= 1:
		// Others wrote meanwhile. This is no page, so there is no place to go on from.
		out.Cursor, out.HasMore = json.RawMessage("null"), new(bool)
		for slot := *n + 1; slot < r.slots[at]; slot++ {
			out.Events = append(out.Events, r.out(r.shown[slot-1], all))
		}
	}
	return out
}
