package postgres

// How a list finds the few runs that an index names: those with a key, or with the input of its start, those whose ID begins so, those that are blocked or paused.

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var (
	keyRuns        = load("key_runs")
	prefixRuns     = load("prefix_runs")
	stoppedRuns    = load("stopped_runs")
	listPickedRuns = load("list_picked_runs")
)

// byPick is the way by the keys of runs. It is no way where there are many: then the newest runs have some of them.
func byPick(ctx context.Context, rd *reader, q *world.RunQuery) (l listing, ok bool, err error) {
	keys, merged := []int64{}, map[int64]bool{}
	each := func(row pgx.Rows) error {
		var key int64
		err := row.Scan(&key)
		keys = append(keys, key)
		return err
	}
	switch {
	case q.Key != "" && !storable([]any{q.Key}): // nothing has it
	case q.Key != "": // no more than two of each workflow
		var workflow *string
		if q.Workflow != "" {
			workflow = &q.Workflow
		}
		err = rd.read(ctx, keyRuns, func(row pgx.Rows) error {
			var key int64
			var is bool
			err := row.Scan(&key, &is)
			keys, merged[key] = append(keys, key), is
			return err
		}, q.Key, workflow)
	case q.Prefix != "":
		err = rd.read(ctx, prefixRuns, each, q.Prefix, q.Prefix+"\x7f", few+1) // IDs have no such character
	case q.Stopped():
		err = rd.read(ctx, stoppedRuns, each, few+1)
	default:
		return l, false, nil
	}
	if err != nil || len(keys) > few && q.Key == "" {
		return l, false, err
	}
	return listing{list: listPickedRuns, args: []any{keys}, merged: merged}, true, nil
}
