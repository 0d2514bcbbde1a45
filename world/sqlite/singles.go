package sqlite

import (
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	liveSingle = load("live_single")
	freeSingle = load("free_single")
	setSingle  = load("set_single")
)

// singles are the keys of singletons, in the rows of the queue: so each goes with the end of its run. What becomes of a
// birth is in package rules.
//
//   - At most one row has a key. A run whose place was taken has its key no more, and its place until it is over.
type singles struct {
	tx    *txn
	runs  *runs
	inbox *inbox
}

// live is the run that has a key; "": none.
func (s *singles) live(key string) (id string, err error) {
	_, err = s.tx.one(liveSingle, func(r row) error { id = r.text(0); return nil }, key)
	return id, err
}

// meet tells which run is there in the place of a birth; "": none.
func (s *singles) meet(one *rules.Single) (existing string, err error) {
	live, err := s.live(one.Text())
	if err != nil {
		return "", err
	}
	return one.Meet(live)
}

// add gives a new run its key. Who had it is cancelled.
func (s *singles) add(c *world.Commit, r *run) error {
	one := rules.SingleOf(c)
	if one == nil {
		return nil
	}
	live, err := s.live(one.Text())
	if err != nil {
		return err
	}
	var behind any // the run that is at work: the one before waits for it, too
	if live != "" {
		behind = live
		if err := s.tx.query(freeSingle, func(r row) (bool, error) {
			if !r.null(0) {
				behind = r.text(0)
			}
			return true, nil
		}, one.Text()); err != nil {
			return err
		}
		old, err := s.runs.get(live)
		if err != nil {
			return err
		}
		d := one.Cancel(live)
		s.tx.count().deliveries++
		if _, err := s.inbox.put(old, d.ID, noKey, d.Events); err != nil {
			return err
		}
	}
	return s.tx.exec(setSingle, r.key, one.Text(), behind)
}
