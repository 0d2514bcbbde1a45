package wdk

// A run in memory: its events, and what follows from them.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/stepwell/stepwell/internal/apart"
	"github.com/stepwell/stepwell/world"
)

// run is a run of the DevKit as this process knows it. Whoever holds mu may use it.
type run struct {
	id string
	mu sync.Mutex

	loaded bool
	state  world.State
	events []world.Event // all of the log
	slots  []int64       // by event, its position for the DevKit; 0: it is hidden
	shown  []int         // by position, from 0, which event it is
	bytes  int

	worker string // who owns it, for whom this process may write; "": that is not known
	claim  int64

	running int      // steps that run
	late    []string // what came behind the end, by the calls that wrote it: the last of events

	spec  int
	birth map[string]json.RawMessage // the data of its run_created
	steps map[string]*step
	order []string // of steps
	hooks int      // that were made
	waits map[string]*wait
}

// step is a step of a run; the numbers are places in events.
type step struct {
	created, ended, failed int // ended, failed: -1: nothing did
	name                   string
	status                 string
	attempts               int
	started, retryAfter    time.Time
	updated                time.Time
	input                  json.RawMessage
}

type wait struct {
	created   int
	until     time.Time
	completed time.Time
}

// shelf is where runs are kept in memory.
type shelf struct {
	mu    sync.Mutex
	runs  map[string]*shelved
	bytes int // of all of them
}

type shelved struct {
	run   *run
	used  time.Time
	busy  int
	bytes int // of the run, when it was used last
}

// Of runs that nobody uses just now so many are kept in memory, with so many bytes.
const (
	mostRuns  = 500
	mostBytes = 128 << 20
)

// with calls f with a run, loaded and up to date if fresh says so. Nobody else uses the run meanwhile.
func (h *Host) with(ctx context.Context, id string, fresh bool, f func(r *run) error) error {
	s := &h.shelf
	s.mu.Lock()
	if s.runs == nil {
		s.runs = map[string]*shelved{}
	}
	on := s.runs[id]
	if on == nil {
		on = &shelved{run: &run{id: id}}
		s.runs[id] = on
	}
	on.busy++
	s.mu.Unlock()
	r := on.run
	r.mu.Lock()
	defer func() {
		bytes := r.bytes
		r.mu.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bytes += bytes - on.bytes
		on.busy, on.bytes, on.used = on.busy-1, bytes, time.Now()
		s.trim()
	}()
	if fresh || !r.loaded {
		if err := h.load(ctx, r); err != nil {
			return err
		}
	}
	return f(r)
}

// trim forgets what was not used for longest.
func (s *shelf) trim() {
	for len(s.runs) > mostRuns || s.bytes > mostBytes {
		oldest := ""
		for id, on := range s.runs {
			if on.busy == 0 && (oldest == "" || on.used.Before(s.runs[oldest].used)) {
				oldest = id
			}
		}
		if oldest == "" {
			return
		}
		s.bytes -= s.runs[oldest].bytes
		delete(s.runs, oldest)
	}
}

// forget has the run read anew before it is used again.
func (r *run) forget() { r.loaded = false }

// load reads what this process does not have of the run yet.
func (h *Host) load(ctx context.Context, r *run) error {
	q := world.EventQuery{}
	if r.loaded {
		q.Cursor = world.Cursor(r.state.Seq)
	} else {
		r.reset()
	}
	for {
		page, err := h.world.Events(ctx, r.id, q)
		if errors.Is(err, world.ErrNotFound) { // by now
			r.forget()
			return noRun(r.id, world.ErrNotFound)
		}
		if err != nil {
			return err
		}
		for i := range page.Events {
			e := &page.Events[i]
			if e.Payload, err = h.whole(ctx, r.id, e.Payload, e.Apart); err == nil {
				e.Apart = ""
				err = r.add(e, true)
			}
			if err != nil {
				r.loaded = false
				return err
			}
		}
		if !strings.HasPrefix(r.state.Birth.Workflow, Prefix) {
			r.loaded = false
			return noRun(r.id, errForeign)
		}
		if !page.More {
			break
		}
		q.Cursor = page.Cursor
	}
	if r.state.Status.Terminal() {
		if err := h.beside.load(ctx, r); err != nil {
			return err
		}
	}
	r.loaded = true
	return nil
}

// mostWhole is how large a value may be that is kept apart: no call could have had a larger one.
const mostWhole = 2 * world.MaxCommit

// whole is a payload of a run, or the value that it refers to, where an ID says so.
func (h *Host) whole(ctx context.Context, run string, payload []byte, id string) ([]byte, error) {
	return apart.Read(ctx, h.world.Values(), run, payload, id, mostWhole)
}

func (r *run) reset() {
	r.state = world.State{ID: r.id}
	r.events, r.slots, r.shown, r.bytes, r.worker, r.claim = nil, nil, nil, 0, "", 0
	r.running, r.late = 0, nil
	r.steps, r.order, r.hooks, r.waits = map[string]*step{}, nil, 0, map[string]*wait{}
}

// add takes an event that is in the log. Where it has not been judged yet it is applied to the state.
func (r *run) add(e *world.Event, judge bool) error {
	if judge {
		if _, err := r.state.Apply(e, time.Time{}); err != nil {
			return fmt.Errorf("run %s: event %d: %w", r.id, e.Seq, err)
		}
	}
	at := len(r.events)
	r.events = append(r.events, *e)
	r.bytes += len(e.Payload) + len(e.Name) + 200
	if hidden(e) {
		r.slots = append(r.slots, 0)
		return nil
	}
	r.shown = append(r.shown, at)
	r.slots = append(r.slots, int64(len(r.shown)))
	switch e.Type {
	case world.RunCreated:
		_ = json.Unmarshal(e.Payload, &r.birth) // of a run of ours it is an object
		_ = json.Unmarshal(r.birth[specMember], &r.spec)
	case world.StepCreated:
		var d struct {
			Name  string          `json:"stepName"`
			Input json.RawMessage `json:"input"`
		}
		_ = json.Unmarshal(e.Payload, &d)
		r.steps[e.ID] = &step{created: at, ended: -1, failed: -1, name: d.Name, status: "pending", input: d.Input, updated: e.Time}
		r.order = append(r.order, e.ID)
	case world.StepStarted, world.StepRetrying, world.StepCompleted, world.StepFailed:
		if st := r.steps[e.ID]; st != nil {
			r.running -= st.runs()
			st.follow(e, at)
			r.running += st.runs()
		}
	case world.HookCreated:
		r.hooks++
	case world.WaitCreated:
		r.waits[e.ID] = &wait{created: at, until: e.Until}
	case world.WaitCompleted:
		if w := r.waits[e.ID]; w != nil {
			w.completed = e.Time
		}
	}
	return nil
}

// runs is 1 where the step runs.
func (st *step) runs() int {
	if st.status == "running" {
		return 1
	}
	return 0
}

func (st *step) follow(e *world.Event, at int) {
	st.updated = e.Time
	switch e.Type {
	case world.StepStarted:
		st.status, st.retryAfter = "running", time.Time{}
		st.attempts++
		if st.started.IsZero() {
			st.started = e.Time
		}
	case world.StepRetrying:
		st.status, st.retryAfter, st.failed = "pending", e.RetryAt, at
	case world.StepCompleted:
		st.status, st.ended = "completed", at
	case world.StepFailed:
		st.status, st.ended, st.failed = "failed", at, at
	}
}

// own has this process know for whom it may write to the run: the worker of the DevKit, which owns it.
func (h *Host) own(ctx context.Context, r *run) error {
	if r.worker != "" {
		return nil
	}
	row, err := h.world.Run(ctx, r.id)
	if err != nil {
		return err
	}
	switch q := row.Queue; {
	case q == nil:
		return fmt.Errorf("run %s: %w", r.id, world.ErrTerminal)
	case q.Owner != "" && strings.HasPrefix(q.OwnerName, name):
		r.worker, r.claim = q.Owner, row.Claims
		return nil
	}
	id := h.worker.now()
	claimed, err := h.world.Claim(ctx, world.ClaimQuery{
		Worker: id, Classes: []world.Class{{Workflow: row.Workflow, Version: row.Version}}, Runs: 1, Run: r.id,
	})
	if err != nil {
		return err
	}
	if len(claimed.Runs) == 0 && row.Queue.Held {
		return isHeld(r.id, row.Workflow)
	}
	if len(claimed.Runs) == 0 {
		return fmt.Errorf("run %s: somebody else has it just now: %w", r.id, world.ErrLeaseLost)
	}
	r.worker, r.claim = id, claimed.Runs[0].Claim
	return nil
}

// runOut is a run as the DevKit reads it.
type runOut struct {
	RunID        string                     `json:"runId"`
	Status       world.Status               `json:"status"`
	DeploymentID json.RawMessage            `json:"deploymentId"`
	WorkflowName json.RawMessage            `json:"workflowName"`
	Spec         int                        `json:"specVersion,omitempty"`
	Context      json.RawMessage            `json:"executionContext,omitempty"`
	Key          json.RawMessage            `json:"encryptionPublicKey,omitempty"`
	Input        json.RawMessage            `json:"input,omitempty"`
	Output       json.RawMessage            `json:"output,omitempty"`
	Error        json.RawMessage            `json:"error,omitempty"`
	ErrorCode    string                     `json:"errorCode,omitempty"`
	Attributes   map[string]json.RawMessage `json:"attributes"`
	StartedAt    time.Time                  `json:"startedAt,omitzero"`
	CompletedAt  time.Time                  `json:"completedAt,omitzero"`
	CreatedAt    time.Time                  `json:"createdAt"`
	UpdatedAt    time.Time                  `json:"updatedAt"`
}

// wantsData reports whether values are to be shown.
func wantsData(resolve string) bool { return resolve != "none" }

func (r *run) shownAs(all bool) *runOut {
	s := &r.state
	o := &runOut{
		RunID: r.id, Status: s.Status, DeploymentID: r.birth["deploymentId"], WorkflowName: r.birth["workflowName"], Spec: r.spec,
		Context: r.birth["executionContext"], Key: r.birth["encryptionPublicKey"], Attributes: attributes(s.Attributes),
		StartedAt: s.StartedAt, CompletedAt: s.EndedAt, CreatedAt: s.CreatedAt, UpdatedAt: s.Time,
	}
	if all {
		o.Input = r.birth["input"]
	}
	if !s.Status.Terminal() {
		return o
	}
	last := r.out(r.endedAt(), all)
	o.Output, o.Error, o.ErrorCode = last.Data["output"], last.Data["error"], textOf(last.Data["errorCode"])
	return o
}

// endedAt is the place of the event that ended the run.
func (r *run) endedAt() int {
	at := len(r.events) - 1
	for at > 0 && !r.events[at].Type.Terminal() {
		at--
	}
	return at
}

// attributes are those that were not taken away.
func attributes(all map[string]json.RawMessage) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for k, v := range all {
		if string(v) != "null" {
			out[k] = v
		}
	}
	return out
}

// stepOut is a step as the DevKit reads it.
type stepOut struct {
	RunID       string          `json:"runId"`
	StepID      string          `json:"stepId"`
	StepName    string          `json:"stepName"`
	Status      string          `json:"status"`
	Input       json.RawMessage `json:"input,omitempty"`
	Output      json.RawMessage `json:"output,omitempty"`
	Error       json.RawMessage `json:"error,omitempty"`
	Attempt     int             `json:"attempt"`
	StartedAt   time.Time       `json:"startedAt,omitzero"`
	CompletedAt time.Time       `json:"completedAt,omitzero"`
	RetryAfter  time.Time       `json:"retryAfter,omitzero"`
	CreatedAt   time.Time       `json:"createdAt"`
	UpdatedAt   time.Time       `json:"updatedAt"`
	Spec        int             `json:"specVersion,omitempty"`
}

func (r *run) step(id string, all bool) *stepOut {
	st := r.steps[id]
	if st == nil {
		return nil
	}
	o := &stepOut{
		RunID: r.id, StepID: id, StepName: st.name, Status: st.status, Attempt: st.attempts, StartedAt: st.started, RetryAfter: st.retryAfter,
		CreatedAt: r.events[st.created].Time, UpdatedAt: st.updated, Spec: r.spec,
	}
	if st.ended >= 0 {
		o.CompletedAt = r.events[st.ended].Time
	}
	if !all {
		return o
	}
	o.Input = st.input
	if st.ended >= 0 {
		o.Output = r.out(st.ended, true).Data["result"]
	}
	if st.failed >= 0 {
		o.Error = r.out(st.failed, true).Data["error"]
	}
	return o
}

// hookOut is a hook as the DevKit reads it.
type hookOut struct {
	RunID       string          `json:"runId"`
	HookID      string          `json:"hookId"`
	Token       string          `json:"token"`
	OwnerID     string          `json:"ownerId"`
	ProjectID   string          `json:"projectId"`
	Environment string          `json:"environment"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
	CreatedAt   time.Time       `json:"createdAt"`
	Spec        int             `json:"specVersion,omitempty"`
	Webhook     bool            `json:"isWebhook"`
	System      bool            `json:"isSystem"`
}

func hookOf(row *world.HookRow, spec int) *hookOut {
	var d struct {
		Metadata json.RawMessage `json:"metadata"`
		Webhook  bool            `json:"isWebhook"`
		System   bool            `json:"isSystem"`
	}
	_ = json.Unmarshal(row.Metadata, &d)
	return &hookOut{
		RunID: row.Run, HookID: row.ID, Token: row.Token, OwnerID: "stepwell", ProjectID: "stepwell", Environment: "stepwell",
		Metadata: d.Metadata, CreatedAt: row.CreatedAt, Spec: spec, Webhook: d.Webhook, System: d.System,
	}
}

// waitOut is a wait as the DevKit reads it.
type waitOut struct {
	WaitID      string    `json:"waitId"`
	RunID       string    `json:"runId"`
	Status      string    `json:"status"`
	ResumeAt    time.Time `json:"resumeAt,omitzero"`
	CompletedAt time.Time `json:"completedAt,omitzero"`
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
	Spec        int       `json:"specVersion,omitempty"`
}

func (r *run) wait(id string) *waitOut {
	w := r.waits[id]
	if w == nil {
		return nil
	}
	created := r.events[w.created].Time
	o := &waitOut{WaitID: id, RunID: r.id, Status: "waiting", ResumeAt: w.until, CreatedAt: created, UpdatedAt: created, Spec: r.spec}
	if !w.completed.IsZero() {
		o.Status, o.CompletedAt, o.UpdatedAt = "completed", w.completed, w.completed
	}
	return o
}
