package sqlite

// Limits of tasks: each attempt needs places, as a run at work does. A task that stands in line is visible to nobody.

import (
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	limitedTask     = load("limited_task")
	limitedTasks    = load("limited_tasks")
	limitedStep     = load("limited_step")
	limitTask       = load("limit_task")
	writeTaskPlaced = load("write_task_placed")
	taskInLine      = load("task_in_line")
)

// hidden is when a task is visible that stands in line: as that of no run, see put_task_aside. Older programs do not
// claim it.
const hidden = 253402300799000000

// taskNumbers is how far the number of a task in a row of a line is below its key: it is below 0, which no run's is, and
// those of one moment are in the order of their keys.
const taskNumbers = 1 << 62

// liner is who stands in lines of limits: a run or a task.
type liner interface {
	needs() *placed
	begun() bool
	since() time.Time // when it was created, or asked for
	urgency() int64
	number() int64                    // in a row of a line
	news() (world.NoticeKind, string) // where it is ready
	moved(l *limits) error            // writes what it has now that got a place in a line
}

func (r *run) needs() *placed                   { return r.placed }
func (r *run) begun() bool                      { return r.running }
func (r *run) since() time.Time                 { return r.created }
func (r *run) number() int64                    { return r.key }
func (r *run) news() (world.NoticeKind, string) { return world.NoticeWork, r.id }

func (r *run) moved(l *limits) error {
	if !r.placed.Whole() {
		return l.write(r, nil)
	}
	r.wake = l.tx.now()
	return l.write(r, micros(r.wake))
}

// placedTask is a task that needs places.
type placedTask struct {
	placed
	key, priority int64
	asked         time.Time
	visible       int64 // µs, where it does not stand in line
	run           string
}

func (t *placedTask) needs() *placed                   { return &t.placed }
func (t *placedTask) begun() bool                      { return false } // between attempts it holds nothing
func (t *placedTask) since() time.Time                 { return t.asked }
func (t *placedTask) urgency() int64                   { return rules.Priorities - 1 - t.priority }
func (t *placedTask) number() int64                    { return t.key - taskNumbers }
func (t *placedTask) news() (world.NoticeKind, string) { return world.NoticeWork, t.run }

func (t *placedTask) moved(l *limits) error {
	t.visible = l.tx.now().UnixMicro()
	return t.write(l)
}

func (t *placedTask) write(l *limits) error {
	at := t.visible
	if t.Parked {
		at = hidden
	}
	return l.tx.exec(writeTaskPlaced, t.key, int64(t.Has), t.parked(), at)
}

func scanTask(r row) *placedTask {
	p := scanPlaced(r, 5)
	if p == nil {
		return nil // what cannot be read holds nobody back
	}
	return &placedTask{placed: *p, key: r.int(0), priority: r.int(1), asked: r.time(2), visible: r.int(3), run: r.text(4)}
}

// task is one by key; nil: it needs no places.
func (l *limits) task(key int64) (t *placedTask, err error) {
	_, err = l.tx.one(limitedTask, func(r row) error { t = scanTask(r); return nil }, key)
	return t, err
}

// tasksOf are those of a run, or of a step of it ("": of all), that need places.
func (l *limits) tasksOf(run int64, step string) (all []*placedTask, err error) {
	if used, err := l.used(); err != nil || !used {
		return nil, err
	}
	of, args := limitedTasks, []any{run}
	if step != "" {
		of, args = limitedStep, append(args, step)
	}
	err = l.tx.query(of, func(r row) (bool, error) {
		if t := scanTask(r); t != nil {
			all = append(all, t)
		}
		return true, nil
	}, args...)
	return all, err
}

// enterTask notes what a task needs that was just created, and has it take its places if it is ready.
func (l *limits) enterTask(r *run, t *world.Task) error {
	if len(t.Places) == 0 {
		return nil
	}
	of, err := l.needs(t.Places, world.SaidLimit{Steps: true})
	if err != nil || of == nil {
		return err
	}
	key := int64(0)
	if _, err := l.tx.one(findTask, func(r row) error { key = r.int(0); return nil }, r.key, t.Step); err != nil {
		return err
	}
	if err := l.tx.exec(limitTask, key, of.keys(), int64(of.Rates), l.tx.now().UnixMicro()); err != nil {
		return err
	}
	if t.Visible.After(l.tx.now()) {
		return nil
	}
	_, err = l.seekTask(key)
	return err
}

// seekTask has a task that is ready take the places that it lacks. False: it stands in line.
func (l *limits) seekTask(key int64) (whole bool, err error) {
	if used, err := l.used(); err != nil || !used {
		return true, err
	}
	t, err := l.task(key)
	if err != nil || t == nil || t.Whole() {
		return true, err
	}
	if whole, err = rules.Seek[liner](l, t); err != nil {
		return false, err
	}
	return whole, t.write(l)
}

// payTask has a task that is claimed pay.
func (l *limits) payTask(key int64) error {
	if used, err := l.used(); err != nil || !used {
		return err
	}
	t, err := l.task(key)
	if err != nil || t == nil || t.Rates == 0 {
		return err
	}
	if err := rules.Paid[liner](l, t); err != nil {
		return err
	}
	return t.write(l)
}

// restTasks has tasks whose attempt has ended give back their places; over: they need none any more, and are deleted
// next.
func (l *limits) restTasks(run int64, step string, over bool) error {
	all, err := l.tasksOf(run, step)
	if err != nil {
		return err
	}
	for _, t := range all {
		if t, err = l.task(t.key); err != nil { // one before it may have let it in
			return err
		} else if t == nil {
			continue
		}
		if err := rules.Rest[liner](l, t, over); err != nil {
			return err
		}
		if err := t.write(l); err != nil {
			return err
		}
		if over {
			if err := l.leave(t.Keys); err != nil {
				return err
			}
		}
	}
	return nil
}

// inLine reports whether the task of a step stands in line.
func (l *limits) inLine(run int64, step string) (bool, error) {
	all, err := l.tasksOf(run, step)
	return len(all) > 0 && all[0].Parked, err
}
