package sqlite

import "github.com/stepwell/stepwell/world"

var (
	insertAwait     = load("insert_await")
	awaiting        = load("awaiting")
	openChildren    = load("open_children")
	deleteAwaits    = load("delete_awaits")
	deleteWaiter    = load("delete_waiter")
	deleteOldAwaits = load("delete_old_awaits")
)

// awaits are the steps that wait for the ends of other runs; those of parents for their children are among them.
//
//   - run.awaits is false only where none of the run's own steps waits, run.awaited only where nobody waits for its end.
//   - Who waits for a run is noted before it ends, and told once, by its end.
type awaits struct {
	tx   *txn
	runs *runs
}

// waiter is a step that waits.
type waiter struct{ run, step string }

// add has a step wait for the end of another run.
func (aw *awaits) add(target, r *run, step string) error {
	r.awaits, target.awaited = true, true
	return aw.tx.exec(insertAwait, target.key, r.key, step)
}

// noteParent notes the parent's step as one that waits for this run.
func (aw *awaits) noteParent(r *run, parent *world.Parent) error {
	p, err := aw.runs.get(parent.Run)
	if err != nil || p == nil || parent.Step == "" {
		return err
	}
	return aw.add(r, p, parent.Step)
}

// of lists who waits for the end of a run, or did when it ended itself.
func (aw *awaits) of(r *run) (waiters []waiter, err error) {
	if !r.awaited {
		return nil, nil
	}
	err = aw.tx.query(awaiting, func(row row) (bool, error) {
		waiters = append(waiters, waiter{row.text(2), row.text(1)})
		return true, nil
	}, r.key)
	return waiters, err
}

// told forgets those who waited for a run.
func (aw *awaits) told(r *run) error { return aw.tx.exec(deleteAwaits, r.key) }

// children lists the children of a run that are not over and end with it.
func (aw *awaits) children(r *run) (ids []string, err error) {
	if !r.awaits {
		return nil, nil
	}
	err = aw.tx.query(openChildren, func(row row) (bool, error) {
		ids = append(ids, row.text(0))
		return true, nil
	}, r.key, r.id)
	return ids, err
}

// dropOld ends the waits of a segment that is over.
func (aw *awaits) dropOld(r *run) error {
	if !r.awaits {
		return nil
	}
	return aw.tx.exec(deleteOldAwaits, r.key, r.id)
}
