package sqlite

import (
	"encoding/json"
	"fmt"

	"github.com/stepwell/stepwell/world"
)

var (
	insertTask = load("insert_task")
	findTask   = load("find_task")
	deleteTask = load("delete_task")
	retryTask  = load("retry_task")
	noteTask   = load("note_task")
)

// task is what the writer reads of a task to end an attempt.
type task struct {
	key, worker       int64
	attempt, failures int
	abandoned         int
	history           []byte
}

func (g *group) task(r *run, step string) (t task, found bool, err error) {
	found, err = g.tx.one(findTask, func(row row) error {
		t = task{key: row.int(0), worker: row.int(1), attempt: int(row.int(2)), failures: int(row.int(3)), history: row.bytes(4), abandoned: int(row.int(5))}
		return nil
	}, r.key, step)
	return t, found, err
}

// holds reports whether a worker holds a task.
func (g *group) holds(worker string, r *run, k world.TaskKey) (bool, error) {
	t, found, err := g.task(r, k.Step)
	return found && t.worker != 0 && t.worker == g.worker(worker) && t.attempt == k.Attempt, err
}

// commitTasks makes a commit's new tasks and deletes those that it ends or drops.
func (g *group) commitTasks(c *world.Commit, r *run) error {
	for _, keys := range [2][]world.TaskKey{c.Held, c.Dropped} {
		for _, k := range keys {
			if err := g.tx.exec(deleteTask, r.key, k.Step); err != nil {
				return err
			}
		}
	}
	for i := range c.Tasks {
		if err := g.bearTask(c, r, &c.Tasks[i]); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) bearTask(c *world.Commit, r *run, t *world.Task) error {
	workflow := t.Workflow
	if workflow == "" {
		workflow = r.workflow
	}
	visible := t.Visible
	if visible.IsZero() {
		visible = g.tx.now()
	}
	var worker, first, history any
	attempt := int64(0)
	if t.Worker != "" {
		attempt, worker, first = 1, key(g.worker(t.Worker)), g.tx.now().UnixMicro()
		start := world.Event{Type: world.StepStarted, ID: t.Step, Attempt: 1, Time: g.tx.now(), Build: c.Build}
		text, err := remember(nil, start, 1)
		if err != nil {
			return err
		}
		history = text
		g.holdsTask(t.Worker)
	} else {
		g.tx.notice(world.NoticeWork, r.id)
	}
	if r.tasks {
		if err := g.tx.exec(deleteTask, r.key, t.Step); err != nil {
			return err
		}
	}
	r.tasks = true
	kept := world.Task{Run: r.id, Step: t.Step, Name: t.Name, Workflow: workflow, Input: t.Input, Options: t.Options, Priority: t.Priority}
	return g.tx.exec(insertTask, r.key, t.Step, t.Name, workflow, blob(t.Input), blob(t.Options), int64(t.Priority), visible.UnixMicro(),
		worker, attempt, first, history, int64(world.TaskSum(&kept).Value()))
}

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
		return done, g.over(r)
	}
	t, found, err := g.task(r, k.Step)
	if err != nil {
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
		return world.Delivered{Run: r.id, Owner: g.workerID(r.owner)}, g.tx.exec(noteTask, t.key, history)
	}
	if !found || t.worker == 0 || t.worker != g.worker(d.Worker) || t.attempt != k.Attempt {
		return done, fmt.Errorf("run %s: task %s, attempt %d: %w", k.Run, k.Step, k.Attempt, world.ErrLeaseLost)
	}
	g.tx.count().deliveries++
	done = world.Delivered{Run: r.id, Owner: g.workerID(r.owner)}
	if d.RetryAt.IsZero() {
		if err := g.tx.exec(deleteTask, r.key, k.Step); err != nil {
			return done, err
		}
		_, err := g.put(r, d.ID, noKey, d.Events)
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
	g.tx.notice(world.NoticeWork, r.id)
	return done, g.tx.exec(retryTask, t.key, d.RetryAt.UnixMicro(), int64(t.failures), history, int64(t.abandoned))
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
	as := world.Task{Attempt: t.attempt, History: history}
	if t.worker != 0 {
		as.Worker = "somebody" // who it is does not count here
	}
	return d.GivesUp(&as), nil
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
