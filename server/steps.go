package server

// This file is the door of step workers: programs in any language that run registered steps and know nothing of logs.
// docs/workers.md says how. Such a worker is one of the world's, with a lease; what it is given and what it says
// goes through the App's world, which encrypts, decrypts, and keeps large values apart.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/logs"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// stepsPrefix is of the addresses that a key of scope steps opens.
const stepsPrefix = "/v1/steps"

func stepRoutes() []route {
	at := func(name, id, summary, body string, answer response, handle func(*stepDoor, http.ResponseWriter, *request) error) route {
		return route{
			method: "POST", path: stepsPrefix + "/" + name, scope: Steps, maxBody: wireBody,
			handle: func(s *Server, w http.ResponseWriter, r *request) error { return handle(&s.stepper, w, r) },
			op:     operation{id: id, summary: summary, body: body, responses: []response{answer}},
		}
	}
	all := []route{
		at("take", "takeSteps", "Take steps that are to be run, or wait for some; without worker it joins as one", "StepTake",
			response{200, "StepsTaken", "", "The steps; none where none came."}, (*stepDoor).claim),
		at("heartbeat", "beatSteps", "Say that a step worker is alive, how far its steps are, and hear which are to end", "StepBeat",
			response{200, "StepsBeaten", "", "The lease holds on."}, (*stepDoor).heartbeat),
		at("complete", "completeStep", "End an attempt of a step with its output", "StepOutput",
			response{202, "Accepted", "", "It is durable."}, (*stepDoor).complete),
		at("fail", "failStep", "End an attempt of a step with an error; the step's definition says whether it is tried again", "StepFailure",
			response{200, "StepFailed", "", "It is durable."}, (*stepDoor).fail),
		at("write", "writeStepStream", "Add chunks to a stream of the run, or close it", "StepWrite",
			response{200, "StepWritten", "", "It is durable."}, (*stepDoor).write),
		at("leave", "leaveSteps", "End a step worker: what it holds is ready again at once, and nothing counts as failed", "StepWorker",
			response{202, "Accepted", "", "It has left."}, (*stepDoor).leave),
	}
	all[2].maxBody = commitBody
	return all
}

// stepDoor is a server as step workers see it.
//
//   - What it remembers saves reading. Any other server of the database goes on where this one ends.
//   - A receipt says which attempt it is of, and what its definition says. Whoever changes one hurts only what he
//     holds: the world looks at who holds what, and guard at whose worker it is.
type stepDoor struct {
	doors  *doors
	guard  *guard
	places *places
	claims claims
	log    *slog.Logger
	says   *logs.Seldom
	world  world.World

	mu          sync.Mutex
	quarantined map[string]world.TaskKey        // of workers: what they run that may end their process; guarded by mu
	earlier     map[world.TaskKey][]world.Event // of attempts that are not the first: those before; guarded by mu
}

// mostSteps is how much of each kind is remembered.
const mostSteps = 10_000

// remember notes what belongs to an attempt that is given out.
func (s *stepDoor) remember(t *world.Task, alone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.quarantined) >= mostSteps || s.quarantined == nil {
		s.quarantined = map[string]world.TaskKey{}
	}
	if len(s.earlier) >= mostSteps || s.earlier == nil {
		s.earlier = map[world.TaskKey][]world.Event{}
	}
	if alone {
		s.quarantined[t.Worker] = keyOfTask(t)
	}
	if t.Attempt > 1 {
		s.earlier[keyOfTask(t)] = t.History
	}
}

// forget forgets an attempt that is over.
func (s *stepDoor) forget(worker string, k world.TaskKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quarantined[worker] == k {
		delete(s.quarantined, worker)
	}
	delete(s.earlier, k)
}

// hasQuarantined reports whether a worker runs one in quarantine already.
func (s *stepDoor) hasQuarantined(worker string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, has := s.quarantined[worker]
	return has
}

func keyOfTask(t *world.Task) world.TaskKey {
	return world.TaskKey{Run: t.Run, Step: t.Step, Attempt: t.Attempt}
}

// stepClaim is the body of a take.
type stepClaim struct {
	Worker string   `json:"worker"`
	Name   string   `json:"name"`
	Lease  api.Span `json:"lease"`
	Steps  []string `json:"steps"`
	Most   int      `json:"most"`
	Wait   api.Span `json:"wait"`
	Holds  []string `json:"holds"`
	Number int64    `json:"number"`
}

// claimedSteps is the answer to a take.
type claimedSteps struct {
	Worker      string        `json:"worker"`
	LeaseMs     int64         `json:"leaseMs,omitempty"` // of one that has joined
	HeartbeatMs int64         `json:"heartbeatMs"`
	Tasks       []claimedStep `json:"tasks"`
}

// claimedStep is an attempt of a step that is to be run.
type claimedStep struct {
	Receipt   string          `json:"receipt"`
	Step      string          `json:"step"`
	ID        string          `json:"id"`
	Run       string          `json:"run"`
	Workflow  string          `json:"workflow"`
	Attempt   int             `json:"attempt"`
	Input     json.RawMessage `json:"input"`
	TimeoutMs int64           `json:"timeoutMs,omitempty"`
	SilenceMs int64           `json:"silenceMs,omitempty"`
	Progress  json.RawMessage `json:"progress,omitempty"`
}

// Bounds of step workers.
const (
	stepLease     = 10 * time.Second
	stepPause     = time.Second // while they run something
	mostStepBytes = 8 << 20     // of inputs in one answer, but for one large one
)

func (s *stepDoor) claim(w http.ResponseWriter, r *request) error {
	b := stepClaim{Most: 1}
	if err := r.decode(&b); err != nil {
		return err
	}
	out := claimedSteps{Worker: b.Worker, HeartbeatMs: stepPause.Milliseconds(), Tasks: []claimedStep{}}
	if err := b.check(r); err != nil {
		return err
	}
	if b.Worker == "" {
		lease, err := s.join(r, &b)
		if err != nil {
			return err
		}
		out.Worker, out.LeaseMs = b.Worker, lease.Milliseconds()
		return answer(w, http.StatusOK, out) // what it was given nobody would know of if this were lost
	}
	if err := s.guard.mayActFor(r, b.Worker); err != nil {
		return err
	}
	tasks, err := s.claimTasks(r, &b)
	if err != nil {
		return err
	}
	if err := s.tellTasks(w, r, &out, tasks); err != nil { // nobody has seen them
		for i := range tasks {
			s.giveBack(r.Context(), &tasks[i], 0, "its worker was gone before it was told")
		}
		return err
	}
	return nil
}

// tellTasks answers with tasks.
func (s *stepDoor) tellTasks(w http.ResponseWriter, r *request, out *claimedSteps, tasks []world.Task) (err error) {
	if out.Tasks, err = s.give(r, tasks); err != nil {
		return err
	}
	if err := r.Context().Err(); err != nil {
		return err
	}
	return answer(w, http.StatusOK, out)
}

// check refuses what makes no sense, or what the key is not for.
func (b *stepClaim) check(r *request) error {
	switch {
	case len(b.Steps) == 0:
		return invalid("body: steps names none")
	case b.Most < 1 || b.Most > mostClaimed:
		return invalid("body: most is %d: want 1 to %d", b.Most, mostClaimed)
	case time.Duration(b.Wait) > mostClaimWait:
		return invalid("body: wait is %s: want %s at most", time.Duration(b.Wait), mostClaimWait)
	case time.Duration(b.Lease) > mostLease:
		return invalid("body: lease is %s: want %s at most", time.Duration(b.Lease), mostLease)
	case b.Number < 0:
		return invalid("body: number is %d: takes are counted from 1", b.Number)
	}
	for _, name := range b.Steps {
		if err := world.CheckName("step", name); err != nil {
			return err
		}
	}
	return r.mayHave(nil, b.Steps)
}

// join makes a worker.
func (s *stepDoor) join(r *request, b *stepClaim) (lease time.Duration, err error) {
	wk := world.Worker{
		ID: world.NewID(world.PrefixWorker, s.doors.time()), Name: b.Name, Steps: b.Steps, Remote: true,
		Lease: time.Duration(b.Lease),
	}
	if wk.Lease == 0 {
		wk.Lease = stepLease
	}
	if wk.Name == "" {
		wk.Name = "steps"
	}
	if r.key != nil {
		wk.Name = nameWithKey(wk.Name, r.key.Name)
	}
	heard, err := lasting(r.Context(), func(ctx context.Context) (world.Heartbeat, error) { return s.world.Join(ctx, wk) })
	if errors.Is(err, world.ErrWorkerExists) {
		return 0, fmt.Errorf("%w; or let that one work through this server, as with stepwell dev --remote: see docs/workers.md", err)
	}
	if err != nil {
		return 0, err
	}
	if r.key != nil {
		s.guard.joins(wk.ID, r.key.Name)
	}
	b.Worker = wk.ID
	return heard.Until.Sub(heard.Now), nil
}

// claimTasks claims tasks, and gives back those that the worker holds and does not know of: an answer was lost.
func (s *stepDoor) claimTasks(r *request, b *stepClaim) (tasks []world.Task, err error) {
	known, err := keysOf(b.Worker, b.Holds)
	if err != nil {
		return nil, err
	}
	waits, end := context.WithCancel(r.Context())
	defer end()
	if b.Number > 0 { // an earlier one that comes late takes nothing any more
		mine, _, late := s.claims.begin(r.who(), &wire.TakeQuery{Worker: b.Worker, N: b.Number})
		if late != nil {
			return nil, late
		}
		defer func() {
			s.claims.drop(b.Worker, mine, err)
			close(mine.done)
		}()
		go func() {
			select {
			case <-mine.gone:
				end()
			case <-waits.Done():
			}
		}()
	}
	held, err := s.world.Held(r.Context(), b.Worker)
	if err != nil {
		return nil, err
	}
	for _, k := range held.Tasks {
		if !slices.Contains(known, k) {
			s.giveBack(r.Context(), &world.Task{Run: k.Run, Step: k.Step, Attempt: k.Attempt, Worker: b.Worker}, 0, "its worker never heard of it")
		}
	}
	q := world.ClaimQuery{Worker: b.Worker, Steps: b.Steps, Tasks: b.Most, Number: b.Number}
	claimed, err := s.doors.awaitWork(waits, time.Duration(b.Wait), func() (world.Claimed, error) {
		return lasting(r.Context(), func(ctx context.Context) (world.Claimed, error) { return s.world.Claim(ctx, q) })
	}, s.places.keyed(r)...)
	if err != nil && waits.Err() != nil && r.Context().Err() == nil {
		err = fmt.Errorf("worker %s has left: %w", b.Worker, world.ErrLeaseLost)
	}
	for i := range claimed.Tasks {
		claimed.Tasks[i].Worker = b.Worker
	}
	return claimed.Tasks, err
}

// give makes an answer of tasks. Those that the worker cannot run, or is not to run now, are handed back, or ended.
func (s *stepDoor) give(r *request, tasks []world.Task) ([]claimedStep, error) {
	out := []claimedStep{}
	bytes := 0
	for i := range tasks {
		t := &tasks[i]
		alone, over := kit.DeathsOf(t)
		switch {
		case t.Damage != "":
			s.damaged(r.Context(), t)
			continue
		case over != nil:
			s.end(r.Context(), t, over)
			continue
		case alone && s.hasQuarantined(t.Worker):
			s.giveBack(r.Context(), t, kit.RestOf(t, true), "another step that may have ended its process runs alone")
			continue
		}
		input, why := s.inputOf(r.Context(), t)
		if why != nil {
			s.unreadable(r.Context(), t, why)
			continue
		}
		if bytes += len(input); bytes > mostStepBytes && len(out) > 0 {
			s.giveBack(r.Context(), t, 0, "its worker was given as much as goes with one answer")
			continue
		}
		given, err := s.given(r.Context(), t, input)
		if err != nil {
			return nil, err
		}
		s.remember(t, alone)
		out = append(out, given)
	}
	return out, nil
}

// given is a task as its worker is told of it.
func (s *stepDoor) given(ctx context.Context, t *world.Task, input []byte) (claimedStep, error) {
	rule := kit.StepRuleOf(t.Options)
	rc := receiptOf(t, s.doors.time())
	out := claimedStep{
		Receipt: rc.text(), Step: t.Name, ID: t.Step, Run: t.Run, Workflow: t.Workflow, Attempt: t.Attempt, Input: input,
		TimeoutMs: rule.Timeout.Milliseconds(), SilenceMs: rule.Silence.Milliseconds(),
	}
	if t.Attempt > 1 {
		last, err := world.LastProgress(ctx, s.world, t.Run, t.Step)
		if err != nil {
			return out, fmt.Errorf("progress of step %s of run %s: %w", t.Step, t.Run, err)
		}
		if last != nil {
			out.Progress = last.Value
		}
	}
	return out, nil
}
