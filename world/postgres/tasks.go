package postgres

// Attempts of queued steps: how they begin and end. The row of a task is the durable start of the attempt that runs. Its history is text, a JSON array of
// events; it changes only with what the row counts (attempt, failures, abandoned), so these three name one version of it: but for a wake, which
// is written only where no worker may claim the task.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

var (
	claimTasks = load("claim_tasks")
	endTask    = load("end_task")
	expireTask = load("expire_task")
	findTask   = load("find_task")
	retryTask  = load("retry_task")
	noteTask   = load("note_task")
	wakeTask   = load("wake_task")
)

// taskSeen is a version of a task.
type taskSeen struct {
	key                          int64
	step                         string
	attempt, failures, abandoned int32
	history                      string
}

// begun is the history of the task with the start of its next attempt, and as it was before; bad: why that cannot be read, and begins anew.
func (s *taskSeen) begun(now time.Time, build string) (text string, before []world.Event, bad, err error) {
	before, bad = readHistory(s.history)
	attempt := int(s.attempt) + 1
	start := world.Event{Type: world.StepStarted, ID: s.step, Attempt: attempt, Time: now, Build: build}
	after, err := json.Marshal(world.RememberAttempt(append([]world.Event(nil), before...), start, attempt))
	return string(after), before, bad, err
}

func readHistory(text string) (events []world.Event, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &events); err != nil {
		return nil, fmt.Errorf("%w: history of a task: %w", world.ErrCorrupt, err)
	}
	return events, nil
}

// queueTasks adds the statement that gives tasks.
func (t *claiming) queueTasks(q *pgx.Batch, now time.Time, tasks []candidate, got map[int64]*world.Task) error {
	n := len(tasks)
	keys, texts, starts := make([]int64, n), make([]string, n), make([]time.Time, n)
	var seen [3][]int32
	before, spoiled := make(map[int64][]world.Event, n), make(map[int64]error)
	for i := range tasks {
		s := &tasks[i].task
		text, history, bad, err := s.begun(now, t.wk.Build)
		if err != nil {
			return err
		}
		keys[i], texts[i], starts[i], before[s.key], spoiled[s.key] = s.key, text, now, history, bad
		for j, v := range []int32{s.attempt, s.failures, s.abandoned} {
			seen[j] = append(seen[j], v)
		}
	}
	q.Queue(t.w.sql(claimTasks), keys, seen[0], seen[1], seen[2], texts, starts, t.wk.key).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var key int64
			var sum *int32
			o := &world.Task{Worker: t.wk.ID}
			if err := rows.Scan(&key, &o.Run, &o.Step, &o.Name, &o.Workflow, (*[]byte)(&o.Input), (*[]byte)(&o.Options), &o.Priority, &o.Visible, &o.Attempt,
				&o.First, &o.Failures, &o.Abandoned, &sum); err != nil {
				return err
			}
			o.Visible, o.First, o.History = world.Within(o.Visible.UTC()), world.Within(o.First.UTC()), before[key]
			layout.CheckTask(o, sumOf(sum))
			o.Unreadable(spoiled[key])
			if o.Attempt == 1 {
				o.First = time.Time{}
			}
			got[key] = o
		}
		return rows.Err()
	})
	return nil
}

// taskEnd ends an attempt of a task: its events go to the inbox, or it is tried again later.
func (w *World) taskEnd(ctx context.Context, d *world.Delivery) (done world.Delivered, err error) {
	none := holdsWhole(ctx, &w.reader, d.Task.Run, d.Events)
	if none != nil && !errors.Is(none, world.ErrInvalid) {
		return done, none
	}
	for {
		if none != nil {
			if t, err := w.findTask(ctx, d.Task); err != nil || t.found && textOf(t.worker) == d.Worker && int(t.seen.attempt) == d.Task.Attempt {
				return done, cmp.Or(err, none)
			}
		} else if d.RetryAt.IsZero() && !d.WakesTask() {
			if done, ended, err := w.endTask(ctx, d); err != nil || ended {
				return done, err
			}
		}
		done, ok, err := w.retryTask(ctx, d)
		if err != nil || ok {
			return done, err
		}
	}
}

// endTask puts the events of all attempts into the inbox and deletes the task, where it is held as the delivery says, or has not begun; else nothing happens.
func (w *World) endTask(ctx context.Context, d *world.Delivery) (done world.Delivered, ended bool, err error) {
	k := d.Task
	head, body, err := layout.AppendRow(nil, []byte{}, [16]byte{}, "", time.Time{}, d.Events)
	if err != nil {
		return done, false, fmt.Errorf("run %s: task %s: %w", k.Run, k.Step, err)
	}
	var delivery *string
	if d.ID != "" {
		delivery = &d.ID
	}
	if !storable([]any{k.Run, k.Step, d.Worker, d.ID}) {
		return done, false, nil // nobody holds such a task
	}
	s := endTask
	if d.ExpiresTask() {
		s = expireTask
	}
	err = w.batch(ctx, func(q *pgx.Batch) {
		q.Queue(w.sql(setPatience))
		q.Queue(w.sql(s), k.Run, k.Step, d.Worker, k.Attempt, delivery, int16(world.LogFormat), string(head), body, mailSum(string(head), body, "")).Query(func(rows pgx.Rows) error {
			var owner *string
			_, err := pgx.ForEachRow(rows, []any{&owner}, func() error {
				ended, done = true, world.Delivered{Run: k.Run, Owner: textOf(owner)}
				return nil
			})
			return err
		})
	})
	if err != nil || !ended {
		return world.Delivered{}, false, err
	}
	w.counters.deliveries.Add(1)
	kind := noticePost
	if done.Owner != "" {
		kind = world.NoticeMail
	}
	w.telling.tell(world.Notice{Kind: kind, Run: k.Run})
	return done, true, nil
}

// taskFound is what ends an attempt that is tried again, or says why it cannot end.
type taskFound struct {
	known, live bool
	owner       *string
	seen        taskSeen
	found       bool
	worker      *string // who holds it
	history     []world.Event
	visible     time.Time // zero: a worker may take it by now
}

// retryTask ends an attempt that another follows, or notes that one was given up. Not ok: the task has changed meanwhile.
func (w *World) retryTask(ctx context.Context, d *world.Delivery) (done world.Delivered, ok bool, err error) {
	k := d.Task
	t, err := w.findTask(ctx, k)
	switch {
	case err != nil:
		return done, false, err
	case !t.known:
		return done, false, fmt.Errorf("run %s: %w", k.Run, world.ErrNotFound)
	case !t.live:
		return done, false, fmt.Errorf("run %s: %w", k.Run, world.ErrTerminal)
	}
	if d.WakesTask() {
		return w.wakeTask(ctx, d, &t)
	}
	if d.ExpiresTask() { // where it has not begun, it came meanwhile
		begun := !t.found || !d.ExpiresNow(&world.Task{Attempt: int(t.seen.attempt), Worker: textOf(t.worker)})
		return world.Delivered{Run: k.Run, Owner: textOf(t.owner), Duplicate: true}, begun, nil
	}
	held := t.found && textOf(t.worker) == d.Worker && d.Worker != "" && int(t.seen.attempt) == k.Attempt && !d.RetryAt.IsZero()
	late := t.found && !held && d.GivesUp(&world.Task{Attempt: int(t.seen.attempt), Worker: textOf(t.worker), History: t.history})
	if !held && !late {
		return done, false, fmt.Errorf("run %s: task %s, attempt %d: %w", k.Run, k.Step, k.Attempt, world.ErrLeaseLost)
	}
	e := d.Events[0]
	text, err := json.Marshal(world.RememberAttempt(t.history, e, int(t.seen.attempt)))
	if err != nil {
		return done, false, fmt.Errorf("run %s: task %s: %w", k.Run, k.Step, err)
	}
	s, args := noteTask, []any{t.seen.key, t.seen.attempt, t.seen.failures, t.seen.abandoned, string(text)}
	if held {
		s, args = retryTask, append(args, d.RetryAt, e.Error != nil && e.Error.Code == world.CodeAbandoned)
	}
	changed := false
	err = w.batch(ctx, func(q *pgx.Batch) {
		q.Queue(w.sql(setPatience))
		q.Queue(w.sql(s), args...).Exec(func(tag pgconn.CommandTag) error { changed = tag.RowsAffected() == 1; return nil })
	})
	if err != nil || !changed {
		return done, false, err
	}
	w.counters.deliveries.Add(1)
	if held {
		w.telling.tell(world.Notice{Kind: world.NoticeWork, Run: k.Run})
	}
	return world.Delivered{Run: k.Run, Owner: textOf(t.owner)}, true, nil
}

// wakeTask makes a task visible that waits for its next attempt. Not ok: the task has changed meanwhile.
func (w *World) wakeTask(ctx context.Context, d *world.Delivery, t *taskFound) (done world.Delivered, ok bool, err error) {
	done = world.Delivered{Run: d.Task.Run, Owner: textOf(t.owner), Duplicate: true}
	if !t.found || !d.WakesNow(&world.Task{Attempt: int(t.seen.attempt), Worker: textOf(t.worker), Visible: t.visible}, time.Time{}) {
		return done, true, nil
	}
	text, err := json.Marshal(world.RememberAttempt(t.history, d.Events[0], int(t.seen.attempt)))
	if err != nil {
		return done, false, fmt.Errorf("run %s: task %s: %w", d.Task.Run, d.Task.Step, err)
	}
	changed := false
	err = w.batch(ctx, func(q *pgx.Batch) {
		q.Queue(w.sql(setPatience))
		q.Queue(w.sql(wakeTask), t.seen.key, t.seen.attempt, t.seen.failures, t.seen.abandoned, string(text)).Exec(func(tag pgconn.CommandTag) error {
			changed = tag.RowsAffected() == 1
			return nil
		})
	})
	if err != nil {
		return done, false, err
	}
	if !changed { // taken, or due, meanwhile
		return done, false, nil
	}
	w.counters.deliveries.Add(1)
	w.telling.tell(world.Notice{Kind: world.NoticeWork, Run: d.Task.Run})
	done.Duplicate = false
	return done, true, nil
}

func (w *World) findTask(ctx context.Context, k *world.TaskKey) (t taskFound, err error) {
	err = w.read(ctx, findTask, func(row pgx.Rows) error {
		t = taskFound{known: true}
		var key *int64
		var attempt, failures, abandoned *int32
		var history *string
		var visible *time.Time
		if err := row.Scan(&t.live, &t.owner, &key, &t.worker, &attempt, &failures, &abandoned, &history, &visible); err != nil {
			return err
		}
		if t.found = key != nil; !t.found {
			return nil
		}
		t.seen = taskSeen{key: *key, step: k.Step, attempt: *attempt, failures: *failures, abandoned: *abandoned}
		t.visible = at(visible)
		t.history, _ = readHistory(textOf(history)) // one that cannot be read begins anew
		return nil
	}, k.Run, k.Step)
	return t, err
}
