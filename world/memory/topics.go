// Topics: what was published, and subscriptions to it.

package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// topics are the topics of a World, under its lock. There is one lock, so whoever has it is the one who spreads.
type topics struct {
	w        *World
	all      []*publication // by number
	due      []*publication // in the order in which they are spread
	last     int64          // number of the last one
	dedupes  map[[2]string]*publication
	standing []world.Subscription // by name; replaced as a whole
	revision int64
	cut      *world.Cut
	listens  listens
}

type publication struct {
	world.Publication
	number int64
	after  time.Time // zero: it is due at once
}

var _ world.Publisher = (*topics)(nil)

// Topics returns the store of topics; see [world.World].
func (w *World) Topics() world.Publisher { return &w.topics }

// inOrder is the order in which publications are spread.
func inOrder(a, b *publication) int {
	return cmp.Or(a.after.Compare(b.after), cmp.Compare(a.number, b.number))
}

func byNumber(p *publication, number int64) int { return cmp.Compare(p.number, number) }

// Publish writes publications; see [world.Publisher].
func (k *topics) Publish(ctx context.Context, all []world.Publication) ([]world.Sent, error) {
	if err := world.CheckPublications(all); err != nil {
		return nil, err
	}
	if err := k.w.enter(ctx); err != nil {
		return nil, err
	}
	defer k.w.messages.leave()
	now, sent := k.w.now(), make([]world.Sent, len(all))
	for i := range all {
		id := [2]string{all[i].Topic, all[i].Dedupe}
		if before := k.dedupes[id]; all[i].Dedupe != "" && before != nil {
			sent[i] = world.Sent{ID: before.ID, Duplicate: true}
			continue
		}
		p := k.publish(&all[i], now)
		if p.Dedupe != "" {
			if k.dedupes == nil {
				k.dedupes = make(map[[2]string]*publication)
			}
			k.dedupes[id] = p
		}
		sent[i].ID = p.ID
		k.w.messages.news.add(world.NoticeTopic, "")
	}
	return sent, nil
}

// publish keeps one more.
func (k *topics) publish(of *world.Publication, now time.Time) *publication {
	k.last++
	p := &publication{Publication: *of, number: k.last}
	p.ID, p.At, p.Due = world.PublicationID(now, k.last), now, now
	if p.Delay > 0 {
		p.Due = world.After(now, p.Delay)
		p.after = p.Due
	}
	p.Payload, p.Headers = slices.Clone(p.Payload), maps.Clone(p.Headers)
	k.all = append(k.all, p)
	at, _ := slices.BinarySearchFunc(k.due, p, inOrder)
	k.due = slices.Insert(k.due, at, p)
	return p
}

// Subscriptions tells of subscriptions; see [world.Publisher].
func (k *topics) Subscriptions(ctx context.Context, names ...string) ([]world.Subscription, error) {
	if err := k.w.enter(ctx); err != nil {
		return nil, err
	}
	defer k.w.messages.leave()
	return rules.Named(k.standing, names), nil
}

// Due tells what is to be spread; see [world.Publisher].
func (k *topics) Due(ctx context.Context, q world.DueQuery) (d world.Due, err error) {
	after, number, err := q.Check()
	if err != nil {
		return d, err
	}
	if err := k.w.enter(ctx); err != nil {
		return d, err
	}
	defer k.w.messages.leave()
	d = world.Due{Cut: k.cut, Subscriptions: k.standing, Revision: k.revision, Now: k.w.now()}
	var page rules.DuePage
	if k.cut.Open() {
		page.Add(&d, q.Limit, k.find(k.cut.ID).shown())
	}
	for _, p := range k.due {
		place := p.place()
		switch {
		case p.after.After(d.Now):
			d.Next = p.after
			return d, nil
		case k.cut.Open() && p.ID == k.cut.ID, place < after, place == after && p.number <= number:
		case !page.Next(&d, q.Limit, p.shown(), place):
			d.More = true
			return d, nil
		}
	}
	return d, nil
}

// place is when it is due, as places have it.
func (p *publication) place() int64 {
	if p.after.IsZero() {
		return 0
	}
	return p.after.UnixMicro()
}

func (k *topics) find(id string) *publication {
	number, _ := world.PublicationNumber(id)
	if i, found := slices.BinarySearchFunc(k.all, number, byNumber); found && k.all[i].ID == id {
		return k.all[i]
	}
	return nil
}

// Spread writes what was decided of what is due; see [world.Publisher].
func (k *topics) Spread(ctx context.Context, s world.Spread) (bool, error) {
	if err := world.CheckSpread(&s); err != nil {
		return false, err
	}
	if err := k.w.enter(ctx); err != nil {
		return false, err
	}
	defer k.w.messages.leave()
	if s.Revision != k.revision || !rules.GoesOn(k.cut, &s) { // what is cut is due
		return false, nil
	}
	now := k.w.now()
	for id := range rules.Touched(&s) {
		if p := k.find(id); p == nil || p.Spread || p.Error != "" || p.after.After(now) {
			return false, nil
		}
	}
	if x := s.Subscribe; x != nil {
		if x.Queue != "" {
			if _, err := k.w.messages.find(x.Queue); err != nil {
				return false, err
			}
		} else if k.w.messages.queues[x.OwnQueue()] == nil {
			k.w.messages.declare(world.MessageQueue{Name: x.OwnQueue()})
		}
	}
	for id, why := range rules.Gone(&s) {
		p := k.find(id)
		p.Spread, p.Error = why == "", why
	}
	k.due = slices.DeleteFunc(k.due, func(p *publication) bool { return p.Spread || p.Error != "" })
	for i := range s.Messages {
		if q := k.w.messages.queues[s.Messages[i].Queue]; q != nil {
			k.w.messages.put(q, &s.Messages[i], now)
			k.w.messages.news.add(world.NoticeMessage, q.Name)
		}
	}
	for i := range s.Mail {
		k.w.send(&s.Mail[i], &k.w.messages.news)
	}
	k.listens.looked(s.Looked)
	if k.cut != nil || rules.Revises(&s) {
		k.revision, k.cut, k.standing = k.revision+1, s.Cut, rules.Changed(k.standing, &s)
	}
	return true, nil
}

// Publications are pages of what was published; see [world.Publisher].
func (k *topics) Publications(ctx context.Context, q world.PublicationQuery) (page world.PublicationPage, err error) {
	before, err := q.Check()
	if err != nil {
		return page, err
	}
	if err := k.w.enter(ctx); err != nil {
		return page, err
	}
	defer k.w.messages.leave()
	err = rules.PublicationPage(&page, q, before, func(before int64, look, limit int) (in rules.Published, err error) {
		end := len(k.all)
		if before > 0 {
			end, _ = slices.BinarySearchFunc(k.all, before, byNumber)
		}
		for _, p := range slices.Backward(k.all[max(end-look, 0):end]) {
			in.Looked, in.Last, in.At = in.Looked+1, p.number, p.At
			if !q.Fits(p.Topic) {
				continue
			}
			if in.All = append(in.All, p.shown()); len(in.All) == limit {
				break
			}
		}
		in.End = in.Last == 0 || in.Last == k.all[0].number
		return in, nil
	})
	return page, err
}

// shown is the publication as it is told.
func (p *publication) shown() world.Publication {
	out := p.Publication
	out.Payload, out.Headers = slices.Clone(p.Payload), maps.Clone(p.Headers)
	out.Delay, out.Dedupe = 0, ""
	return out
}

// sweep deletes what was published long ago and has gone out.
func (k *topics) sweep(now time.Time) {
	k.all = slices.DeleteFunc(k.all, func(p *publication) bool {
		if !p.Spread && p.Error == "" || now.Sub(p.Due) <= world.KeepPublications {
			return false
		}
		if p.Dedupe != "" {
			delete(k.dedupes, [2]string{p.Topic, p.Dedupe})
		}
		return true
	})
}
