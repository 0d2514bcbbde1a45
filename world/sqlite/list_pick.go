package sqlite

// This file says how a list finds the few runs that an index names: those with a key, or with the input of its start, those whose ID begins so, those that are blocked or paused.

import (
	"encoding/json"

	"github.com/stepwell/stepwell/world"
)

var (
	keyRuns        = load("key_runs")
	prefixRuns     = load("prefix_runs")
	stoppedRuns    = load("stopped_runs")
	listPickedRuns = load("list_picked_runs")
)

// byPick is the way by the keys of runs. It is no way where there are many: then the newest runs have some of them.
func byPick(c *conn, q *world.RunQuery) (l listing, ok bool, err error) {
	keys, merged := []int64{}, map[int64]bool{}
	each := func(r row) (bool, error) { keys = append(keys, r.int(0)); return true, nil }
	switch {
	case q.Key != "": // no more than two of each workflow
		err = c.query(keyRuns, func(r row) (bool, error) { merged[r.int(0)] = r.bool(1); return each(r) }, q.Key, orNull(q.Workflow))
	case q.Prefix != "":
		err = c.query(prefixRuns, each, q.Prefix, q.Prefix+"\x7f", int64(few+1)) // IDs have no such character
	case q.Stopped():
		err = c.query(stoppedRuns, each, int64(few+1))
	default:
		return l, false, nil
	}
	if err != nil || len(keys) > few && q.Key == "" {
		return l, false, err
	}
	list, err := json.Marshal(keys)
	return listing{list: listPickedRuns, args: []any{string(list)}, merged: merged}, true, err
}
