package postgres

// Topics. What is published is an insert, and shares its transaction with what is sent to queues at that moment: see
// messages_send.go.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	publish            = load("publish")
	publishOnce        = load("publish_once")
	findPublication    = load("find_publication")
	duePublications    = load("due_publications")
	nextPublication    = load("next_publication")
	areDue             = load("are_due")
	deleteDue          = load("delete_due")
	setAside           = load("set_aside")
	readSpreading      = load("spreading")
	lockSpreading      = load("lock_spreading")
	holdSpreading      = load("hold_spreading")
	setSpreading       = load("set_spreading")
	listSubscriptions  = load("list_subscriptions")
	putSubscription    = load("put_subscription")
	deleteSubscription = load("delete_subscription")
	ownQueue           = load("own_queue")
	listPublications   = load("list_publications")
	findPublished      = load("find_published")
	sweepPublications  = load("sweep_publications")
)

// topics are the topics of a schema.
//
//   - Who publishes locks nothing. Who spreads has locked the row in spreading, and waits for nobody who has.
//   - What is due is deleted together with what becomes of it.
//   - Nobody is told of a publication, or of a message, before it is durable.
type topics struct {
	*messaging
	standing rules.Standing
}

var _ world.Publisher = (*topics)(nil)

// Topics returns the store of topics; see [world.World].
func (w *World) Topics() world.Publisher { return &w.topics }

var newsOfTopics = world.Notice{Kind: world.NoticeTopic}

// Publish writes publications; see [world.Publisher].
func (k *topics) Publish(ctx context.Context, all []world.Publication) ([]world.Sent, error) {
	if err := world.CheckPublications(all); err != nil {
		return nil, err
	}
	s := &sends{published: all, done: make(chan struct{}, 1)}
	return k.send(ctx, s)
}

// PublishIn is Publish within a transaction; see [world.Transactor].
func (w *World) PublishIn(ctx context.Context, tx world.Tx, all []world.Publication) (sent []world.Sent, err error) {
	if err := world.CheckPublications(all); err != nil {
		return nil, err
	}
	t, conn, err := w.of(tx)
	if err != nil {
		return nil, err
	}
	err = w.guard(ctx, t, conn, func() error {
		if sent, err = publishIn(ctx, conn, all); err != nil {
			return err
		}
		return w.announceIn(ctx, conn, []world.Notice{newsOfTopics})
	})
	return sent, err
}

// publishIn publishes within a transaction: what has a delivery ID one by one, and what lies between these at once.
func publishIn(ctx context.Context, in txn, all []world.Publication) (sent []world.Sent, err error) {
	for from := 0; from < len(all); {
		to := from
		for to < len(all) && all[to].Dedupe == "" {
			to++
		}
		if to > from {
			if err := in.each(ctx, publish, func(row scanner) error {
				s, err := scanPublished(row)
				sent = append(sent, s)
				return err
			}, publishArgs(all[from:to])...); err != nil {
				return nil, err
			}
			if len(sent) != to {
				return nil, unsettled("publish", len(sent), to)
			}
		}
		if from = to; from < len(all) {
			s, err := publishedOnce(ctx, in, &all[from])
			if err != nil {
				return nil, err
			}
			sent = append(sent, s)
			from++
		}
	}
	return sent, nil
}

func publishedOnce(ctx context.Context, in txn, p *world.Publication) (s world.Sent, err error) {
	scan := func(row scanner) (err error) { s, err = scanPublished(row); return err }
	head, sum := layout.PublicationRow(p)
	if err := in.each(ctx, publishOnce, scan, p.Topic, orNull(p.Source), p.Dedupe, p.Delay.Microseconds(), head, p.Payload, sum.Value()); err != nil || s.ID != "" {
		return s, err
	}
	if err := in.each(ctx, findPublication, scan, p.Topic, p.Dedupe); err != nil {
		return s, err
	}
	if s.Duplicate = true; s.ID == "" {
		return s, errAgain // it was deleted meanwhile
	}
	return s, nil
}

func publishArgs(all []world.Publication) []any {
	n := len(all)
	topics, sources, delays := make([]string, n), make([]*string, n), make([]int64, n)
	heads, bodies, sums := make([]string, n), make([][]byte, n), make([]int32, n)
	for i := range all {
		p := &all[i]
		topics[i], sources[i], delays[i], bodies[i] = p.Topic, orNull(p.Source), p.Delay.Microseconds(), p.Payload
		head, sum := layout.PublicationRow(p)
		heads[i], sums[i] = head, sum.Value()
	}
	return []any{topics, sources, delays, heads, bodies, sums}
}

func scanPublished(row scanner) (s world.Sent, err error) {
	var key int64
	var at time.Time
	if err = row.Scan(&key, &at); err == nil {
		s.ID = world.PublicationID(at, key)
	}
	return s, err
}

// scanPublication reads a row of a publication, and what else is in it.
func scanPublication(row scanner, also ...any) (p world.Publication, err error) {
	var key int64
	var source, reason *string
	var head string
	var body []byte
	var sum int32
	var due bool
	if err := row.Scan(append([]any{&key, &p.Topic, &source, &p.At, &p.Due, &head, &body, &sum, &due, &reason}, also...)...); err != nil {
		return p, err
	}
	p.At, p.Due = p.At.UTC(), p.Due.UTC()
	p.ID, p.Source, p.Spread, p.Error = world.PublicationID(p.At, key), textOf(source), !due, textOf(reason)
	layout.ReadPublication(&p, head, body, layout.SumOf(sum))
	return p, nil
}

// Subscriptions tells of subscriptions; see [world.Publisher].
func (k *topics) Subscriptions(ctx context.Context, names ...string) ([]world.Subscription, error) {
	all, err := k.subscriptions(ctx)
	return rules.Named(all, names), err
}

func (k *topics) subscriptions(ctx context.Context) (all []world.Subscription, err error) {
	err = k.db.read(ctx, listSubscriptions, func(row pgx.Rows) error { return scanSubscription(row, &all) })
	return all, err
}

func scanSubscription(row scanner, all *[]world.Subscription) error {
	var name, said string
	var sum int32
	err := row.Scan(&name, &said, &sum)
	*all = append(*all, layout.ReadSubscription(name, said, layout.SumOf(sum)))
	return err
}

// subscriptionsIn are all subscriptions, as a transaction sees them.
func subscriptionsIn(ctx context.Context, in txn) (all []world.Subscription, err error) {
	err = in.each(ctx, listSubscriptions, func(row scanner) error { return scanSubscription(row, &all) })
	return all, err
}

func scanSpreading(row scanner) (revision int64, cut *world.Cut, err error) {
	var text *string
	err = row.Scan(&revision, &text)
	return revision, layout.ReadCut(textOf(text)), err
}

// Due tells what is to be spread; see [world.Publisher].
func (k *topics) Due(ctx context.Context, q world.DueQuery) (d world.Due, err error) {
	after, number, err := q.Check()
	if err != nil {
		return d, err
	}
	behind := "-infinity"
	if after > 0 {
		behind = time.UnixMicro(after).UTC().Format(time.RFC3339Nano)
	}
	var found []world.Publication
	var places []int64
	if err := k.db.batch(ctx, func(b *pgx.Batch) {
		found, places, d = nil, nil, world.Due{}
		each := func(f func(row scanner) error) func(rows pgx.Rows) error {
			return func(rows pgx.Rows) error {
				for rows.Next() {
					if err := f(rows); err != nil {
						return err
					}
				}
				return rows.Err()
			}
		}
		// Before all else: a spread is refused where it has changed since.
		b.Queue(k.db.sql(readSpreading)).Query(each(func(row scanner) (err error) { d.Revision, d.Cut, err = scanSpreading(row); return err }))
		b.Queue(k.db.sql(duePublications), int64(q.Limit+2), int64(world.PageBytes), behind, number).Query(each(func(row scanner) error {
			var place int64
			p, err := scanPublication(row, &place)
			found, places = append(found, p), append(places, place)
			return err
		}))
		b.Queue(k.db.sql(nextPublication)).Query(each(func(row scanner) error {
			var next *time.Time
			err := row.Scan(&d.Now, &next)
			d.Now, d.Next = d.Now.UTC(), at(next)
			return err
		}))
	}); err != nil {
		return world.Due{}, err
	}
	var page rules.DuePage
	if d.Cut.Open() {
		if err := k.cutFirst(ctx, &d, &page, q.Limit); err != nil {
			return world.Due{}, err
		}
	}
	bytes := 0
	for i, p := range found {
		if bytes += len(p.Payload); !d.Cut.Open() || p.ID != d.Cut.ID {
			d.More = d.More || !page.Next(&d, q.Limit, p, places[i])
		}
	}
	d.More = d.More || bytes > world.PageBytes
	d.Subscriptions, err = k.standing.At(d.Revision, func() ([]world.Subscription, error) { return k.subscriptions(ctx) })
	return d, err
}

// cutFirst puts the publication that is cut first.
func (k *topics) cutFirst(ctx context.Context, d *world.Due, page *rules.DuePage, limit int) error {
	key, _ := world.PublicationNumber(d.Cut.ID)
	there := false
	err := k.db.read(ctx, listPublications, func(row pgx.Rows) error {
		p, err := scanPublication(row)
		if n, _ := world.PublicationNumber(p.ID); err == nil && n == key && !p.Spread {
			there = page.Add(d, limit, p)
		}
		return err
	}, key+1, int64(1))
	if !there { // it was deleted by hand
		d.Cut = d.Cut.Others()
	} else {
		d.Cut.ID = d.Publications[0].ID
	}
	return err
}

// errMoved: somebody else spreads, or has.
var errMoved = fmt.Errorf("spread by another: %w", world.ErrConflict)

// Spread writes what was decided of what is due; see [world.Publisher].
func (k *topics) Spread(ctx context.Context, s world.Spread) (bool, error) {
	if err := world.CheckSpread(&s); err != nil {
		return false, err
	}
	mail := make([]sentRow, len(s.Mail))
	for i := range s.Mail {
		var err error
		if mail[i], err = sentRowOf(&s.Mail[i]); err != nil {
			return false, err
		}
	}
	var news []world.Notice
	err := k.db.change(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		news, err = k.spreadIn(ctx, k.db.in(tx), &s, mail)
		return err
	})
	switch {
	case errors.Is(err, errMoved):
		return false, nil
	case err != nil:
		return false, err
	}
	k.telling.tell(news...)
	return true, nil
}

// spreadIn spreads in a transaction.
func (k *topics) spreadIn(ctx context.Context, in pgxTxn, s *world.Spread, mail []sentRow) ([]world.Notice, error) {
	var revision int64
	var cut *world.Cut
	locked := false
	if err := in.each(ctx, lockSpreading, func(row scanner) (err error) { locked = true; revision, cut, err = scanSpreading(row); return err }); err != nil {
		return nil, err
	}
	if !locked || revision != s.Revision {
		return nil, errMoved
	}
	if !rules.GoesOn(cut, s) {
		if stands, err := howManyDue(ctx, in, cut.ID); err != nil || stands > 0 {
			return nil, cmp.Or(err, errMoved)
		}
	}
	touched := slices.Collect(rules.Touched(s))
	if n, err := howManyDue(ctx, in, touched...); err != nil || n != len(touched) {
		return nil, cmp.Or(err, errMoved)
	}
	if x := s.Subscribe; x != nil && x.Queue != "" {
		if _, err := k.keyOf(ctx, in, x.Queue); err != nil {
			return nil, err
		}
	}
	messages, queues, err := there(ctx, in, s.Messages)
	if err != nil {
		return nil, err
	}
	b := &script{db: k.db, news: queues}
	putGone(b, s)
	sent := 0
	if len(messages) > 0 {
		b.items = append(b.items, item{s: sendMessages, args: sendArgs(messages, true), each: func(scanner) error { sent++; return nil }})
	}
	b.writeSent(mail)
	if err := putLooked(b, s.Looked); err != nil {
		return nil, err
	}
	if err := putSubscriptions(b, s); err != nil {
		return nil, err
	}
	if cut != nil || rules.Revises(s) {
		var text *string
		if s.Cut != nil {
			t, err := layout.CutText(s.Cut)
			if err != nil {
				return nil, err
			}
			text = &t
		}
		b.put(1, setSpreading, func() []any { return []any{revision + 1, text} })
	}
	if err := in.run(ctx, b); err != nil {
		return nil, err
	}
	if sent != len(messages) {
		return nil, errAgain // a queue was dropped meanwhile
	}
	return b.news, nil
}

// howManyDue tells how many of some publications are due.
func howManyDue(ctx context.Context, in pgxTxn, ids ...string) (n int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	keys := make([]int64, len(ids))
	for i, id := range ids {
		keys[i], _ = world.PublicationNumber(id)
	}
	err = in.each(ctx, areDue, func(row scanner) error { return row.Scan(&n) }, keys)
	return n, err
}

// there are those of the messages whose queue is there, and the news of them.
func there(ctx context.Context, in pgxTxn, all []world.Message) (out []world.Message, news []world.Notice, err error) {
	if len(all) == 0 {
		return nil, nil, nil
	}
	is := make(map[string]bool)
	for i := range all {
		is[all[i].Queue] = false
	}
	names := make([]string, 0, len(is))
	for name := range is {
		names = append(names, name)
	}
	err = in.each(ctx, queueKeys, func(row scanner) error {
		var name string
		err := row.Scan(&name, new(int32))
		is[name] = true
		news = append(news, world.Notice{Kind: world.NoticeMessage, Run: name})
		return err
	}, names)
	for i := range all {
		if is[all[i].Queue] {
			out = append(out, all[i])
		}
	}
	return out, news, err
}

// putGone adds what is due no more.
func putGone(b *script, s *world.Spread) {
	var done, aside []int64
	var why []string
	for id, reason := range rules.Gone(s) {
		key, _ := world.PublicationNumber(id)
		if reason == "" {
			done = append(done, key)
		} else {
			aside, why = append(aside, key), append(why, reason)
		}
	}
	b.put(len(done), deleteDue, func() []any { return []any{done} })
	b.put(len(aside), setAside, func() []any { return []any{aside, why} })
}

// putSubscriptions adds what changes of subscriptions.
func putSubscriptions(b *script, s *world.Spread) error {
	if s.Unsubscribe != "" {
		b.put(1, deleteSubscription, func() []any { return []any{s.Unsubscribe} })
	}
	x := s.Subscribe
	if x == nil {
		return nil
	}
	if x.Queue == "" {
		q := world.MessageQueue{Name: x.OwnQueue()}.Or()
		b.put(1, ownQueue, func() []any { return []any{q.Name, int64(q.Visibility), q.MaxReceives} })
	}
	said, sum, err := layout.SubscriptionRow(x)
	b.put(1, putSubscription, func() []any { return []any{x.Name, said, sum.Value()} })
	return err
}

// Publications are pages of what was published; see [world.Publisher].
func (k *topics) Publications(ctx context.Context, q world.PublicationQuery) (page world.PublicationPage, err error) {
	before, err := q.Check()
	if err != nil {
		return page, err
	}
	like := likeTopics(&q)
	err = rules.PublicationPage(&page, q, before, func(before int64, look, limit int) (in rules.Published, err error) {
		if before == 0 {
			before = math.MaxInt64
		}
		told, scanned := 0, look
		scan := func(row pgx.Rows) error {
			var looked, last int64
			var lastAt time.Time
			also := []any{&looked, &last, &lastAt}
			if like == nil {
				also = nil
			}
			p, err := scanPublication(row, also...)
			if err != nil {
				return err
			}
			if number, _ := world.PublicationNumber(p.ID); number > 0 {
				if told++; like == nil || told == limit {
					looked, last, lastAt = int64(told), number, p.At
				}
				if q.Fits(p.Topic) {
					in.All = append(in.All, p)
				}
			}
			in.Looked, in.Last, in.At = max(int(looked), in.Looked), last, lastAt.UTC()
			return nil
		}
		if like == nil {
			scanned = limit
			err = k.db.read(ctx, listPublications, scan, before, int64(scanned))
		} else {
			err = k.db.read(ctx, findPublished, scan, before, int64(scanned), int64(limit), like)
		}
		in.End = in.Looked < scanned && told < limit
		return in, err
	})
	return page, err
}

// mostLike is how many patterns a statement compares each topic with: of more, all topics are read.
const mostLike = 20

// likeTopics are patterns of LIKE for all topics that a query asks for, and some others: up to the first word that is *
// or #. nil: for all.
func likeTopics(q *world.PublicationQuery) (like []string) {
	patterns := q.Any
	if q.Topic != "" {
		patterns = []string{q.Topic}
	}
	for _, pattern := range patterns {
		at := strings.IndexAny(pattern, "*#")
		wild := at >= 0
		open := pattern
		if wild { // what stands before .# is a topic, too
			open = strings.TrimSuffix(pattern[:at], ".")
		}
		if open == "" && wild || len(patterns) > mostLike {
			return nil
		}
		if open = strings.ReplaceAll(open, "_", `\_`); wild {
			open += "%"
		}
		like = append(like, open)
	}
	return like
}

// sweep deletes what was published long ago and has gone out, so much in a transaction.
func (k *topics) sweep(ctx context.Context) error {
	before := k.db.now().Add(-world.KeepPublications)
	for behind := new(int64); behind != nil; {
		var last *int64
		if err := k.db.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
			return k.db.in(tx).each(ctx, sweepPublications, func(row scanner) error { return row.Scan(&last) }, *behind, before, int64(world.MaxBatch))
		}); err != nil {
			return err
		}
		behind = last
	}
	return nil
}
