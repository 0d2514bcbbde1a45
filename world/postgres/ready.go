package postgres

// What could be claimed, without claiming it: a full look, as a worker's, whose candidates are named and not given.

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var nameReady = load("name_ready")

// Ready lists what could be claimed; see [world.Admin]. It ends the leases of dead workers,
// as a claim does.
func (w *World) Ready(ctx context.Context, q world.ReadyQuery) (world.Ready, error) {
	if ctx.Err() != nil {
		return world.Ready{}, context.Cause(ctx)
	}
	classes, err := w.classes.keysOf(ctx, q.Classes)
	if err != nil {
		return world.Ready{}, err
	}
	for round := 1; ; round++ {
		found, err := w.lookReady(ctx, classes, &q)
		if err != nil {
			return world.Ready{}, err
		}
		if round < claimRounds && w.burials.buryAll(ctx, found.dead) {
			continue
		}
		out := world.Ready{Now: found.now, Next: found.peers}
		if err := w.listReady(ctx, found, &q, &out); err != nil {
			return world.Ready{}, err
		}
		return out, nil
	}
}

// lookReady is a full look for nobody in particular. Workers' looks know nothing of it.
func (w *World) lookReady(ctx context.Context, classes []int32, q *world.ReadyQuery) (*looked, error) {
	class, priority, from := partitionArgs(classes, func(partition) time.Time { return time.Time{} })
	runs := 0
	if len(classes) > 0 {
		runs = q.Most()
	}
	found, none := &looked{full: true}, []string{}
	var peers []peerRow
	began := time.Now()
	err := w.read(ctx, ready, func(row pgx.Rows) error { return found.scan(row, &peers) },
		class, priority, from, runs, none, []int16{}, none, []time.Time{}, q.Most(), true, texts(q.Steps), none, classes, true, false)
	if err != nil {
		return nil, err
	}
	w.clock.measure(began, found.now)
	found.judge(peers, 0)
	found.now = w.notBefore(found.now)
	return found, nil
}

// listReady lists what was found. Only what the list has room for is named.
func (w *World) listReady(ctx context.Context, found *looked, q *world.ReadyQuery, out *world.Ready) error {
	var items []world.ReadyItem
	byKey := make(map[string]*candidate)
	for _, all := range [][]candidate{found.runs, found.tasks} {
		for i := range all {
			c := &all[i]
			if c.due.After(found.now) {
				out.Sooner(c.due)
				continue
			}
			key := strconv.FormatInt(c.key, 10)
			item := world.ReadyItem{Run: key, Priority: int(c.partition.priority), Due: c.due}
			if c.kind == readyTask {
				item.Run, item.Step = "", key
			}
			byKey[item.Run+"/"+item.Step] = c
			items = append(items, item)
		}
	}
	rules.ListReady(out, items, q.Most())
	var runs, tasks []int64
	for i := range out.Items {
		if c := byKey[out.Items[i].Run+"/"+out.Items[i].Step]; c.kind == readyTask {
			tasks = append(tasks, c.key)
		} else {
			runs = append(runs, c.key)
		}
	}
	if len(out.Items) == 0 {
		return nil
	}
	named := make(map[string]world.ReadyItem)
	if err := w.read(ctx, nameReady, func(row pgx.Rows) error {
		var kind int16
		var key int64
		var run string
		var step, name *string
		if err := row.Scan(&kind, &key, &run, &step, &name); err != nil {
			return err
		}
		at := strconv.FormatInt(key, 10) + "/"
		if kind == 1 {
			at = "/" + at[:len(at)-1]
		}
		named[at] = world.ReadyItem{Run: run, Step: textOf(step), StepName: textOf(name)}
		return nil
	}, runs, tasks); err != nil {
		return err
	}
	list := out.Items
	out.Items = nil
	for i := range list {
		at := list[i].Run + "/" + list[i].Step
		n, ok := named[at]
		if !ok {
			continue // it is over
		}
		n.Priority, n.Due = list[i].Priority, list[i].Due
		if c := byKey[at]; c.kind != readyTask {
			class, err := w.classes.name(ctx, c.partition.class)
			if err != nil {
				return err
			}
			n.Class = class
		}
		out.Items = append(out.Items, n)
	}
	rules.SortReady(out.Items, out.Now) // by name, as keys do not know them
	return nil
}
