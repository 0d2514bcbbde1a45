package postgres

// Open tasks that hold places of limits, and whose steps no live worker has.

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var (
	neglectedSteps = load("neglected_steps")
	restTasks      = load("rest_tasks")

	neglectedQueues = load("neglected_queues")
	restMessages    = load("rest_messages")
)

// neglected has the tasks of steps that no live worker has had for a while give back their places, and leave their
// lines. It tells when to look again; 0: nothing is known.
func (s starts) neglected(ctx context.Context) (next time.Duration, err error) {
	var steps []string
	if err := s.w.read(ctx, neglectedSteps, func(row pgx.Rows) error {
		var step string
		err := row.Scan(&step)
		steps = append(steps, step)
		return err
	}, idleGrace.Microseconds()); err != nil {
		return 0, err
	}
	due, next := s.w.neglect.Look(steps, s.w.now(), world.NeglectAfter)
	for _, step := range due {
		if err := s.restStep(ctx, step); err != nil {
			return 0, err
		}
	}
	shared, err := s.neglectedQueues(ctx)
	if shared && (next == 0 || next > world.NeglectAfter) {
		next = world.NeglectAfter
	}
	return next, err
}

// neglectedQueues has the messages of queues that nobody receives from do as much, where others share their limits, and
// reports whether any share.
func (s starts) neglectedQueues(ctx context.Context) (shared bool, err error) {
	var queues []int32
	if err := s.w.read(ctx, neglectedQueues, func(row pgx.Rows) error {
		var queue int32
		var is bool
		err := row.Scan(&queue, &is)
		if shared = true; is {
			queues = append(queues, queue)
		}
		return err
	}, world.NeglectAfter.Microseconds()); err != nil {
		return shared, err
	}
	for _, queue := range queues {
		if err := s.restQueue(ctx, queue); err != nil {
			return shared, err
		}
	}
	return shared, nil
}

// restQueue has all messages of a queue that nobody has received give back what they have, page by page.
func (s starts) restQueue(ctx context.Context, queue int32) error {
	for behind := int64(0); ; {
		rested, last := int64(0), new(int64)
		if err := s.w.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
			return s.w.in(tx).each(ctx, restMessages, func(row scanner) error { return row.Scan(&rested, &last) }, queue, behind, int64(world.NeglectPage))
		}); err != nil {
			return err
		}
		if rested > 0 {
			s.w.limits.use()
			s.w.telling.tell(world.Notice{Kind: world.NoticeWork})
		}
		if rested < world.NeglectPage {
			return nil
		}
		if last != nil {
			behind = *last
		}
	}
}

// restStep has all tasks of a step that nobody holds give back what they have, page by page.
func (s starts) restStep(ctx context.Context, step string) error {
	for {
		rested := int64(0)
		if err := s.w.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
			return s.w.in(tx).each(ctx, restTasks, func(row scanner) error { return row.Scan(&rested) }, step, world.NeglectPage)
		}); err != nil {
			return err
		}
		if rested > 0 {
			s.w.limits.use()
			s.w.telling.tell(world.Notice{Kind: world.NoticeWork}) // who looks for work finds the news
		}
		if rested < world.NeglectPage {
			return nil
		}
	}
}
