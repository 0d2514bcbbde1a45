package cli

// This file shows how long ended runs are kept at most, and sets it for all programs of a database.

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// keptAtMost is what --json says of the limit.
type keptAtMost struct {
	Retention stepwell.Span `json:"retention"`
	Before    stepwell.Span `json:"before,omitempty"` // none: nothing was asked for
	Said      bool          `json:"said"`             // false: nobody has said it, and it is the default
}

// defaultKept is the limit where nobody says one.
const defaultKept = 365 * 24 * time.Hour

func retentionCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "retention [LIMIT]",
		Short: "Show or set how long ended runs are kept at most",
		Long: `Show or set how long ended runs are kept at most in this database, whoever starts them: 90d, for example, or forever.

Workers (Config.MaxRetention or STEPWELL_MAX_RETENTION_DAYS) and servers (--max-retention-days) can lower the limit when
they start, and it stays low after they exit. Only this command raises it. Raise it in their settings first, or they
lower it again when they next start. Existing runs keep the retention that they were started with. On a server, raising
it needs the scope admin.

` + exitHelp,
		Example: "  stepwell retention\n  stepwell retention 90d --db postgres://localhost/app",
		Args:    arguments(0, 1, "no arguments, or a limit"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var limit stepwell.Span
			if len(args) > 0 {
				if err := limit.UnmarshalText([]byte(args[0])); err != nil || limit == 0 || limit < stepwell.Span(stepwell.Forever) {
					return usagef("give a duration above zero, like 90d, or forever", "%q is not a limit", args[0])
				}
			}
			return c.with(cmd.Context(), func(db *database) error { return limitRetention(cmd.Context(), c, db, time.Duration(limit)) })
		},
	}
	c.actFlag(cmd)
	return cmd
}

func limitRetention(ctx context.Context, c *cli, db *database, limit time.Duration) error {
	before, now, err := db.world.LimitRetention(ctx, 0, false)
	if err == nil && limit != 0 {
		raises := world.LowerRetention(before, limit) != limit
		before, now, err = db.world.LimitRetention(ctx, limit, raises)
	}
	if err != nil {
		return c.explain(err, "")
	}
	is := keptAtMost{Retention: keptOf(now), Said: now != 0}
	text := fmt.Sprintf("ended runs are kept for %s at most", is.Retention)
	if is.Retention == stepwell.Span(stepwell.Forever) {
		text = "ended runs are kept for as long as the start of each run says"
	}
	switch {
	case limit != 0:
		is.Before = keptOf(before)
		text += fmt.Sprintf("; before it was %s", is.Before)
	case now == 0:
		text += ": the default, because no program has set another limit"
	}
	return c.tell(is, text)
}

func keptOf(limit time.Duration) stepwell.Span {
	if limit == 0 {
		limit = defaultKept
	}
	return stepwell.Span(limit)
}

// sayRetention lowers the limit of the database to what this server says, and tells what holds.
func sayRetention(ctx context.Context, w world.World, limit time.Duration, log *slog.Logger) error {
	if limit == 0 {
		return nil
	}
	before, now, err := w.LimitRetention(ctx, limit, false)
	switch {
	case err != nil:
		return err
	case now != limit:
		log.Warn("ended runs are kept for less time than --max-retention-days says: another program of this database has set a lower limit",
			"asked", stepwell.Span(limit), "kept", stepwell.Span(now), "hint", "To raise it: stepwell retention")
	case before != now && (before != 0 || limit < defaultKept):
		log.Warn("from now on all programs of this database keep ended runs for less: --max-retention-days of this server is lower", "before", keptOf(before), "now", keptOf(now),
			"hint", "It stays when this server exits; to raise it: stepwell retention")
	}
	return nil
}
