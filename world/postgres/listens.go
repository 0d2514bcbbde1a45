package postgres

// Waits that listen to what is published.

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	insertListens    = load("insert_listens")
	deleteListens    = load("delete_listens")
	deleteRunListens = load("delete_run_listens")
	listenShapes     = load("listen_shapes")
	listeners        = load("listeners")
	lookingBack      = load("looking_back")
	lookedBack       = load("looked_back")
)

// toldRows are rows of those whom commits tell of something: queues, who has subscribed, and waits that are to be told.
type toldRows struct {
	messages  []world.Message
	published []world.Publication
	silent    []int64 // runs none of whose waits listens any more
	listens   []listenRow
	deaf      []stepRow // waits that listen no more
}

type listenRow struct {
	run         int64
	wait, shape string
	hash        int64
	from        time.Time
	back        bool
	match       *string // of one that looks back
}

func (t *toldRows) add(o *toldRows) {
	t.messages = append(t.messages, o.messages...)
	t.published = append(t.published, o.published...)
	t.silent = append(t.silent, o.silent...)
	t.listens = append(t.listens, o.listens...)
	t.deaf = append(t.deaf, o.deaf...)
}

func (t *toldRows) clear() {
	*t = toldRows{messages: t.messages[:0], published: t.published[:0], silent: t.silent[:0], listens: t.listens[:0], deaf: t.deaf[:0]}
}

// writeTold adds what becomes of them.
func (b *script) writeTold(t *toldRows) {
	b.put(len(t.messages), sendWith, func() []any { return sendArgs(t.messages, true) })
	b.put(len(t.published), publish, func() []any { return publishArgs(t.published) })
	b.put(len(t.silent), deleteRunListens, func() []any { return []any{t.silent} })
	b.put(len(t.listens), insertListens, func() []any {
		rows := t.listens
		return []any{
			column(rows, func(r *listenRow) int64 { return r.run }), column(rows, func(r *listenRow) string { return r.wait }),
			column(rows, func(r *listenRow) string { return r.shape }), column(rows, func(r *listenRow) int64 { return r.hash }),
			column(rows, func(r *listenRow) time.Time { return r.from }), column(rows, func(r *listenRow) bool { return r.back }), column(rows, func(r *listenRow) *string { return r.match }),
		}
	})
	b.put(len(t.deaf), deleteListens, func() []any { return stepArgs(t.deaf) })
}

// listens puts on the sheet what events of a run say of its waits that listen.
func (d *draft) listens(r *run, events []world.Event) {
	l := rules.Listens(events)
	if l == nil {
		return
	}
	t := &d.sheet.told
	if l.All {
		t.silent = append(t.silent, r.key)
	}
	for _, e := range l.Created {
		row := listenRow{run: r.key, wait: clean(e.ID), shape: clean(e.Listen.Shape), hash: e.Listen.Hash, from: e.Time.Add(-e.Listen.Since)}
		if e.Listen.Since > 0 {
			row.back, row.match = true, orNull(string(e.Match))
			d.notice(world.NoticeTopic, "")
		}
		t.listens = append(t.listens, row)
	}
	for _, wait := range l.Over {
		t.deaf = append(t.deaf, stepRow{r.key, clean(wait)})
	}
}

// Shapes are those of all waits that listen; see [world.Publisher].
func (k *topics) Shapes(ctx context.Context) (all []world.Shape, err error) {
	err = k.db.read(ctx, listenShapes, func(row pgx.Rows) error {
		var text string
		if err := row.Scan(&text); err != nil {
			return err
		}
		if s, err := world.ReadShape(text); err == nil { // a damaged one finds nobody, and holds up nobody
			all = append(all, s)
		}
		return nil
	})
	return all, err
}

// Listeners are pages of waits that listen; see [world.Publisher].
func (k *topics) Listeners(ctx context.Context, q world.ListenerQuery) (all []world.Listener, err error) {
	run, wait, err := q.Check()
	if err != nil {
		return nil, err
	}
	scan := func(row pgx.Rows) error {
		var l world.Listener
		var key int64
		var match *string
		into := []any{&key, &l.Run, &l.Wait, &l.Shape, &l.Hash, &l.From, &l.Last}
		if q.Back {
			into = append(into, &match)
		}
		err := row.Scan(into...)
		if match != nil {
			l.Match = json.RawMessage(*match)
		}
		l.Place, l.From = world.ListenerPlace(key, l.Wait), l.From.UTC()
		all = append(all, l)
		return err
	}
	if q.Back {
		err = k.db.read(ctx, lookingBack, scan, run, wait, int64(q.Limit))
		return all, err
	}
	shapes, hashes := make([]string, len(q.Any)), make([]int64, len(q.Any))
	for i, of := range q.Any {
		shapes[i], hashes[i] = clean(of.Shape), of.Hash
	}
	err = k.db.read(ctx, listeners, scan, shapes, hashes, run, wait, int64(q.Limit))
	return all, err
}

// putLooked adds that waits have looked back.
func putLooked(b *script, places []string) error {
	runs, waits := make([]int64, len(places)), make([]string, len(places))
	for i, place := range places {
		var err error
		if runs[i], waits[i], err = world.ListenerAt(place); err != nil {
			return err
		}
	}
	b.put(len(places), lookedBack, func() []any { return []any{runs, waits} })
	return nil
}
