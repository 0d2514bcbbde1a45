package spread

// This file finds the waits of runs that what is published is for.

import (
	"context"

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

// Bounds of a look back: how many waits look at once, and how many publications each gets: it takes the first that fits
// its match altogether.
const (
	backAtOnce = 20
	mostBack   = 100
)

// back is a wait that looks back.
type back struct {
	world.Listener
	of     *world.Shape
	found  []world.Publication // the oldest last
	unsure bool                // something cannot be read here
}

// lookBack has waits that look back get what was published before, and reports whether any did, or may have to again.
func (s *Spreader) lookBack(ctx context.Context, due *world.Due, try int) (bool, error) {
	after := ""
	for {
		page, err := s.Topics.Listeners(ctx, world.ListenerQuery{Back: true, After: after, Limit: backAtOnce})
		if err != nil || len(page) == 0 {
			return false, err
		}
		after = page[len(page)-1].Place
		waits, err := s.backs(ctx, page)
		if err != nil {
			return false, err
		}
		if len(waits) == 0 {
			continue
		}
		// What is due by now, and not when all was looked at: somebody else may have found it due, and nobody who waits for
		// it, before these waits began.
		now, err := s.Topics.Due(ctx, 1)
		if err != nil {
			return false, err
		}
		if err := s.fill(ctx, &now, waits); err != nil {
			return false, err
		}
		p := plan{Spread: world.Spread{Revision: due.Revision}}
		for _, b := range waits {
			if !b.unsure {
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
func (s *Spreader) backs(ctx context.Context, page []world.Listener) (waits []*back, err error) {
	shapes, err := s.Topics.Shapes(ctx)
	if err != nil {
		return nil, err
	}
	by := make(map[string]*world.Shape, len(shapes))
	for i := range shapes {
		by[shapes[i].String()] = &shapes[i]
	}
	for _, l := range page {
		if of := by[l.Shape]; of != nil && of.Sum != nil {
			waits = append(waits, &back{Listener: l, of: of})
		}
	}
	return waits, nil
}

// fill finds what was published since for each wait, the oldest that fit.
func (s *Spreader) fill(ctx context.Context, due *world.Due, waits []*back) error {
	from := waits[0].From
	for _, b := range waits {
		if b.From.Before(from) {
			from = b.From
		}
	}
	for q := (world.PublicationQuery{Limit: 1_000}); ; {
		page, err := s.Topics.Publications(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Publications {
			p := &page.Publications[i]
			if p.At.Before(from) {
				return nil
			}
			if p.Due.After(due.Now) || p.Damage != "" || p.Error != "" {
				continue
			}
			for _, b := range waits {
				b.meet(p)
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return nil
		}
	}
}

// meet notes a publication that a wait may be for. They come the newest first.
func (b *back) meet(p *world.Publication) {
	if p.At.Before(b.From) || !world.Fits(b.of.Pattern, p.Topic) {
		return
	}
	if p.Encrypted != "" {
		b.unsure = true
		return
	}
	if hash, ok := b.of.Hash(p.Payload); ok && hash == b.Hash {
		if b.found = append(b.found, *p); len(b.found) > mostBack {
			b.found = b.found[1:]
		}
	}
}
