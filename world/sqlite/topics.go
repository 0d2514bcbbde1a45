package sqlite

// Topics. There is one writer, so whoever writes is the one who spreads.

import (
	"context"
	"math"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	insertPublication  = load("insert_publication")
	insertDue          = load("insert_due")
	findPublication    = load("find_publication")
	duePublications    = load("due_publications")
	nextPublication    = load("next_publication")
	isDue              = load("is_due")
	deleteDue          = load("delete_due")
	setAside           = load("set_aside")
	readSpreading      = load("spreading")
	setSpreading       = load("set_spreading")
	listSubscriptions  = load("list_subscriptions")
	putSubscription    = load("put_subscription")
	deleteSubscription = load("delete_subscription")
	listPublications   = load("list_publications")
	oldPublications    = load("old_publications")
	deletePublication  = load("delete_publication")
)

// topics are the topics of a World.
type topics struct {
	w        *World
	standing *rules.Standing
}

// Topics returns the store of topics; see [world.World].
func (w *World) Topics() world.Publisher { return topics{w, &w.standing} }

// Publish writes publications; see [world.Publisher].
func (k topics) Publish(ctx context.Context, all []world.Publication) ([]world.Sent, error) {
	if err := world.CheckPublications(all); err != nil {
		return nil, err
	}
	return ask(ctx, k.w, func(g *group) ([]world.Sent, error) { return publish(&g.tx, all) })
}

func publish(tx *txn, all []world.Publication) ([]world.Sent, error) {
	sent := make([]world.Sent, len(all))
	for i := range all {
		p := &all[i]
		if p.Dedupe != "" {
			if _, err := tx.one(findPublication, func(r row) error {
				sent[i] = world.Sent{ID: world.PublicationID(r.time(1), r.int(0)), Duplicate: true}
				return nil
			}, p.Topic, p.Dedupe); err != nil {
				return nil, err
			}
			if sent[i].Duplicate {
				continue
			}
		}
		due, head, sum := int64(0), "", layout.Sum{}
		if p.Delay > 0 {
			due = world.After(tx.now(), p.Delay).UnixMicro()
		}
		head, sum = layout.PublicationRow(p)
		key, err := tx.insert(insertPublication, p.Topic, orNull(p.Source), orNull(p.Dedupe), tx.now().UnixMicro(), max(due, tx.now().UnixMicro()), head, p.Payload, int64(sum.Value()))
		if err != nil {
			return nil, err
		}
		if err := tx.exec(insertDue, key, due); err != nil {
			return nil, err
		}
		tx.grow(len(head) + len(p.Payload))
		sent[i].ID = world.PublicationID(tx.now(), key)
		tx.notice(world.NoticeTopic, "")
	}
	return sent, nil
}

// scanPublication reads a row of a publication.
func scanPublication(r row) (p world.Publication) {
	p.At = r.time(3)
	p.ID, p.Topic, p.Source, p.Due = world.PublicationID(p.At, r.int(0)), r.text(1), r.text(2), r.time(4)
	p.Spread = r.null(8)
	p.Error = r.text(9)
	layout.ReadPublication(&p, r.text(5), r.bytes(6), r.sum(7))
	return p
}

// Subscriptions tells of subscriptions; see [world.Publisher].
func (k topics) Subscriptions(ctx context.Context, names ...string) (out []world.Subscription, err error) {
	err = k.w.read(ctx, func(c *conn) error {
		all, err := subscriptions(c)
		out = rules.Named(all, names)
		return err
	})
	return out, err
}

func subscriptions(c *conn) (all []world.Subscription, err error) {
	err = c.query(listSubscriptions, func(r row) (bool, error) {
		all = append(all, layout.ReadSubscription(r.text(0), r.text(1), r.sum(2)))
		return true, nil
	})
	return all, err
}

func spreading(c *conn) (revision int64, cut *world.Cut, err error) {
	_, err = c.one(readSpreading, func(r row) error { revision, cut = r.int(0), layout.ReadCut(r.text(1)); return nil })
	return revision, cut, err
}

// Due tells what is to be spread; see [world.Publisher].
func (k topics) Due(ctx context.Context, q world.DueQuery) (d world.Due, err error) {
	after, number, err := q.Check()
	if err != nil {
		return d, err
	}
	err = k.w.read(ctx, func(c *conn) (err error) {
		d = world.Due{Now: k.w.Time()}
		if d.Revision, d.Cut, err = spreading(c); err != nil { // before all else: what comes later is refused
			return err
		}
		if d.Subscriptions, err = k.standing.At(d.Revision, func() ([]world.Subscription, error) { return subscriptions(c) }); err != nil {
			return err
		}
		var page rules.DuePage
		if d.Cut.Open() {
			key, _ := world.PublicationNumber(d.Cut.ID)
			there := false
			if _, err := c.one(listPublications, func(r row) error {
				there = r.int(0) == key && !r.null(8) && r.int(8) <= d.Now.UnixMicro() && page.Add(&d, q.Limit, scanPublication(r))
				return nil
			}, key+1, int64(1)); err != nil {
				return err
			}
			if !there { // it was deleted by hand
				d.Cut = d.Cut.Others()
			} else {
				d.Cut.ID = d.Publications[0].ID
			}
		}
		if err := c.query(duePublications, func(r row) (bool, error) {
			p := scanPublication(r)
			if d.Cut.Open() && p.ID == d.Cut.ID {
				return true, nil
			}
			d.More = !page.Next(&d, q.Limit, p, r.int(8))
			return !d.More, nil
		}, d.Now.UnixMicro(), int64(q.Limit+2), after, number); err != nil {
			return err
		}
		_, err = c.one(nextPublication, func(r row) error { d.Next = r.time(0); return nil }, d.Now.UnixMicro())
		return err
	})
	return d, err
}

// Spread writes what was decided of what is due; see [world.Publisher].
func (k topics) Spread(ctx context.Context, s world.Spread) (bool, error) {
	if err := world.CheckSpread(&s); err != nil {
		return false, err
	}
	return ask(ctx, k.w, func(g *group) (bool, error) { return g.spread(&s) })
}

// spread writes nothing before it is sure that all of it holds.
func (g *group) spread(s *world.Spread) (bool, error) {
	tx := &g.tx
	revision, cut, err := spreading(tx.conn())
	if err != nil || revision != s.Revision {
		return false, err
	}
	due := func(id string) (bool, error) {
		key, _ := world.PublicationNumber(id)
		return tx.one(isDue, func(row) error { return nil }, key, tx.now().UnixMicro())
	}
	if !rules.GoesOn(cut, s) {
		if stands, err := due(cut.ID); err != nil || stands {
			return false, err
		}
	}
	for id := range rules.Touched(s) {
		if found, err := due(id); err != nil || !found {
			return false, err
		}
	}
	if x := s.Subscribe; x != nil && x.Queue != "" {
		if _, err := queueNamed(tx.conn(), x.Queue); err != nil {
			return false, err
		}
	}
	messages, err := there(tx, s.Messages)
	if err != nil {
		return false, err
	}
	for id, why := range rules.Gone(s) {
		key, _ := world.PublicationNumber(id)
		if why == "" {
			err = tx.exec(deleteDue, key)
		} else {
			err = tx.exec(setAside, key, why)
		}
		if err != nil {
			return false, err
		}
	}
	if _, err := sendMessages(tx, messages, false); err != nil {
		return false, err
	}
	for i := range s.Mail {
		if err := g.sendTo(&s.Mail[i]); err != nil {
			return false, err
		}
	}
	if err := looked(tx, s.Looked); err != nil {
		return false, err
	}
	if err := resubscribe(tx, s); err != nil || cut == nil && !rules.Revises(s) {
		return err == nil, err
	}
	var text any
	if s.Cut != nil {
		if text, err = layout.CutText(s.Cut); err != nil {
			return false, err
		}
	}
	return true, tx.exec(setSpreading, revision+1, text)
}

// there are those of the messages whose queue is there.
func there(tx *txn, all []world.Message) (out []world.Message, err error) {
	is := make(map[string]bool)
	for i := range all {
		name := all[i].Queue
		if _, known := is[name]; !known {
			if is[name], err = tx.one(queueByName, func(row) error { return nil }, name); err != nil {
				return nil, err
			}
		}
		if is[name] {
			out = append(out, all[i])
		}
	}
	return out, nil
}

// resubscribe changes subscriptions. A queue of its own that is there stays as it is.
func resubscribe(tx *txn, s *world.Spread) error {
	if s.Unsubscribe != "" {
		if err := tx.exec(deleteSubscription, s.Unsubscribe); err != nil {
			return err
		}
	}
	x := s.Subscribe
	if x == nil {
		return nil
	}
	if x.Queue == "" {
		if found, err := tx.one(queueByName, func(row) error { return nil }, x.OwnQueue()); err != nil {
			return err
		} else if !found {
			q := world.MessageQueue{Name: x.OwnQueue()}.Or()
			if err := tx.exec(declareQueue, q.Name, int64(q.Visibility), int64(q.MaxReceives), nil); err != nil {
				return err
			}
		}
	}
	said, sum, err := layout.SubscriptionRow(x)
	if err != nil {
		return err
	}
	return tx.exec(putSubscription, x.Name, said, int64(sum.Value()))
}

// Publications are pages of what was published; see [world.Publisher].
func (k topics) Publications(ctx context.Context, q world.PublicationQuery) (page world.PublicationPage, err error) {
	before, err := q.Check()
	if err != nil {
		return page, err
	}
	err = k.w.read(ctx, func(c *conn) error {
		return rules.PublicationPage(&page, q, before, func(before int64, look, limit int) (in rules.Published, err error) {
			if before == 0 {
				before = math.MaxInt64
			}
			err = c.query(listPublications, func(r row) (bool, error) {
				in.Looked, in.Last, in.At = in.Looked+1, r.int(0), r.time(3)
				if q.Fits(r.text(1)) { // what is for others is not read
					in.All = append(in.All, scanPublication(r))
				}
				return len(in.All) < limit, nil
			}, before, int64(look))
			in.End = in.Looked < look && len(in.All) < limit
			return in, err
		})
	})
	return page, err
}

// sweep deletes what was published long ago and has gone out, so much in a transaction.
func (k topics) sweep(ctx context.Context) error {
	for behind, more := int64(0), true; more; {
		var err error
		if more, err = ask(ctx, k.w, func(g *group) (more bool, err error) {
			var old []int64
			n := 0
			if err := g.tx.query(oldPublications, func(r row) (bool, error) {
				if n++; !r.bool(1) {
					return false, nil
				}
				behind, more = r.int(0), n == world.MaxBatch
				if r.bool(2) {
					old = append(old, behind)
				}
				return true, nil
			}, behind, g.tx.now().Add(-world.KeepPublications).UnixMicro(), int64(world.MaxBatch)); err != nil {
				return false, err
			}
			for _, key := range old {
				if err := g.tx.exec(deletePublication, key); err != nil {
					return false, err
				}
				if err := g.tx.exec(deleteDue, key); err != nil { // of what was set aside
					return false, err
				}
			}
			return more, nil
		}); err != nil {
			return err
		}
	}
	return nil
}
