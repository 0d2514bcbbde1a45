package postgres

// Runs that gather the inputs of further starts.
//
//   - A bucket is open while its run has not begun, nobody has claimed it, it is not due, and no cancel waits for it.
//   - Who opens one, or gives it an input, locks its row first, and then the queue row of its run.
//   - Of starts with one idempotency key one at a time is merged, or opens a bucket.

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var (
	findBucket    = load("find_bucket")
	bucketOfRun   = load("bucket_of_run")
	gathersNoMore = load("gathers_no_more")
	openBucket    = load("open_bucket")
	lockBucket    = load("lock_bucket")
	moveBucket    = load("move_bucket")
	fillBucket    = load("fill_bucket")
	dropBucket    = load("drop_bucket")
	dropBuckets   = load("drop_buckets")
	gatherQueue   = load("gather_queue")
	noteMerged    = load("note_merged")
	mergedRun     = load("merged_run")
	mergedRuns    = load("merged_runs")
	lockMerged    = load("lock_merged")
	lockMergeds   = load("lock_mergeds")
)

// bucket is what is known of a run that gathers, or did.
type bucket struct {
	world.Gathering
	id     string
	run    int64
	waits  bool // it has not begun, nobody has claimed it, and it is not due
	cancel bool
}

func scanBucket(row scanner) (b bucket, err error) {
	var quiet int64
	err = row.Scan(&b.id, &b.run, &quiet, &b.Number, &b.Until, &b.Items, &b.Bytes, &b.waits, &b.cancel)
	b.Quiet = time.Duration(quiet)
	return b, err
}

func (b *bucket) fits(c *world.Commit) bool {
	return b.waits && !b.cancel && b.Fits(c.Items, c.Events[0].InputBytes())
}

// gathering looks whether the input of a birth is to be given to another run, or its start was merged before; where
// neither is so, which nothing holds so, Existing is "".
func gathering(ctx context.Context, w *World, c *world.Commit) (done world.Committed, err error) {
	birth := c.Events[0].Birth
	if birth.Key != "" {
		if err := w.read(ctx, mergedRun, func(row pgx.Rows) error { return row.Scan(&done.Existing) }, birth.Workflow, birth.Key); err != nil {
			return done, err
		}
		if done.Existing != "" {
			if c.Ack != "" { // which is done with a transaction
				done.Existing = ""
			}
			return done, nil
		}
	}
	err = w.read(ctx, findBucket, func(row pgx.Rows) error {
		b, err := scanBucket(row)
		if err == nil && b.id != c.Run && b.fits(c) {
			done = world.Committed{Existing: b.id, Gathering: true}
		}
		return err
	}, birth.Workflow, birth.Gather.Key)
	return done, err
}

// gather opens a bucket for a birth, unless its input is to be given to another run, or its start was merged before.
func gather(ctx context.Context, d *draft, tx txn, key int64) error {
	c, birth, now := d.c, d.c.Events[0].Birth, d.w.now()
	if birth.Key != "" {
		if err := mergeAlone(ctx, tx, birth.Workflow, birth.Key); err != nil {
			return err
		}
		if err := tx.each(ctx, mergedRun, func(row scanner) error { return row.Scan(&d.done.Existing) }, birth.Workflow, birth.Key); err != nil || d.done.Existing != "" {
			return err
		}
	}
	b := birth.Gather.Opens(now, c.Items, c.Events[0].InputBytes())
	row := []any{birth.Workflow, birth.Gather.Key, key, int64(b.Quiet), b.Number, b.Until, b.Items, int64(b.Bytes)}
	if n, err := tx.exec(ctx, openBucket, row...); err != nil || n > 0 {
		return err
	}
	there := false
	if err := tx.each(ctx, lockBucket, func(scanner) error { there = true; return nil }, row[:2]...); err != nil {
		return err
	}
	if !there { // dropped meanwhile
		return errAgain
	}
	var was *bucket
	if err := tx.each(ctx, findBucket, func(row scanner) error {
		b, err := scanBucket(row)
		was = &b
		return err
	}, row[:2]...); err != nil {
		return err
	}
	if was != nil && was.fits(c) {
		d.done = world.Committed{Existing: was.id, Gathering: true}
		return nil
	}
	if was != nil && was.waits {
		if _, err := tx.exec(ctx, tryBlocked, was.run); err != nil {
			return err
		}
		d.news = append(d.news, world.Notice{Kind: world.NoticeWork, Run: was.id})
	}
	_, err := tx.exec(ctx, moveBucket, row...)
	return err
}

// mergeAlone has a key to itself until the end of the transaction.
func mergeAlone(ctx context.Context, tx txn, workflow, key string) error {
	return tx.each(ctx, lockMerged, func(scanner) error { return nil }, workflow, key)
}

// metBefore is the run that has the idempotency key of a start that was merged into a run that comes with its log;
// "": none. Nobody begins a run with one of those keys meanwhile, or merges: of a debounce, with the first thousand.
func metBefore(ctx context.Context, tx txn, c *world.Commit) (run string, err error) {
	merged := world.MergedStarts(c)
	if len(merged) == 0 {
		return "", nil
	}
	workflow, keys := c.Events[0].Birth.Workflow, column(merged, func(d **world.Delivery) string { return (*d).ID })
	if err := tx.each(ctx, lockMergeds, func(scanner) error { return nil }, workflow, keys[:min(len(keys), world.MaxGathered)]); err != nil {
		return "", err
	}
	err = tx.each(ctx, mergedRuns, func(row scanner) error { return row.Scan(&run) }, workflow, keys)
	if err != nil || run == "" || run == c.Run {
		return "", err
	}
	return run, tx.each(ctx, runExists, func(scanner) error { return fmt.Errorf("run %s: %w", c.Run, world.ErrRunExists) }, c.Run)
}

// input gives a run an input.
func (a *acting) input(ctx context.Context) error {
	r, err := look(ctx, a.tx, a.d.Run)
	switch {
	case err != nil:
		return err
	case r == nil:
		return fmt.Errorf("run %s: %w", a.d.Run, world.ErrNotFound)
	}
	a.r, a.done = r, world.Delivered{Run: r.id}
	if known, err := a.merged(ctx); err != nil || known {
		return err
	}
	if !r.live {
		return over(r.id)
	}
	b, err := a.bucket(ctx)
	if err != nil {
		return err
	}
	return a.appendInput(ctx, b)
}

// merged reports whether the input came before, or its start was merged before.
func (a *acting) merged(ctx context.Context) (bool, error) {
	name, key, run := a.d.Events[0].Name, a.d.Key(), ""
	if name != "" {
		if err := mergeAlone(ctx, a.tx, a.r.workflow, name); err != nil {
			return false, err
		}
	}
	err := a.tx.each(ctx, findDelivery, func(row scanner) error {
		run = a.r.id
		return row.Scan(new([]byte), &a.done.Late)
	}, a.r.key, key[:])
	if err == nil && run == "" && name != "" {
		err = a.tx.each(ctx, mergedRun, func(row scanner) error { return row.Scan(&run) }, a.r.workflow, name)
	}
	if run != "" {
		a.done = world.Delivered{Run: run, Duplicate: true}
	}
	return run != "", err
}

// bucket is what the run has gathered, under its lock and that of its queue row, where it takes the input.
func (a *acting) bucket(ctx context.Context) (*world.Gathering, error) {
	var b *world.Gathering
	if err := a.tx.each(ctx, bucketOfRun, func(row scanner) error {
		b = &world.Gathering{}
		return row.Scan(&b.Quiet, &b.Number, &b.Until, &b.Items, &b.Bytes)
	}, a.r.key); err != nil {
		return nil, err
	}
	if b == nil {
		return nil, world.Closed(a.r.id)
	}
	a.r = nil // it is looked up anew, under the lock: whoever claimed it meanwhile has begun
	if err := a.lock(ctx); err != nil {
		return nil, err
	}
	r, fits := a.r, b.Fits(a.d.Items, a.d.Events[0].InputBytes())
	if !r.live || r.running || r.owner != 0 || r.claim != 0 || !fits {
		return nil, world.Closed(r.id)
	}
	closed, encrypted := false, ""
	if err := a.tx.each(ctx, gathersNoMore, func(scanner) error { closed = true; return nil }, r.key); err != nil {
		return nil, err
	}
	if closed {
		return nil, world.Closed(r.id)
	}
	if err := a.tx.each(ctx, runKey, func(row scanner) error { return row.Scan(&encrypted) }, r.id); err != nil {
		return nil, err
	}
	return b, world.CheckEncrypted(r.id, encrypted, a.d.Events)
}

// appendInput appends the input to the log of the run, and says when that begins now.
func (a *acting) appendInput(ctx context.Context, b *world.Gathering) error {
	r, e := a.r, a.d.Events[0]
	d, next, err := a.next(ctx, e)
	if err != nil {
		return err
	}
	b.Add(a.d.Items, e.InputBytes())
	s := &script{db: &a.w.database}
	s.write(&d.sheet)
	s.put(1, gatherQueue, func() []any { return []any{r.key, b.Begins(a.w.now()), next.last} })
	if b.Open() {
		s.put(1, fillBucket, func() []any { return []any{r.key, b.Items, int64(b.Bytes)} })
	} else {
		s.put(1, dropBucket, func() []any { return []any{r.key} })
		d.notice(world.NoticeWork, r.id)
	}
	key := a.d.Key()
	var marked *bool
	if yes := world.Marked(key); yes {
		marked = &yes
	}
	var workflow, idem *string
	if e.Name != "" {
		workflow, idem = &r.workflow, &e.Name
	}
	s.put(1, noteMerged, func() []any { return []any{r.key, key[:], a.d.Keeper(), marked, workflow, idem} })
	if err := a.tx.run(ctx, s); err != nil {
		return err
	}
	a.draft, a.news = d, append(a.news, s.news...)
	return nil
}
