package postgres

// What took the places of runs that did not complete.

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	heirsOfRuns = load("heirs")
	forebears   = load("forebears")
)

// tellHeirs says of runs that did not complete what is in their places, and of those that took a place which key they
// took over, by a statement each for all. Where no children are asked for, it leaves out those in the places of some.
func tellHeirs(ctx context.Context, rd *reader, runs []world.Run, roots bool) ([]world.Run, error) {
	heirs, before := rules.Heirs{}, rules.Forebears{}
	var err error
	if ids := rules.Bequeathed(runs); len(ids) > 0 {
		err = rd.read(ctx, heirsOfRuns, func(row pgx.Rows) error {
			var of string
			var heir world.Heir
			var status *string
			err := row.Scan(&of, &heir.Run, &status)
			heir.Status = world.Status(textOf(status))
			heirs[of] = &heir
			return err
		}, ids)
	}
	if ids := rules.Replacing(runs); err == nil && len(ids) > 0 {
		err = rd.read(ctx, forebears, func(row pgx.Rows) error {
			var id string
			var key, parent *string
			err := row.Scan(&id, &key, &parent)
			before[id] = rules.Forebear{Key: textOf(key), Child: parent != nil}
			return err
		}, ids)
	}
	heirs.Tell(runs)
	return before.Tell(runs, roots), err
}
