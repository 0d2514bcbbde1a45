package sqlite

// Runs that were let in, and whose workflow and version no live worker has.

import (
	"context"
	"strconv"
	"time"

	"github.com/stepwell/stepwell/world"
)

var (
	neglectedClasses = load("neglected_classes")
	neglectedRuns    = load("neglected_runs")
)

// neglectedRuns has the runs of classes that no live worker has had for a while give back their places, and leave
// their lines. It tells when to look again; 0: nothing is known.
func (s starts) neglectedRuns(ctx context.Context) (next time.Duration, err error) {
	var classes []string
	now := s.w.Time()
	if err := s.w.read(ctx, func(c *conn) error {
		classes = nil
		return c.query(neglectedClasses, func(r row) (bool, error) {
			classes = append(classes, strconv.FormatInt(r.int(0), 10))
			return true, nil
		}, now.UnixMicro())
	}); err != nil {
		return 0, err
	}
	due, next := s.w.lonely.Look(classes, now, world.NeglectAfter)
	for _, class := range due {
		key, _ := strconv.ParseInt(class, 10, 64) // see above
		rested, err := s.restClass(ctx, key)
		if err != nil {
			return 0, err
		}
		if rested {
			next = sooner(next, world.NeglectAfter) // more of them may be started
		}
	}
	return next, nil
}

// restClass has all runs of a class that nobody owns give back what they do not keep, page by page. It reports whether
// there were any.
func (s starts) restClass(ctx context.Context, class int64) (rested bool, err error) {
	for {
		var ids []string
		if err := s.w.read(ctx, func(c *conn) error {
			ids = nil
			return c.query(neglectedRuns, func(r row) (bool, error) { ids = append(ids, r.text(0)); return true, nil }, class, int64(world.NeglectPage))
		}); err != nil || len(ids) == 0 {
			return rested, err
		}
		n, err := ask(ctx, s.w, func(g *group) (int, error) { return g.queue.restUnowned(ids) })
		rested = rested || n > 0
		if err != nil || n < world.NeglectPage {
			return rested, err
		}
	}
}

// restUnowned has runs give back what they do not keep, unless somebody owns them meanwhile.
func (qu *queue) restUnowned(ids []string) (rested int, err error) {
	for _, id := range ids {
		qu.runs.reread(id)
		r, err := qu.runs.get(id)
		if err != nil {
			return rested, err
		}
		if r == nil || !r.live || r.owner != 0 || r.placed == nil {
			continue
		}
		qu.tx.notice(world.NoticeWork, id) // who joined a moment ago may have looked for it
		if err := qu.limits.rest(r, false); err != nil {
			return rested, err
		}
		rested++
	}
	return rested, nil
}
