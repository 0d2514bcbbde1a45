package spread

// This file finds the waits of runs that what is published is for.

import (
	"context"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

// listening is what is known of the waits that listen: their shapes.
type listening struct {
	topics world.Publisher
	shapes []world.Shape
}

// look reads the shapes, behind what is due: a wait that was there before a publication is seen.
func (l *listening) look(ctx context.Context, due int) (err error) {
	if due > 0 {
		l.shapes, err = l.topics.Shapes(ctx)
	}
	return err
}

// readable reports whether the keys of all that may wait for a topic are here.
func (l *listening) readable(topic string) bool {
	for i := range l.shapes {
		if s := &l.shapes[i]; s.Sum == nil && world.Fits(s.Pattern, topic) {
			return false
		}
	}
	return true
}

// hashes are those under which the waits are found that a publication is for.
func (l *listening) hashes(p *world.Publication) (all []world.Hashed) {
	for i := range l.shapes {
		s := &l.shapes[i]
		if !world.Fits(s.Pattern, p.Topic) {
			continue
		}
		if hash, ok := s.Hash(p.Payload); ok {
			all = append(all, world.Hashed{Shape: s.String(), Hash: hash})
		}
	}
	return all
}

// mostBack is how many publications a wait that looks back gets, the oldest: it takes the first. Others are for those
// whose match is not known.
const mostBack = 100

// back is a wait that looks back.
type back struct {
	world.Listener
	of    *world.Shape
	found []world.Publication // the oldest last
	bytes int                 // of those
	later bool                // something cannot be read here, or there is no room for it now
}

// backs are waits that look back together: what was published is read once for all of them. They are found by shape and
// hash, as those that look on are in the store.
type backs struct {
	all   []*back // in the order of their places
	by    map[*world.Shape]map[int64][]*back
	dark  map[*world.Shape]time.Time // when the newest was published that may be for them and cannot be read here
	count int                        // of what is held for all
	bytes int
}

// lookBack has waits that look back get what was published before, and reports whether any did, or may have to again.
func (s *Spreader) lookBack(ctx context.Context, due *world.Due, try int) (bool, error) {
	after := ""
	for {
		page, err := s.Topics.Listeners(ctx, world.ListenerQuery{Back: true, After: after, Limit: world.MaxBatch})
		if err != nil || len(page) == 0 {
			return false, err
		}
		after = page[len(page)-1].Place
		waits, err := s.backs(ctx, page)
		if err != nil {
			return false, err
		}
		if len(waits.all) == 0 {
			continue
		}
		// What is due by now, and not when all was looked at: somebody else may have found it due, and nobody who waits for
		// it, before these waits began.
		now, err := s.Topics.Due(ctx, world.DueQuery{Limit: 1})
		if err != nil {
			return false, err
		}
		if err := s.fill(ctx, &now, waits); err != nil {
			return false, err
		}
		p := plan{Spread: world.Spread{Revision: due.Revision, Cut: due.Cut.Others()}}
		for _, b := range waits.all {
			if !b.later {
				p.back(b)
			}
		}
		if len(p.Looked) == 0 {
			continue
		}
		done, err := s.Topics.Spread(ctx, p.Spread)
		if err == nil && !done { // somebody else spreads
			err = pause(ctx, try)
		}
		return err == nil, err
	}
}

// back gives a wait what it looked for, the oldest first, where there is room: else the next time. The first one gets
// as much as there is room for.
func (p *plan) back(b *back) {
	mails := len(p.Mail)
	for i := len(b.found) - 1; i >= 0; i-- {
		if p.room(len(b.found[i].Payload)) {
			p.Mail = append(p.Mail, world.ListenMail(&b.found[i], b.Run, b.Wait))
		} else if len(p.Looked) > 0 {
			p.Mail = p.Mail[:mails]
			return
		}
	}
	p.Looked = append(p.Looked, b.Place)
}

// backs are those of the waits whose key is here.
func (s *Spreader) backs(ctx context.Context, page []world.Listener) (*backs, error) {
	shapes, err := s.Topics.Shapes(ctx)
	if err != nil {
		return nil, err
	}
	named := make(map[string]*world.Shape, len(shapes))
	for i := range shapes {
		named[shapes[i].String()] = &shapes[i]
	}
	waits := &backs{by: make(map[*world.Shape]map[int64][]*back), dark: make(map[*world.Shape]time.Time)}
	for _, l := range page {
		of := named[l.Shape]
		if of == nil || of.Sum == nil {
			continue
		}
		if waits.by[of] == nil {
			waits.by[of] = make(map[int64][]*back)
		}
		b := &back{Listener: l, of: of}
		waits.all = append(waits.all, b)
		waits.by[of][l.Hash] = append(waits.by[of][l.Hash], b)
	}
	return waits, nil
}

// fill finds what was published since for each wait, the oldest that fit.
func (s *Spreader) fill(ctx context.Context, due *world.Due, waits *backs) error {
	from := waits.all[0].From
	for _, b := range waits.all {
		if b.From.Before(from) {
			from = b.From
		}
	}
	for q := (world.PublicationQuery{Any: waits.patterns(), Since: from, Limit: 1_000}); len(q.Any) > 0; {
		page, err := s.Topics.Publications(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Publications {
			p := &page.Publications[i]
			if p.At.Before(from) {
				waits.end()
				return nil
			}
			if !p.Due.After(due.Now) && p.Damage == "" && p.Error == "" {
				waits.meet(p)
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			break
		}
	}
	waits.end()
	return nil
}

// patterns are those of the waits.
func (w *backs) patterns() (all []string) {
	for of := range w.by {
		all = append(all, of.Pattern)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// meet notes a publication for the waits that it may be for. They come the newest first.
func (w *backs) meet(p *world.Publication) {
	for of, by := range w.by {
		if !world.Fits(of.Pattern, p.Topic) {
			continue
		}
		if p.Encrypted != "" {
			if w.dark[of].IsZero() {
				w.dark[of] = p.At
			}
			continue
		}
		hash, ok := of.Hash(p.Payload)
		if !ok {
			continue
		}
		for _, b := range by[hash] {
			if !b.later && !p.At.Before(b.From) && (len(b.Match) == 0 || world.Contains(p.Payload, b.Match)) {
				w.add(b, p)
			}
		}
	}
	// More than goes out at once is not held: those waits look back the next time.
	for i := len(w.all) - 1; i > 0 && (w.count > 2*world.MaxBatch || w.bytes > 2*world.MaxCommit); i-- {
		if len(w.all[i].found) > 0 {
			w.leave(w.all[i])
		}
	}
}

func (w *backs) add(b *back, p *world.Publication) {
	b.found = append(b.found, *p)
	b.bytes, w.bytes, w.count = b.bytes+len(p.Payload), w.bytes+len(p.Payload), w.count+1
	if len(b.found) > mostBack {
		n := len(b.found[0].Payload)
		b.found = slices.Delete(b.found, 0, 1)
		b.bytes, w.bytes, w.count = b.bytes-n, w.bytes-n, w.count-1
	}
}

func (w *backs) leave(b *back) {
	w.bytes, w.count = w.bytes-b.bytes, w.count-len(b.found)
	b.found, b.bytes, b.later = nil, 0, true
}

// end leaves the waits for which there may be something that cannot be read here.
func (w *backs) end() {
	for _, b := range w.all {
		if dark := w.dark[b.of]; !dark.IsZero() && !dark.Before(b.From) {
			w.leave(b)
		}
	}
}
