package sqlite

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

var (
	insertTask     = load("insert_task")
	claimTask      = load("claim_task")
	claimedTask    = load("claimed_task")
	putTaskAside   = load("put_task_aside")
	deleteRunTasks = load("delete_run_tasks")
	findTask       = load("find_task")
	deleteTask     = load("delete_task")
	retryTask      = load("retry_task")
	noteTask       = load("note_task")
	wakeTask       = load("wake_task")
)

// tasks are steps that any worker may do.
//
//   - An attempt is held by one worker, who is alive, or nobody has begun it; a later one has a larger number.
//   - run.tasks is false only where the run has none.
type tasks struct {
	tx      *txn
	workers *workers
	limits  *limits
}

// task is what the writer reads of a task to end an attempt.
type task struct {
	key, worker       int64
	attempt, failures int
	abandoned         int
	history           []byte
	visible           time.Time
}

func (tk *tasks) find(r *run, step string) (t task, found bool, err error) {
	found, err = tk.tx.one(findTask, func(row row) error {
		t = task{key: row.int(0), worker: row.int(1), attempt: int(row.int(2)), failures: int(row.int(3)), history: row.bytes(4), abandoned: int(row.int(5)),
			visible: row.time(6)}
		return nil
	}, r.key, step)
	return t, found, err
}

// holds reports whether a worker holds a task.
func (tk *tasks) holds(worker string, r *run, k world.TaskKey) (bool, error) {
	t, found, err := tk.find(r, k.Step)
	return found && t.worker != 0 && t.worker == tk.workers.key(worker) && t.attempt == k.Attempt, err
}

// write makes a commit's new tasks and deletes those that it ends or drops.
func (tk *tasks) write(c *world.Commit, r *run) error {
	for _, keys := range [2][]world.TaskKey{c.Held, c.Dropped} {
		for _, k := range keys {
			if err := tk.drop(r, k.Step); err != nil {
				return err
			}
		}
	}
	for i := range c.Tasks {
		if err := tk.create(c, r, &c.Tasks[i]); err != nil {
			return err
		}
	}
	return nil
}

func (tk *tasks) create(c *world.Commit, r *run, t *world.Task) error {
	workflow := t.Workflow
	if workflow == "" {
		workflow = r.workflow
	}
	visible := t.Visible
	if visible.IsZero() {
		visible = tk.tx.now()
	}
	var worker, first, history any
	attempt := int64(0)
	if t.Worker != "" {
		attempt, worker, first = 1, key(tk.workers.key(t.Worker)), tk.tx.now().UnixMicro()
		start := world.Event{Type: world.StepStarted, ID: t.Step, Attempt: 1, Time: tk.tx.now(), Build: c.Build}
		text, err := remember(nil, start, 1)
		if err != nil {
			return err
		}
		history = text
		tk.workers.holdsTask(t.Worker)
	} else {
		tk.tx.notice(world.NoticeWork, r.id)
	}
	if r.tasks {
		if err := tk.drop(r, t.Step); err != nil {
			return err
		}
	}
	r.tasks = true
	kept := world.Task{Run: r.id, Step: t.Step, Name: t.Name, Workflow: workflow, Input: t.Input, Options: t.Options, Priority: t.Priority}
	if err := tk.tx.exec(insertTask, r.key, t.Step, t.Name, workflow, blob(t.Input), blob(t.Options), int64(t.Priority), visible.UnixMicro(),
		worker, attempt, first, history, int64(layout.TaskSum(&kept).Value())); err != nil {
		return err
	}
	return tk.limits.enterTask(r, t)
}

// give begins an attempt, unless the task is of no run. The start is kept with the task: it is durable from here on.
// One that lacks a place is not given: it stands in line from then on.
func (tk *tasks) give(key int64, wk *worker) (t world.Task, err error) {
	if whole, err := tk.limits.seekTask(key); err != nil || !whole {
		return t, err
	}
	var history []byte
	found, err := tk.tx.one(claimedTask, func(r row) error {
		t = world.Task{
			Run: r.text(0), Step: r.text(1), Name: r.text(2), Workflow: r.text(3), Input: r.bytes(4), Options: r.bytes(5),
			Priority: int(r.int(6)), Visible: r.time(7), Attempt: int(r.int(8)), First: r.time(10), Failures: int(r.int(11)),
			Abandoned: int(r.int(12)),
		}
		history = r.bytes(9)
		layout.CheckTask(&t, r.sum(13))
		return nil
	}, key)
	if err == nil && !found {
		err = tk.tx.exec(putTaskAside, key)
	}
	if err != nil || !found {
		return world.Task{}, err
	}
	t.History, err = readHistory(history)
	t.Unreadable(err)
	t.Worker = wk.ID
	t.Attempt++
	start := world.Event{Type: world.StepStarted, ID: t.Step, Attempt: t.Attempt, Time: tk.tx.now(), Build: wk.Build}
	text, err := remember(history, start, t.Attempt)
	if err != nil {
		return t, err
	}
	tk.workers.holdsTask(wk.ID)
	if err := tk.tx.exec(claimTask, key, wk.key, tk.tx.now().UnixMicro(), text); err != nil {
		return t, err
	}
	return t, tk.limits.payTask(key)
}

// drop deletes a task that is over.
func (tk *tasks) drop(r *run, step string) error {
	if err := tk.limits.restTasks(r.key, step, true); err != nil {
		return err
	}
	return tk.tx.exec(deleteTask, r.key, step)
}

// dropAll deletes all of a run.
func (tk *tasks) dropAll(r *run) error {
	if !r.tasks {
		return nil
	}
	if err := tk.limits.restTasks(r.key, "", true); err != nil {
		return err
	}
	return tk.tx.exec(deleteRunTasks, r.key)
}

// retry has a task tried again, later.
func (tk *tasks) retry(r *run, step string, t *task, at time.Time, history string) error {
	tk.tx.notice(world.NoticeWork, r.id)
	if err := tk.limits.restTasks(r.key, step, false); err != nil {
		return err
	}
	return tk.tx.exec(retryTask, t.key, at.UnixMicro(), int64(t.failures), history, int64(t.abandoned))
}

// wake has a task visible that waits for its next attempt.
func (tk *tasks) wake(r *run, t *task, history string) error {
	tk.tx.notice(world.NoticeWork, r.id)
	return tk.tx.exec(wakeTask, t.key, tk.tx.now().UnixMicro(), history)
}

// note keeps what became of an attempt that nobody holds any more.
func (tk *tasks) note(t *task, history string) error { return tk.tx.exec(noteTask, t.key, history) }

// taskEnd ends an attempt of a task: its events go to the inbox, or it is tried again later.
func (g *group) taskEnd(d *world.Delivery) (done world.Delivered, err error) {
	k := d.Task
	r, err := g.runs.get(k.Run)
	switch {
	case err != nil:
		return done, err
	case r == nil:
		return done, fmt.Errorf("run %s: %w", k.Run, world.ErrNotFound)
	case !r.live:
		return done, over(r)
	}
	t, found, err := g.tasks.find(r, k.Step)
	if err != nil {
		return done, err
	}
	if d.WakesTask() {
		done = world.Delivered{Run: r.id, Owner: g.workers.id(r.owner), Duplicate: !found || !d.WakesNow(t.shown(), g.tx.now())}
		if done.Duplicate {
			return done, nil
		}
		if done.Duplicate, err = g.queue.limits.inLine(r.key, k.Step); err != nil || done.Duplicate {
			return done, err // its time has come, and it has no place
		}
		history, err := remember(t.history, d.Events[0], t.attempt)
		if err != nil {
			return done, fmt.Errorf("run %s: task %s: %w", r.id, k.Step, err)
		}
		g.tx.count().deliveries++
		return done, g.tasks.wake(r, &t, history)
	}
	if d.ExpiresTask() {
		done = world.Delivered{Run: r.id, Owner: g.workers.id(r.owner), Duplicate: !found || !d.ExpiresNow(t.shown())}
		if done.Duplicate {
			return done, nil
		}
		g.tx.count().deliveries++
		if err := g.tasks.drop(r, k.Step); err != nil {
			return done, err
		}
		_, err := g.inbox.put(r, d.ID, noKey, d.Events)
		return done, err
	}
	late := false
	if found {
		if late, err = t.givenUp(d); err != nil {
			return done, err
		}
	}
	if late {
		g.tx.count().deliveries++
		history, err := remember(t.history, d.Events[0], t.attempt)
		if err != nil {
			return done, err
		}
		return world.Delivered{Run: r.id, Owner: g.workers.id(r.owner)}, g.tasks.note(&t, history)
	}
	if !found || t.worker == 0 || t.worker != g.workers.key(d.Worker) || t.attempt != k.Attempt {
		return done, fmt.Errorf("run %s: task %s, attempt %d: %w", k.Run, k.Step, k.Attempt, world.ErrLeaseLost)
	}
	g.tx.count().deliveries++
	done = world.Delivered{Run: r.id, Owner: g.workers.id(r.owner)}
	if d.RetryAt.IsZero() {
		if err := g.tx.hold(r.id, "", d.Events...); err != nil {
			return done, err
		}
		if err := g.tasks.drop(r, k.Step); err != nil {
			return done, err
		}
		_, err := g.inbox.put(r, d.ID, noKey, d.Events)
		return done, err
	}
	e := d.Events[0]
	history, err := remember(t.history, e, t.attempt)
	if err != nil {
		return done, fmt.Errorf("run %s: task %s: %w", k.Run, k.Step, err)
	}
	if abandoned(&e) {
		t.abandoned++
	} else {
		t.failures++
	}
	return done, g.tasks.retry(r, k.Step, &t, d.RetryAt, history)
}

func abandoned(e *world.Event) bool { return e.Error != nil && e.Error.Code == world.CodeAbandoned }

// givenUp reports whether a delivery is about an attempt that is no longer held; see [world.Delivery.GivesUp].
func (t *task) givenUp(d *world.Delivery) (bool, error) {
	if d.RetryAt.IsZero() {
		return false, nil // the usual end: its history is not needed
	}
	history, err := readHistory(t.history)
	if err != nil {
		return false, err
	}
	as := t.shown()
	as.History = history
	return d.GivesUp(as), nil
}

// shown is the task without its history.
func (t *task) shown() *world.Task {
	as := &world.Task{Attempt: t.attempt, Visible: t.visible}
	if t.worker != 0 {
		as.Worker = "somebody" // who it is does not count here
	}
	return as
}

// remember adds to the history of a task, a JSON array of events. One that cannot be read begins anew.
func remember(history []byte, e world.Event, last int) (string, error) {
	events, _ := readHistory(history)
	text, err := json.Marshal(world.RememberAttempt(events, e, last))
	return string(text), err
}

func readHistory(history []byte) (events []world.Event, err error) {
	if len(history) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(history, &events); err != nil {
		return nil, fmt.Errorf("%w: history of a task: %w", world.ErrCorrupt, err)
	}
	return events, nil
}
