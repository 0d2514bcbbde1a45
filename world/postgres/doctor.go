package postgres

// The examination of a database, for people: runs that stand still, and what makes it slow.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

// examination is what the checks have in common.
type examination struct {
	w   *World
	now time.Time // the database's
}

// Examine runs all checks; see [world.Doctor].
func (w *World) Examine(ctx context.Context, begin func(check string), tell func(world.Finding)) error {
	x := &examination{w: w}
	if err := w.read(ctx, databaseTime, func(row pgx.Rows) error { return row.Scan(&x.now) }); err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		look func(ctx context.Context) (world.Finding, error)
	}{
		{"schema", x.schema},
		{"indexes", x.indexes},
		{"server", x.server},
		{"connections", x.connections},
		{"oldest transaction", x.snapshots},
		{"dead rows", x.deadRows},
		{"freezing", x.wraparound},
		{"workers", x.workers},
		{"clocks", x.clocks},
		{"runs without a worker", x.unowned},
		{"overdue runs", x.overdueRuns},
		{"overdue steps", x.overdueTasks},
		{"old mail", x.oldMail},
		{"streams", x.streams},
		{"rows of no run", x.orphans},
		{"large values", x.apart},
		{"inboxes", x.inboxes},
		{"logs", x.ends},
		{"counts", x.counts},
		{"blocked runs", x.blocked},
		{"housekeeping", x.backlog},
	} {
		begin(c.name)
		f, err := c.look(ctx)
		switch {
		case errors.Is(err, world.ErrClosed) || ctx.Err() != nil:
			return err
		case err != nil:
			f = world.Finding{Health: world.HealthWarning, Found: err.Error(), Advice: "this could not be examined"}
		}
		if f.Check = c.name; f.Health == "" {
			f.Health = world.HealthGood
		}
		tell(f)
	}
	return nil
}

// good, warning and bad make findings.
func good(format string, args ...any) world.Finding {
	return world.Finding{Health: world.HealthGood, Found: fmt.Sprintf(format, args...)}
}

func warning(advice, format string, args ...any) world.Finding {
	return world.Finding{Health: world.HealthWarning, Found: fmt.Sprintf(format, args...), Advice: advice}
}

func bad(advice, format string, args ...any) world.Finding {
	return world.Finding{Health: world.HealthBad, Found: fmt.Sprintf(format, args...), Advice: advice}
}

// ago is how long a time is past, in whole seconds; "a while" where it is not known.
func (x *examination) ago(t *time.Time) string {
	if t == nil {
		return "a while"
	}
	return x.now.Sub(*t).Round(time.Second).String()
}
