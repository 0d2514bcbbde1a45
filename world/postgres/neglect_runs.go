package postgres

// Runs that were let in, and whose workflow and version no live worker has.

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var (
	neglectedClasses = load("neglected_classes")
	restRuns         = load("rest_runs")
)

// neglectedRuns has the runs of classes that no live worker has had for a while give back their places, and leave
// their lines. It tells when to look again; 0: nothing is known.
func (s starts) neglectedRuns(ctx context.Context) (next time.Duration, err error) {
	var classes []string
	keys := make(map[string]int32)
	if err := s.w.read(ctx, neglectedClasses, func(row pgx.Rows) error {
		var key int32
		err := row.Scan(&key)
		class := strconv.Itoa(int(key))
		classes, keys[class] = append(classes, class), key
		return err
	}, idleGrace.Microseconds()); err != nil {
		return 0, err
	}
	due, next := s.w.lonely.Look(classes, s.w.now(), world.NeglectAfter)
	for _, class := range due {
		rested, err := s.restClass(ctx, keys[class])
		if err != nil {
			return 0, err
		}
		if rested && (next == 0 || world.NeglectAfter < next) {
			next = world.NeglectAfter // more of them may be started
		}
	}
	return next, nil
}

// restClass has all runs of a class that nobody owns give back what they do not keep, page by page. It reports whether
// there were any.
func (s starts) restClass(ctx context.Context, class int32) (rested bool, err error) {
	for {
		n := int64(0)
		if err := s.w.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
			return s.w.in(tx).each(ctx, restRuns, func(row scanner) error { return row.Scan(&n) }, class, world.NeglectPage)
		}); err != nil {
			return rested, err
		}
		if n > 0 {
			rested = true
			s.w.limits.use()
			s.w.telling.tell(world.Notice{Kind: world.NoticeWork}) // who looks for work finds the news
		}
		if n < world.NeglectPage {
			return rested, nil
		}
	}
}
