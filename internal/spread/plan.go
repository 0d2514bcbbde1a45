// Package spread brings what was published to those whom it concerns: it decides who gets what is due, has the store
// write that, and does so until nothing is due. Subscriptions are made and ended here, between two such acts.
package spread

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/stepwell/stepwell/world"
)

// plan is what becomes of what is due, as far as it is decided.
type plan struct {
	world.Spread
	due    *world.Due
	waits  *listening
	fit    map[string][]*world.Subscription // to topics, by name
	bytes  int
	left   []world.Cut // half spread, and their keys are not here
	leaves bool        // one that was to go on is left now
	unread int         // publications whose key is not here: another process spreads them
}

// decide says what becomes of what is due; all: of all of it that can be read here.
func decide(ctx context.Context, due *world.Due, waits *listening) (p *plan, all bool, err error) {
	p = &plan{due: due, waits: waits, fit: make(map[string][]*world.Subscription)}
	p.Revision = due.Revision
	if err := waits.look(ctx, len(due.Publications)); err != nil {
		return nil, false, err
	}
	if due.Cut != nil {
		p.left = slices.Clone(due.Cut.Left)
	}
	whole := true
	for i := 0; i < len(due.Publications) && whole; i++ {
		x := &due.Publications[i]
		cut := world.Cut{ID: x.ID}
		isLeft := func(c world.Cut) bool { return c.ID == x.ID }
		opens := due.Cut.Open() && due.Cut.ID == x.ID
		if opens {
			cut = *due.Cut
			cut.Left = nil
		} else if j := slices.IndexFunc(p.left, isLeft); j >= 0 {
			cut = p.left[j]
		}
		switch {
		case x.Damage != "":
			p.Aside = append(p.Aside, world.Aside{ID: x.ID, Error: x.Damage})
		case x.Encrypted != "" || !waits.readable(x.Topic):
			if p.unread++; opens {
				p.left, p.leaves = append(p.left, cut), true
			}
			continue
		default:
			if whole, err = p.one(ctx, x, cut); err != nil {
				return p, false, err
			}
		}
		if whole || p.Cut.Open() {
			p.left = slices.DeleteFunc(p.left, isLeft)
		}
	}
	p.leave()
	return p, whole && !due.More, nil
}

// leave notes which publications are left.
func (p *plan) leave() {
	if len(p.left) == 0 {
		return
	}
	if p.Cut == nil {
		p.Cut = new(world.Cut)
	}
	p.Cut.Left = p.left
}

// one gives a publication to all that have not got it yet, as far as there is room.
func (p *plan) one(ctx context.Context, x *world.Publication, cut world.Cut) (whole bool, err error) {
	begun := cut
	if !cut.Waits {
		for _, s := range p.fitting(x.Topic) {
			if s.Name <= cut.Subscription && cut.Subscription != "" || len(s.Match) > 0 && !world.Contains(x.Payload, s.Match) {
				continue
			}
			if !p.room(len(x.Payload)) {
				p.cut(cut, begun)
				return false, nil
			}
			p.Messages = append(p.Messages, x.Message(s.OwnQueue(), group(s, x)))
			cut.Subscription = s.Name
		}
		cut = world.Cut{ID: x.ID, Waits: true}
	}
	for any := p.waits.hashes(x); len(any) > 0; {
		free := world.MaxBatch - len(p.Messages) - len(p.Mail)
		found, err := p.waits.topics.Listeners(ctx, world.ListenerQuery{Any: any, After: cut.Wait, Limit: max(free, 1)})
		if err != nil {
			return false, fmt.Errorf("publication %s to %s: look for waits: %w", x.ID, x.Topic, err)
		}
		for i := range found {
			if !p.room(len(x.Payload)) {
				p.cut(cut, begun)
				return false, nil
			}
			if found[i].Hears(x) {
				p.Mail = append(p.Mail, world.ListenMail(x, found[i].Run, found[i].Wait))
			}
			cut.Wait = found[i].Place
		}
		if len(found) < max(free, 1) {
			break
		}
	}
	p.Done = append(p.Done, x.ID)
	return true, nil
}

// cut notes how far a publication is, where anybody has got it now.
func (p *plan) cut(now, begun world.Cut) {
	if now.Subscription != begun.Subscription || now.Waits != begun.Waits || now.Wait != begun.Wait {
		p.Cut = &now
	}
}

// room takes room for one more who gets it, and reports whether there was.
func (p *plan) room(bytes int) bool {
	if len(p.Messages)+len(p.Mail) == world.MaxBatch || p.bytes+bytes > world.MaxCommit {
		return false
	}
	p.bytes += bytes
	return true
}

// fitting are the subscriptions whose pattern means a topic, by name.
func (p *plan) fitting(topic string) []*world.Subscription {
	all, known := p.fit[topic]
	if !known {
		for i := range p.due.Subscriptions {
			if s := &p.due.Subscriptions[i]; s.Damage == "" && world.Fits(s.Pattern, topic) {
				all = append(all, s)
			}
		}
		slices.SortFunc(all, func(a, b *world.Subscription) int { return strings.Compare(a.Name, b.Name) })
		p.fit[topic] = all
	}
	return all
}

// group is what a subscription that asks for order has arrive in order.
func group(s *world.Subscription, x *world.Publication) string {
	if !s.Ordered {
		return ""
	}
	g := x.Topic + "/" + x.Source // no topic has a slash
	if len(g) > world.MaxName {
		sum := sha256.Sum256([]byte(g))
		g = hex.EncodeToString(sum[:])
	}
	return g
}
