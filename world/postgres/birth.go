package postgres

import (
	"github.com/stepwell/stepwell/world"
)

// create puts the row of a new run on the sheet, and returns the run as it is before its first events. wk is who owns it; nil: nobody. by is the run whose
// commit creates it; nil: none.
func (d *draft) create(c *world.Commit, key int64, wk *worker, by *run, events []world.Event) (*run, error) {
	row, err := birthRowOf(c, key)
	if err != nil {
		return nil, err
	}
	d.sheet.births = append(d.sheet.births, row)
	e, b := &events[0], c.Events[0].Birth
	r := &run{
		id: c.Run, key: key, created: e.Time, retention: b.Retention, workflow: b.Workflow, live: true, priority: b.Priority, wake: b.NotBefore,
		class: world.Class{Workflow: b.Workflow, Version: b.Version}, attrs: b.Attributes, attrsKnown: true,
		limited: len(lining(b.Places)) > 0,
	}
	if c.Items > 0 {
		opens := b.Gather.Opens(d.w.now(), c.Items, e.InputBytes())
		r.wake = opens.Begins(d.w.now())
	}
	if wk != nil {
		r.owner, r.claim = wk.key, 1
	}
	for _, known := range world.BirthDeliveries(c) {
		d.sheet.known = append(d.sheet.known, knownRowOf(key, known))
	}
	for _, merged := range world.MergedStarts(c) {
		row := knownRowOf(key, merged)
		row.workflow, row.idem = &b.Workflow, &merged.ID
		d.sheet.known = append(d.sheet.known, row)
	}
	switch p := b.Parent; {
	case p == nil || p.Step == "":
	case by != nil && by.id == p.Run:
		d.sheet.awaits = append(d.sheet.awaits, awaitRow{target: key, waiter: by.key, step: clean(p.Step)})
	default: // its key is to be looked up
		d.sheet.parents = append(d.sheet.parents, parentRow{child: key, parent: clean(p.Run), step: clean(p.Step)})
	}
	return r, nil
}

// enqueue gives a new run its queue row. One that is given up at once is never seen as its worker's, and nobody can have sent it mail yet.
func (d *draft) enqueue(c *world.Commit, r *run) error {
	var row queueRow
	var err error
	if c.Release != nil {
		row, err = d.releaseRow(c.Release, r)
		row.released = true
	} else {
		row, err = d.queueRow(r)
	}
	if err != nil {
		return err
	}
	lapses(d, c.Events, r)
	if r.limited {
		d.sheet.limits.placed = append(d.sheet.limits.placed, placedRowOf(row, c.Events[0].Time, c.Events[0].Birth.Places))
	} else {
		d.sheet.queued = append(d.sheet.queued, row)
	}
	switch {
	case c.Release != nil:
	case r.owner == 0:
		d.notice(world.NoticeWork, r.id)
	default:
		d.own = append(d.own, r)
	}
	return nil
}
