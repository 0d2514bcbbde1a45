package postgres

import (
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
	"github.com/stepwell/stepwell/world/rules"
)

// end puts on the sheet what a terminal event says: the run leaves the queue with all that hangs on it there, its outcome goes to its row, and
// those who wait for it are told.
func (d *draft) end(r *run, e *world.Event, birth bool) error {
	s := &d.sheet
	row, err := endRowOf(r, e)
	if err != nil {
		return err
	}
	if !birth { // else it never had a queue row
		d.lock(r)
		s.left = append(s.left, r.key)
		if r.limited {
			s.limits.over = append(s.limits.over, r.key)
			d.notice(world.NoticeWork, r.id) // who waits for its places
		}
	}
	if r.tasks {
		s.noTasks = append(s.noTasks, r.key)
	}
	if r.hooks {
		s.noHooks = append(s.noHooks, r.key)
		s.hooks = slices.DeleteFunc(s.hooks, func(h hookRow) bool { // their tokens were free: nobody else has them
			if h.run == r.key {
				s.overHooks = append(s.overHooks, h)
			}
			return h.run == r.key
		})
	}
	if d.wk == nil && !birth { // by force: nobody has looked whether any of its waits listens
		s.told.silent = append(s.told.silent, r.key)
	}
	s.ended = append(s.ended, row)
	d.total(r.workflow, row.status, 1)
	r.live = false
	d.gone = append(d.gone, r)
	d.notice(world.NoticeEnded, r.id)
	return nil
}

// endRowOf is the outcome of a run, and what those who wait for it are told.
func endRowOf(r *run, e *world.Event) (endRow, error) {
	row := endRow{run: r.key, claims: r.claim, status: string(rules.EndStatus(e.Type)), version: int32(r.class.Version), at: e.Time, freesKey: e.FreesKey(r.running)}
	if e.Type == world.RunCompleted {
		row.output, row.apart = e.Payload, orNull(e.Apart)
	}
	var err error
	if row.err, err = errorText(e.Error); err != nil {
		return row, fmt.Errorf("run %s: %s: %w", r.id, e.Type, err)
	}
	row.endSum = layout.EndSum(r.id, row.status, r.class.Version, row.output, e.Apart, textOf(row.err), e.Time).Value()
	placeholder := rand.Text()
	row.placeholder = `"` + placeholder + `"`
	if row.head, row.body, err = encodeMail([]world.Event{world.ResultFor(e, placeholder)}); err != nil {
		return row, fmt.Errorf("run %s: %s: %w", r.id, e.Type, err)
	}
	row.sum = mailSum(row.head, row.body, row.placeholder)
	return row, nil
}
