package server

// This file ends attempts of step workers as a worker in Go does: completed, failed, or given back.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/apart"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// mostStepInput is how large an input may be that is given to a step worker.
const mostStepInput = 64 << 20

// inputOf is the input of a task, whole. The error is why the worker cannot be given it.
func (s *stepDoor) inputOf(ctx context.Context, t *world.Task) (json.RawMessage, error) {
	if key := world.TaskKeyID(t.Options); key != "" {
		return nil, &world.KeyError{Run: t.Run, Key: key}
	}
	input, err := apart.Read(ctx, s.world.Values(), t.Run, t.Input, world.TaskApart(t.Options), mostStepInput)
	if err == nil && len(input) == 0 {
		input = []byte("null")
	}
	return input, err
}

// unreadable hands back a task whose input cannot be read here, or ends it where nobody can.
func (s *stepDoor) unreadable(ctx context.Context, t *world.Task, why error) {
	switch {
	case errors.Is(why, world.ErrCorrupt):
		t.Damage = why.Error()
		s.damaged(ctx, t)
		return
	case errors.Is(why, world.ErrTooLarge):
		s.end(ctx, t, &world.Error{Message: why.Error(), Code: world.CodeTooLarge, Permanent: true})
		return
	}
	s.says.Warn("a task was handed back", slog.String("step.name", t.Name), "run_id", t.Run, "step.id", t.Step, "err", why)
	s.giveBack(ctx, t, kit.RestOf(t, false), "the server of its worker cannot read the input: "+why.Error())
}

// damaged tells the run of a task which nobody can run: it is blocked by that.
func (s *stepDoor) damaged(ctx context.Context, t *world.Task) {
	s.log.Error("a task is damaged", "run_id", t.Run, "step.id", t.Step, "err", t.Damage)
	d := deliveryOf(t.Worker, keyOfTask(t))
	d.ID = "damaged:" + d.ID
	d.Events = []world.Event{{
		Type: world.StepFailed, ID: t.Step, OccurredAt: s.doors.time(),
		Error: &world.Error{Message: "the task of step " + t.Step + ": " + t.Damage, Code: world.CodeCorrupt, Permanent: true},
	}}
	s.tell(ctx, d)
}

// end ends a task that is not run any more.
func (s *stepDoor) end(ctx context.Context, t *world.Task, why *world.Error) {
	d := deliveryOf(t.Worker, keyOfTask(t))
	now := s.doors.time()
	d.Events = append(slices.Clone(t.History),
		world.Event{Type: world.StepStarted, ID: t.Step, Attempt: t.Attempt, OccurredAt: now},
		world.Event{Type: world.StepFailed, ID: t.Step, Attempt: t.Attempt, Error: why, OccurredAt: now})
	s.tell(ctx, d)
}

// giveBack gives an attempt up: it has neither failed nor died, and the task is ready again after a rest.
func (s *stepDoor) giveBack(ctx context.Context, t *world.Task, rest time.Duration, why string) {
	s.forget(t.Worker, keyOfTask(t))
	s.tell(ctx, s.abandonment(t.Worker, keyOfTask(t), rest, why))
}

func (s *stepDoor) abandonment(worker string, k world.TaskKey, rest time.Duration, why string) *world.Delivery {
	now := s.doors.time()
	d := deliveryOf(worker, k)
	d.RetryAt = world.After(now, rest)
	d.Events = []world.Event{{
		Type: world.StepRetrying, ID: k.Step, Attempt: k.Attempt, RetryAt: d.RetryAt, OccurredAt: now,
		Error: &world.Error{Code: world.CodeAbandoned, Message: why},
	}}
	return d
}

// tell delivers what its caller can do nothing about if it fails: then the lease ends some time, and another worker
// goes on.
func (s *stepDoor) tell(ctx context.Context, d *world.Delivery) {
	_, err := s.deliver(ctx, d)
	if err != nil && !errors.Is(err, world.ErrLeaseLost) {
		s.says.Warn("a step's end was not accepted", slog.String("code", problemOf(err).Code), "run_id", d.Task.Run, "step.id", d.Task.Step, "err", err)
	}
}

func (s *stepDoor) deliver(ctx context.Context, d *world.Delivery) (world.Delivered, error) {
	return lasting(ctx, func(ctx context.Context) (world.Delivered, error) { return s.world.Deliver(ctx, d) })
}

func deliveryOf(worker string, k world.TaskKey) *world.Delivery {
	return &world.Delivery{Run: k.Run, ID: fmt.Sprintf("task:%s:%d", k.Step, k.Attempt), Worker: worker, Task: &k}
}

// receipt reads the receipt of a body, and refuses who may not speak for its worker.
func (s *stepDoor) receipt(r *request, text string) (*stepReceipt, error) {
	rc, err := readReceipt(text)
	if err == nil {
		err = s.guard.mayActFor(r, rc.Worker)
	}
	return rc, err
}

// before are the events of the attempts before, which go into the log with the step's end.
func (s *stepDoor) before(ctx context.Context, rc *stepReceipt) ([]world.Event, error) {
	if rc.Attempt == 1 {
		return nil, nil
	}
	s.mu.Lock()
	known, ok := s.earlier[rc.key()]
	s.mu.Unlock()
	if ok {
		return slices.Clone(known), nil
	}
	tasks, err := s.world.Tasks(ctx, rc.Run) // it was given by another server, or before this one began
	if err != nil {
		return nil, err
	}
	for i := range tasks {
		if t := &tasks[i]; t.Step == rc.Step {
			return slices.DeleteFunc(t.History, func(e world.Event) bool { return e.Attempt >= rc.Attempt }), nil
		}
	}
	return nil, nil
}

// finish ends the step with an event.
func (s *stepDoor) finish(ctx context.Context, rc *stepReceipt, end world.Event) error {
	before, err := s.before(ctx, rc)
	if err != nil {
		return err
	}
	d := deliveryOf(rc.Worker, rc.key())
	end.ID, end.Attempt, end.OccurredAt = rc.Step, rc.Attempt, s.doors.time()
	d.Events = append(before, world.Event{Type: world.StepStarted, ID: rc.Step, Attempt: rc.Attempt, OccurredAt: rc.began()}, end)
	if _, err = s.deliver(ctx, d); err == nil {
		s.forget(rc.Worker, rc.key())
	}
	return err
}

// by is the step worker that ends an attempt, as the log has it: where what it gave does not fit, somebody looks for
// it.
func by(r *request, rc *stepReceipt) string {
	if r.key == nil {
		return rc.Worker
	}
	return nameWithKey(rc.Worker, r.key.Name)
}

// stepOutput is the body of a completion.
type stepOutput struct {
	Receipt string          `json:"receipt"`
	Output  json.RawMessage `json:"output"`
}

func (s *stepDoor) complete(w http.ResponseWriter, r *request) error {
	var b stepOutput
	if err := r.decode(&b); err != nil {
		return err
	}
	rc, err := s.receipt(r, b.Receipt)
	if err != nil {
		return err
	}
	if b.Output == nil {
		b.Output = json.RawMessage("null")
	}
	if err := s.finish(r.Context(), rc, world.Event{Type: world.StepCompleted, Payload: b.Output, By: by(r, rc)}); err != nil {
		return err
	}
	return accept(w)
}

// stepFailure is the body of a failure.
type stepFailure struct {
	Receipt string    `json:"receipt"`
	Error   stepError `json:"error"`
	Final   bool      `json:"final"`
	Delay   *api.Span `json:"delay"`
	Silent  bool      `json:"silent"`
}

// stepError is what a step worker says of what went wrong.
type stepError struct {
	Message string `json:"message"`
	Code    string `json:"code"`
	Name    string `json:"name"`
	Where   string `json:"where"`
	Stack   string `json:"stack"`
}

// Bounds of what is kept of an error.
const (
	mostErrorText = 16 << 10 // of a message, and of a stack
	mostErrorName = 200      // of what is a name
)

func (e *stepError) world() *world.Error {
	name := func(s string) string { return cutText(s, mostErrorName) }
	code := name(e.Code)
	if code == world.CodeAbandoned { // that is no failure, and believed of attempts that nobody holds
		code = ""
	}
	return &world.Error{
		Message: cmp.Or(cutText(e.Message, mostErrorText), "it failed, and did not say why"), Code: code,
		Name: name(e.Name), Where: name(e.Where), Stack: cutText(e.Stack, mostErrorText),
	}
}

func cutText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// stepFailed is the answer.
type stepFailed struct {
	RetryAt time.Time `json:"retryAt,omitzero"` // none: the step has failed
}

func (s *stepDoor) fail(w http.ResponseWriter, r *request) error {
	var b stepFailure
	if err := r.decode(&b); err != nil {
		return err
	}
	rc, err := s.receipt(r, b.Receipt)
	if err != nil {
		return err
	}
	rule, now, rec := kit.StepRuleOf(rc.Options), s.doors.time(), b.Error.world()
	switch {
	case rc.late(now):
		rec.Code, rec.Message = world.CodeTimeout, fmt.Sprintf("timed out after %s: %s", rule.Timeout, rec.Message)
	case b.Silent && rule.Silence > 0:
		rec.Code, rec.Message = world.CodeHeartbeat, fmt.Sprintf("no heartbeat for %s: %s", rule.Silence, rec.Message)
	}
	f := kit.FailedStep{Failures: rc.Failures + 1, First: rc.first(), Now: now, Final: b.Final, After: (*time.Duration)(b.Delay)}
	delay, again := rule.Next(f)
	if !again {
		rec.Permanent = b.Final
		if err := s.finish(r.Context(), rc, world.Event{Type: world.StepFailed, Error: rec, By: by(r, rc)}); err != nil {
			return err
		}
		return answer(w, http.StatusOK, stepFailed{})
	}
	d := deliveryOf(rc.Worker, rc.key())
	d.RetryAt = world.After(now, delay)
	d.Events = []world.Event{{Type: world.StepRetrying, ID: rc.Step, Attempt: rc.Attempt, Error: rec, RetryAt: d.RetryAt, OccurredAt: now, By: by(r, rc)}}
	if _, err := s.deliver(r.Context(), d); err != nil {
		return err
	}
	s.forget(rc.Worker, rc.key())
	return answer(w, http.StatusOK, stepFailed{RetryAt: d.RetryAt})
}

// stepWorker names a step worker.
type stepWorker struct {
	Worker string `json:"worker"`
}

func (s *stepDoor) leave(w http.ResponseWriter, r *request) error {
	var b stepWorker
	if err := r.decode(&b); err != nil {
		return err
	}
	if err := s.guard.mayActFor(r, b.Worker); err != nil {
		return err
	}
	if err := s.claims.leave(r.Context(), r.who(), b.Worker); err != nil { // else it would take what it gives back
		return err
	}
	held, err := s.world.Held(r.Context(), b.Worker)
	if err != nil && !errors.Is(err, world.ErrLeaseLost) {
		return err
	}
	for _, k := range held.Tasks {
		s.giveBack(r.Context(), &world.Task{Run: k.Run, Step: k.Step, Attempt: k.Attempt, Worker: b.Worker}, 0, "its worker shut down")
	}
	s.claims.forget(b.Worker)
	defer s.guard.leaves(b.Worker)
	_, err = lasting(r.Context(), func(ctx context.Context) (struct{}, error) { return struct{}{}, s.world.Leave(ctx, b.Worker) })
	if err != nil {
		return err
	}
	return accept(w)
}
