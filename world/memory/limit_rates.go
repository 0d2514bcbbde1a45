// Rates: a key of one keeps the turn of the next, and when it is to be looked at again.

package memory

import (
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// rated is what a key of a rate keeps; see [rules.Rate].
type rated struct {
	id   int64
	turn int64 // the next has it, ns
	late bool  // somebody has stood in its line since one began
	due  entry // when it is to be looked at, among those of all rates
}

// retime has the keys of a rate have the turns of another.
func (l *limits) retime(limit *world.Limit, was rules.Rate) {
	t, changed := rules.Retime(was, rules.LimitRate(limit), l.w.now().UnixNano())
	if !changed {
		return
	}
	for _, k := range l.keys {
		if k.limit == limit && k.rated != nil {
			k.rated.turn = t.Turn(k.rated.turn)
		}
	}
}

// standing reports whether somebody stands in the line of a key.
func (k *limitKey) standing() bool {
	for p := range k.line {
		if len(k.line[p].items) > 0 {
			return true
		}
	}
	return false
}

// rateRoom is how many a key of a rate lets in now.
func (l *limits) rateRoom(k *limitKey) int {
	if !l.open {
		return 0
	}
	rate := rules.LimitRate(k.limit)
	return rate.Free(k.rated.turn, l.w.now().UnixNano(), k.rated.late, k.used)
}

// pay has so many runs pay now.
func (l *limits) pay(k *limitKey, n int) {
	rate := rules.LimitRate(k.limit)
	k.rated.turn, k.rated.late = rate.Pay(k.rated.turn, l.w.now().UnixNano(), k.rated.late, n), true
}

// Again notes when a key is to be looked at: where somebody stands in line, when the next has its turn; else when it
// may be forgotten.
func (l *limits) Again(key int64) error {
	k := l.keys[key]
	if k == nil || k.rated == nil {
		return nil
	}
	rate, was := rules.LimitRate(k.limit), k.rated.due.due
	standing := k.standing()
	k.rated.late = k.rated.late && standing
	at := rate.Again(k.rated.turn, l.w.now().UnixNano(), standing, k.rated.late, k.used)
	if at == 0 {
		k.rated.due.move(nil, 0)
		l.drop(key)
		return nil
	}
	if k.rated.due.move(&l.due, at); standing && !l.open && at != was {
		l.news.add(world.NoticeWork, "")
	}
	return nil
}

// drop forgets a key that no run needs, and that has nothing to remember.
func (l *limits) drop(key int64) {
	if k := l.keys[key]; k != nil && k.live == 0 && (k.rated == nil || k.rated.due.partition == nil) {
		delete(l.keys, key)
	}
}

// wake looks at the keys of rates that are due. Until shut they let in who has his turn.
func (l *limits) wake(n *notices) {
	l.open = true
	now := l.w.now().UnixMicro()
	for e := l.due.head(); e != nil && e.due <= now; e = l.due.head() {
		e.move(nil, 0)
		l.news = n
		_ = rules.Admit[*entry](l, e.order)
	}
}

func (l *limits) shut() { l.open = false }

// next is when the first of them is due; zero: none is.
func (l *limits) next() time.Time {
	if e := l.due.head(); e != nil {
		return time.UnixMicro(e.due).UTC()
	}
	return time.Time{}
}

// claimed has a run that is claimed pay.
func (l *limits) claimed(r *run, n *notices) {
	if r.placed == nil {
		return
	}
	l.news = n
	paid, _ := rules.Claimed[*entry](l, &r.entry)
	r.placed.places = r.placed.places[:len(r.placed.Keys)]
	l.leave(paid)
}

// leave notes that a run needs keys no more.
func (l *limits) leave(keys []int64) {
	for _, id := range keys {
		if k := l.keys[id]; k != nil {
			k.live--
			l.drop(id)
		}
	}
}

// turnOf is when a key lets in who has so many before him.
func (l *limits) turnOf(k *limitKey, before int) time.Time {
	if k.rated == nil {
		return time.Time{}
	}
	rate := rules.LimitRate(k.limit)
	return rate.At(k.rated.turn, l.w.now(), before+k.used)
}

// refused refuses a birth that a rate does not let in.
func (l *limits) refused(b *world.Birth) error {
	for i := range b.Places {
		p := &b.Places[i]
		if !p.Refuse {
			continue
		}
		rate, turn, now := rules.RateOf(p), int64(0), l.w.now()
		if limit := l.named[p.Limit]; limit != nil { // its number may be another, also for a key that nobody needs
			rate = rules.LimitRate(limit)
		}
		if k := l.keys[p.ID()]; k != nil && k.rated != nil {
			turn = k.rated.turn
		}
		if rate.Room(turn, now.UnixNano(), false) <= 0 {
			return world.Refused(p, rate.Number, rate.At(turn, now, 0), now)
		}
	}
	return nil
}
