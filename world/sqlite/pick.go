package sqlite

import (
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// mostCancels is among how many runs of a priority that are to be cancelled, at least, those are chosen that are given. All that wait are looked at in
// their turn.
const mostCancels = 100

// pick chooses what is given, at most n, by key.
func (qu *queue) pick(fronts []front, n int, tasks bool, classes string) (keys []int64, err error) {
	if n <= 0 {
		return nil, nil
	}
	var all []rules.Candidate
	for _, h := range fronts {
		if h.due.After(qu.tx.now()) || (h.kind == 1) != tasks || h.kind == rateKey {
			continue
		}
		if err := qu.candidates(h, n, &all, classes); err != nil {
			return nil, err
		}
	}
	for _, i := range qu.fairness.Pick(all, qu.tx.now(), n) {
		keys = append(keys, all[i].Key)
	}
	return keys, nil
}

// claimRounds is how often a claim looks again where runs that are due have no place: each of them stands in line
// then.
const claimRounds = 4

// claim gives runs, at most n.
func (qu *queue) claim(n int, wk *worker, fronts []front, classes string) (given []world.ClaimedRun, err error) {
	for range claimRounds {
		keys, err := qu.pick(fronts, n-len(given), false, classes)
		if err != nil {
			return nil, err
		}
		before := len(given)
		for _, key := range keys {
			t, err := qu.give(key, wk)
			if err != nil {
				return nil, err
			}
			if t.Run != "" {
				given = append(given, t)
			}
		}
		if used, err := qu.limits.used(); err != nil || !used || len(given) == before+len(keys) {
			return given, err
		}
	}
	return given, nil
}

func (qu *queue) candidates(h front, n int, all *[]rules.Candidate, classes string) error {
	add := func(r row) (bool, error) {
		c := rules.Candidate{Key: r.int(0), Due: r.time(1), Priority: int(r.int(3))}
		if h.kind == 1 {
			c.Workflow = r.text(2)
		} else {
			class, err := qu.classes.name(r.int(2))
			if err != nil {
				return false, err
			}
			c.Workflow = class.Workflow
		}
		*all = append(*all, c)
		return true, nil
	}
	// The names of classes are read before: one statement of a connection runs at a time.
	if err := qu.classes.load(); err != nil {
		return err
	}
	switch now := qu.tx.now().UnixMicro(); h.kind {
	case 0:
		return qu.tx.query(readyRuns, add, h.class, h.priority, now, int64(n))
	case 1:
		return qu.tx.query(readyTasks, add, h.name, h.priority, h.workflow, now, int64(n))
	default:
		for p := range int64(rules.Priorities) {
			if err := qu.tx.query(cancelRuns, add, int64(max(n, mostCancels)), classes, p); err != nil {
				return err
			}
		}
		return nil
	}
}
