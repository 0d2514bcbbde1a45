package sqlite

// What the examination says of rows that are damaged, beside those of runs and logs: see world.Verify.

import (
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// mostNamed is how many runs a finding names.
const mostNamed = 5

// examineOrphans looks for rows whose run, or class, is not there.
func examineOrphans(c *conn, _ time.Time) (world.Finding, error) {
	var found []world.Orphans
	err := c.query(doctorOrphans, func(r row) (bool, error) {
		found = append(found, world.Orphans{Table: r.text(0), N: r.int(1), First: r.int(2)})
		return true, nil
	})
	return world.OrphansFound(found, ""), err
}

// examineApart counts values that are kept apart, and looks for those of which nothing is there, or that nobody holds.
func examineApart(c *conn, _ time.Time) (f world.Finding, err error) {
	err = c.query(doctorApart, func(r row) (bool, error) {
		f = world.ApartFound(r.int(0), r.int(1), r.int(2), "")
		return true, nil
	})
	return f, err
}

// examineInboxes reads mail, and compares it with its checksums.
func examineInboxes(c *conn, _ time.Time) (world.Finding, error) {
	n, wrong := 0, 0
	var runs []string
	err := c.query(doctorInbox, func(r row) (bool, error) {
		n++
		if m := scanMail(r, r.text(7), r.time(8)); m.Damage != "" {
			if wrong++; wrong <= mostNamed {
				runs = append(runs, "run "+m.Run+", "+m.Damage)
			}
		}
		return true, nil
	})
	if wrong == 0 {
		return good("%d deliveries wait, unchanged since they were sent", n), err
	}
	return bad("restore a backup; or end the run with `stepwell runs cancel --force`, then fork it", "%d of %d deliveries: %s", wrong, n, strings.Join(runs, "; ")), err
}
