package sqlite

// What took the places of runs that did not complete.

import (
	"encoding/json"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	heirsOfRuns = load("heirs")
	forebears   = load("forebears")
)

// tellHeirs says of runs that did not complete what is in their places, and of those that took a place which key they
// took over, by a statement each for all. Where no children are asked for, it leaves out those in the places of some.
func tellHeirs(c *conn, runs []world.Run, roots bool) ([]world.Run, error) {
	heirs, before := rules.Heirs{}, rules.Forebears{}
	err := ofRuns(c, heirsOfRuns, rules.Bequeathed(runs), func(r row) {
		heirs[r.text(0)] = &world.Heir{Run: r.text(1), Status: world.Status(r.text(2))}
	})
	if err == nil {
		err = ofRuns(c, forebears, rules.Replacing(runs), func(r row) {
			before[r.text(0)] = rules.Forebear{Key: r.text(1), Child: !r.null(2)}
		})
	}
	heirs.Tell(runs)
	return before.Tell(runs, roots), err
}

// ofRuns reads what a statement says of some runs.
func ofRuns(c *conn, s *statement, ids []string, each func(r row)) error {
	if len(ids) == 0 {
		return nil
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	return c.query(s, func(r row) (bool, error) { each(r); return true, nil }, string(list))
}
