package sqlite

// Runs that gather the inputs of further starts.

import (
	"context"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	findBucket  = load("find_bucket")
	bucketOfRun = load("bucket_of_run")
	putBucket   = load("put_bucket")
	fillBucket  = load("fill_bucket")
	dropBucket  = load("drop_bucket")
	dropBuckets = load("drop_buckets")
	hasBuckets  = load("has_buckets")
	gatherQueue = load("gather_queue")
	noteMerged  = load("note_merged")
)

// gathers are the runs that gather.
//
//   - A bucket is open while its run has not begun, nobody has claimed it, it is not due, and no cancel waits for it.
//   - Births that ask for none read nothing of it.
type gathers struct {
	tx        *txn
	runs      *runs
	queue     *queue
	delivered *delivered
}

func scanBucket(r row) (id string, b world.Gathering) {
	return r.text(0), world.Gathering{
		Quiet: time.Duration(r.int(1)), Number: int(r.int(2)), Until: r.time(3), Items: int(r.int(4)), Bytes: int(r.int(5)),
	}
}

// of is what a run has gathered, as far as it is known; nil: nothing.
func (ga *gathers) of(r *run) (b *world.Gathering, err error) {
	_, err = ga.tx.one(bucketOfRun, func(row row) error { _, is := scanBucket(row); b = &is; return nil }, r.key)
	return b, err
}

// named is the run that gathers, or did, for a birth; nil: none.
func (ga *gathers) named(c *world.Commit) (r *run, b world.Gathering, err error) {
	id, birth := "", c.Events[0].Birth
	found, err := ga.tx.one(findBucket, func(row row) error { id, b = scanBucket(row); return nil }, birth.Workflow, birth.Gather.Key)
	if err == nil && found {
		r, err = ga.runs.get(id)
	}
	return r, b, err
}

// open reports whether a run has not begun, nor is due.
func (ga *gathers) open(r *run) bool {
	return r.live && !r.running && r.owner == 0 && r.claim == 0 && r.wake.After(ga.tx.now())
}

func (ga *gathers) fits(r *run, b *world.Gathering, items, bytes int) bool {
	return ga.open(r) && !r.box.cancels() && b.Fits(items, bytes)
}

// merged makes a start with an idempotency key known that was merged into a run before that came here.
func (ga *gathers) merged(r *run, d *world.Delivery, key []byte) error {
	if _, err := ga.delivered.note(r, d, key); err != nil {
		return err
	}
	return ga.tx.exec(noteMerged, r.key, key, r.workflow, d.ID)
}

// find is the run to which the input of a birth is to be delivered; "": there is none.
func (ga *gathers) find(c *world.Commit) (id string, err error) {
	r, b, err := ga.named(c)
	if err == nil && r != nil && ga.fits(r, &b, c.Items, c.Events[0].InputBytes()) {
		id = r.id
	}
	return id, err
}

// opens says when a run begins that is created.
func (ga *gathers) opens(c *world.Commit, r *run) (b world.Gathering) {
	b = c.Events[0].Birth.Gather.Opens(ga.tx.now(), c.Items, c.Events[0].InputBytes())
	r.wake = b.Begins(ga.tx.now())
	return b
}

// opened has a new run gather, in the place of the one that did, which begins.
func (ga *gathers) opened(c *world.Commit, r *run, b *world.Gathering) error {
	was, _, err := ga.named(c)
	if err == nil && was != nil && ga.open(was) {
		err = ga.queue.retry(was)
	}
	if err != nil || !b.Open() {
		return err
	}
	birth := c.Events[0].Birth
	return ga.tx.exec(putBucket, birth.Workflow, birth.Gather.Key, r.key, int64(b.Quiet), int64(b.Number), b.Until.UnixMicro(), int64(b.Items), int64(b.Bytes))
}

// took follows an input that a run has taken.
func (ga *gathers) took(r *run, b *world.Gathering) error {
	r.wake = b.Begins(ga.tx.now())
	if err := ga.tx.exec(gatherQueue, r.key, micros(r.wake), r.last); err != nil {
		return err
	}
	if b.Open() {
		return ga.tx.exec(fillBucket, r.key, int64(b.Items), int64(b.Bytes))
	}
	ga.tx.notice(world.NoticeWork, r.id)
	return ga.tx.exec(dropBucket, r.key)
}

// input gives a run an input.
func input(g *group, r *run, d *world.Delivery) (done world.Delivered, err error) {
	e, k := d.Events[0], keyOf(d)
	if done, err = g.delivered.again(r, d, k); err != nil || done.Duplicate {
		return done, err
	}
	if e.Name != "" {
		if has, err := g.runs.byKey(r.workflow, e.Name); err != nil || has != "" {
			return world.Delivered{Run: has, Duplicate: true}, err
		}
	}
	if !r.live {
		return done, over(r)
	}
	b, err := g.gathers.of(r)
	if err != nil {
		return done, err
	}
	if b == nil || !g.gathers.fits(r, b, d.Items, e.InputBytes()) {
		return done, world.Closed(r.id)
	}
	if err := world.CheckEncrypted(r.id, r.encrypted, d.Events); err != nil {
		return done, err
	}
	last, err := g.logs.lastKnown(r)
	if err != nil {
		return done, err
	}
	if done, err = g.delivered.note(r, d, k); err != nil || done.Duplicate {
		return done, err
	}
	if e.Name != "" {
		if err := g.tx.exec(noteMerged, r.key, k, r.workflow, e.Name); err != nil {
			return done, err
		}
	}
	r.last = last.Seq
	e.Delivery, e.Time = d.ID, rules.Later(g.tx.now(), last.Time)
	g.tx.count().commits++
	g.tx.count().deliveries++
	if err := g.logs.append(r, [16]byte{}, "", last.Seq+1, []world.Event{e}); err != nil {
		return done, err
	}
	b.Add(d.Items, e.InputBytes())
	return done, g.gathers.took(r, b)
}

// bucketPatience is for how long what gathers no more is left alone.
const bucketPatience = time.Hour

// sweepBuckets forgets what gathers no more.
func sweepBuckets(ctx context.Context, w *World) error {
	some, before := false, w.Time().Add(-bucketPatience).UnixMicro()
	err := w.read(ctx, func(c *conn) error {
		return c.query(hasBuckets, func(row) (bool, error) { some = true; return true, nil }, before)
	})
	if err != nil || !some {
		return err
	}
	return w.write(ctx, func(g *group) error { return g.tx.exec(dropBuckets, before) })
}
