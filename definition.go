package stepwell

// A definition holds for whoever starts the workflow: workers tell the database what theirs say, and starts by name ask it.

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/world"
)

// settle fills in what a start by name leaves open: the version is the highest that a live worker has; the
// retention, the timeout and the attributes are those of that version's definition. Where no worker is alive the
// version stays open, and they are those of the highest version that is known.
func (o *startOptions) settle(ctx context.Context, book *engine.Book, here workflows, workflow string) error {
	if world.CheckWorkflowName(workflow) != nil {
		return nil // it is refused for that
	}
	ctx, cancel := o.beside(ctx)
	defer cancel()
	known, err := book.Workflow(ctx, workflow)
	if err != nil {
		return fmt.Errorf("definitions: %w", err)
	}
	o.Version = cmp.Or(o.Version, known.Live)
	says, ok := known.Version(o.Version)
	own := here[world.Class{Workflow: workflow, Version: o.Version}]
	switch {
	case own != nil && (o.Version > 0 || own.Version >= says.Version):
		o.retention, o.timeout, o.startTTL, o.attributes = own.Retention, own.Timeout, own.StartTTL, own.Attributes
	case ok:
		o.retention, o.timeout, o.startTTL, o.attributes, o.settled = says.Retention, says.Timeout, says.StartTTL, says.Attributes, true
	}
	return nil
}

// workflows are those that an App has, by class; of version 0: the highest of each.
type workflows map[world.Class]*engine.Workflow

// add adds one.
func (all workflows) add(wf *engine.Workflow) {
	all[world.Class{Workflow: wf.Name, Version: wf.Version}] = wf
	open := world.Class{Workflow: wf.Name}
	if before := all[open]; before == nil || before.Version < wf.Version {
		all[open] = wf
	}
}

// besideTx is how long a start in a transaction waits for what is read beside it.
const besideTx = 5 * time.Second

// beside bounds what is read for a start in a transaction: transactions may hold all the connections that there are.
func (o *startOptions) beside(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.In == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, besideTx)
}

// limit is how long the run can be kept at most.
func (o *startOptions) limit(ctx context.Context, a *App) (time.Duration, error) {
	if most, known := a.book.Known(); known && o.In != nil {
		return most, nil
	}
	limit, err := a.book.Limit(ctx)
	if err != nil {
		return 0, fmt.Errorf("limit of retention: %w", err)
	}
	return limit, nil
}

// settleAgain does so for a run that is made of another, whose retention and timeout it has.
func settleAgain(ctx context.Context, a *App, b *world.Birth) error {
	if b.Version == 0 {
		known, err := a.book.Workflow(ctx, b.Workflow)
		if err != nil {
			return err
		}
		b.Version = known.Live
	}
	limit, err := a.book.Limit(ctx)
	b.Retention = clampRetention(b.Retention, limit)
	return err
}

// limitSoon is how long ended runs are kept at most, as it is known after a moment.
func limitSoon(a *App) time.Duration {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	limit, _ := a.book.Limit(ctx) // where the database is away, what is written next fails
	return limit
}

// tellLimit has the log of a worker say how its limit goes with the database's, which was before it joined, and is now.
func tellLimit(workflows []*engine.Workflow, cfg *Config, before, now time.Duration) {
	switch {
	case cfg.MaxRetention != 0 && lowered(cfg.MaxRetention, now):
		cfg.Logger.Warn("ended runs are kept for less time than Config.MaxRetention says: another program of this database has set a lower limit",
			"asked", retentionText(cfg.MaxRetention), "kept", retentionText(now), "hint", "To raise it: stepwell retention")
	case lowered(cmp.Or(before, defaultLimit), now) && before != now:
		cfg.Logger.Warn("from now on all programs of this database keep ended runs for less: Config.MaxRetention of this one is lower",
			"before", retentionText(cmp.Or(before, defaultLimit)), "now", retentionText(now), "hint", "It stays when this program exits; to raise it: stepwell retention")
	}
	for _, wf := range workflows {
		if lowered(cmp.Or(cfg.MaxRetention, defaultLimit), now) { // else New has told
			tellLowered(cfg.Logger.With("workflow.name", wf.Name), wf.Retention, now)
		}
	}
}
