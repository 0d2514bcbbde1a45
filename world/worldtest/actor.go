// Workers and sessions: who owns what in a check.

package worldtest

import (
	"encoding/json"
	"time"

	"github.com/stepwell/stepwell/world"
)

// worker is one that joined.
type worker struct {
	*rig
	id      string
	classes []world.Class
	steps   []string
}

// worker joins a worker with a long lease, for version 1 of workflows.
func (r *rig) worker(workflows ...string) *worker { return r.mortal(longLease, workflows...) }

// mortal joins a worker with a lease that the caller chooses, for version 1 of workflows.
func (r *rig) mortal(lease time.Duration, workflows ...string) *worker {
	r.Helper()
	wk := &worker{rig: r, id: world.NewID(world.PrefixWorker, world.Now())}
	for _, name := range workflows {
		wk.classes = append(wk.classes, world.Class{Workflow: name, Version: 1})
	}
	wk.steps = []string{"task"}
	b, err := r.w.Join(r.ctx, world.Worker{ID: wk.id, Name: "host:1", Build: "b1", Classes: wk.classes, Steps: wk.steps, Lease: lease})
	r.must(err, "join")
	if got := b.Until.Sub(b.Now); got <= 0 || got > lease {
		r.Fatalf("join: the lease ends %s from now, want %s", got, lease)
	}
	return wk
}

// claim asks for runs and tasks once.
func (k *worker) claim(runs, tasks int) world.Claimed {
	k.Helper()
	t, err := k.w.Claim(k.ctx, world.ClaimQuery{Worker: k.id, Classes: k.classes, Runs: runs, Steps: k.steps, Tasks: tasks})
	k.must(err, "take")
	if len(t.Runs) > runs || len(t.Tasks) > tasks {
		k.Fatalf("take of %d and %d: got %d runs and %d tasks", runs, tasks, len(t.Runs), len(t.Tasks))
	}
	return t
}

// idle ends the check if there is a run or a task for the worker.
func (k *worker) idle(why string) world.Claimed {
	k.Helper()
	t := k.claim(100, 100)
	if len(t.Runs)+len(t.Tasks) > 0 {
		k.Fatalf("got runs %+v and tasks %+v, want none: %s", t.Runs, t.Tasks, why)
	}
	return t
}

// get waits until it is given the run, alone.
func (k *worker) get(run string) (*session, world.ClaimedRun) {
	k.Helper()
	var got world.ClaimedRun
	k.until("run "+run+" is taken", func() bool {
		t := k.claim(1, 0)
		if len(t.Runs) == 0 {
			return false
		}
		got = t.Runs[0]
		return true
	})
	if got.Run != run {
		k.Fatalf("took run %s, want %s", got.Run, run)
	}
	if got.Log != nil { // a world may bring it or not
		k.same(got.Log, k.events(run), "the log that came with the run")
		got.Log = nil
	}
	return &session{worker: k, run: run, claimed: got.Claim, seq: got.Seq}, got
}

// getTask waits until it is given a task.
func (k *worker) getTask() world.Task {
	k.Helper()
	var got world.Task
	k.until("a task is claimed", func() bool {
		t := k.claim(0, 1)
		if len(t.Tasks) == 0 {
			return false
		}
		got = t.Tasks[0]
		return true
	})
	return got
}

// heartbeat renews the lease.
func (k *worker) heartbeat(tasks ...world.TaskKey) world.Heartbeat {
	k.Helper()
	b, err := k.w.Heartbeat(k.ctx, world.HeartbeatQuery{Worker: k.id, Tasks: tasks})
	k.must(err, "beat")
	return b
}

// create begins a run that the worker owns, with run_started in the same commit.
func (k *worker) create(workflow string, with ...func(*world.Birth)) *session {
	k.Helper()
	c := birth(workflow, with...)
	c.Worker, c.Claim, c.Build = k.id, 1, "b1"
	c.Events = append(c.Events, world.Event{Type: world.RunStarted, Time: c.Events[0].Time})
	k.commit(c)
	return &session{worker: k, run: c.Run, claimed: 1, seq: 2}
}

// session is a worker's ownership of one run.
type session struct {
	*worker
	run     string
	claimed int64
	seq     int64
}

// next is the commit that the session may make.
func (s *session) next(events ...world.Event) *world.Commit {
	for i := range events {
		if events[i].Time.IsZero() {
			events[i].Time = world.Now()
		}
	}
	return &world.Commit{ID: commitID(), Run: s.run, Worker: s.id, Claim: s.claimed, Build: "b1", First: s.seq + 1, Events: events}
}

// write commits what must be accepted.
func (s *session) write(c *world.Commit) world.Committed {
	s.Helper()
	done := s.commit(c)
	n := len(c.Events)
	if done.Events != nil {
		n = len(done.Events)
	}
	s.seq += int64(n)
	return done
}

// append commits events.
func (s *session) append(events ...world.Event) world.Committed {
	s.Helper()
	return s.write(s.next(events...))
}

// release gives the run up.
func (s *session) release(rel world.Release) world.Committed {
	s.Helper()
	c := s.next()
	c.Release = &rel
	return s.write(c)
}

// end completes the run.
func (s *session) end() {
	s.Helper()
	s.append(world.Event{Type: world.RunCompleted, Payload: json.RawMessage(`"done"`)})
}

// mail lists what waits for the session's run.
func (s *session) mail() (own []world.Mail) {
	s.Helper()
	for _, m := range s.heartbeat().Mail {
		if m.Run == s.run {
			own = append(own, m)
		}
	}
	return own
}

func rows(mail []world.Mail) (rows []int64) {
	for _, m := range mail {
		rows = append(rows, m.Row)
	}
	return rows
}

// The events that checks write most.

func signalEvent(name string) world.Event {
	return world.Event{Type: world.SignalReceived, Name: name, Payload: json.RawMessage(`1`)}
}

func stepCreated(id string, kind world.Kind) world.Event {
	return world.Event{Type: world.StepCreated, ID: id, Kind: kind, Name: id, Payload: json.RawMessage(`{}`)}
}

func hookCreated(id, token string) world.Event {
	return world.Event{Type: world.HookCreated, ID: id, Name: id, Token: token, Chosen: true, Payload: json.RawMessage(`{"meta":1}`)}
}

// queueTask creates a step with an open task.
func (s *session) queueTask(step string) {
	s.Helper()
	e := stepCreated(step, world.KindTask)
	e.Queued = true
	c := s.next(e)
	c.Tasks = []world.Task{{Run: s.run, Step: step, Name: "task", Workflow: "greet", Input: []byte(`{"in":1}`), Options: []byte(`{"o":1}`), Priority: 1}}
	s.write(c)
}

// taskEnd is the delivery that ends a task well, with the attempts before it.
func (k *worker) taskEnd(t world.Task, result json.RawMessage) *world.Delivery {
	events := append([]world.Event{}, t.History...)
	events = append(events,
		world.Event{Type: world.StepStarted, ID: t.Step, Attempt: t.Attempt, Time: world.Now()},
		world.Event{Type: world.StepCompleted, ID: t.Step, Attempt: t.Attempt, Time: world.Now(), Payload: result})
	return &world.Delivery{Worker: k.id, Task: &world.TaskKey{Run: t.Run, Step: t.Step, Attempt: t.Attempt}, Events: events}
}
