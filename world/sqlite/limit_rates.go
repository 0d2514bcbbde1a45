package sqlite

// Rates: a key of one keeps the turn of the next, and when it is to be looked at again; see package rules.

import (
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// mostDueKeys is how many keys of rates one claim looks at.
const mostDueKeys = 1000

// keyState is how a key stands.
type keyState struct {
	rules.Rate
	used int
	turn int64
	late bool
	due  int64
}

// room is how many places of it are free.
func (k *keyState) room(now int64) int {
	if k.Per <= 0 {
		return k.Number - k.used
	}
	return k.Free(k.turn, now, k.late, k.used)
}

// stands reads how a key stands.
func (l *limits) stands(key int64) (k keyState, found bool, err error) {
	found, err = l.tx.one(keyRoom, func(r row) error {
		k.Number, k.used, k.Per, k.Burst = int(r.int(0)), int(r.int(1)), time.Duration(r.int(2)), int(r.int(3))
		k.turn, k.late, k.due = r.int(4), r.bool(5), r.int(6)
		return nil
	}, key)
	l.rated = k.Per > 0
	return k, found, err
}

// rateOf is the rate of a limit as it stands; the zero value: it is not there.
func (l *limits) rateOf(name string) (rate rules.Rate, err error) {
	_, err = l.tx.one(limitScope, func(r row) error {
		rate = rules.Rate{Number: int(r.int(3)), Per: time.Duration(r.int(1)), Burst: int(r.int(4))}
		return nil
	}, name)
	return rate, err
}

// renew follows a change of a limit, which had a rate: its keys have the turns of the new one, and who is first in each
// line is let in.
func (l *limits) renew(name string, was rules.Rate) error {
	is, err := l.rateOf(name)
	if err != nil {
		return err
	}
	if t, changed := rules.Retime(was, is, l.tx.now().UnixNano()); changed {
		if err := l.tx.exec(retimeKeys, name, t.Was, t.Is, t.Most, t.Share); err != nil {
			return err
		}
	}
	return l.admit(name)
}

// pay has so many runs pay now.
func (l *limits) pay(key int64, n int) error {
	k, found, err := l.stands(key)
	if err != nil || !found {
		return err
	}
	return l.tx.exec(payKey, key, k.Pay(k.turn, l.tx.now().UnixNano(), k.late, n))
}

// payAtStart has a run pay that a rate would have refused.
func (l *limits) payAtStart(key int64) error {
	if err := l.pay(key, 1); err != nil {
		return err
	}
	if err := l.Again(key); err != nil {
		return err
	}
	return l.leave([]int64{key})
}

// Again notes when a key is to be looked at: where somebody stands in line, when the next has its turn; else when it
// may be forgotten. It follows [limits.Room] of the key.
func (l *limits) Again(key int64) error {
	if !l.rated {
		return nil
	}
	k, found, err := l.stands(key)
	if err != nil || !found || !l.rated {
		return err
	}
	standing, err := l.tx.one(hasLine, func(row) error { return nil }, key)
	if err != nil {
		return err
	}
	k.late = k.late && standing
	at := k.Rate.Again(k.turn, l.tx.now().UnixNano(), standing, k.late, k.used)
	if at == 0 {
		if err := l.tx.exec(againKey, key, bit(k.late), nil); err != nil {
			return err
		}
		return l.tx.exec(dropKey, key)
	}
	if standing && !l.open && at != k.due {
		l.tx.notice(world.NoticeWork, "")
	}
	return l.tx.exec(againKey, key, bit(k.late), at)
}

// wake looks at the keys of rates that are due.
// Until shut they let in who has his turn.
func (l *limits) wake() error {
	l.open = true
	if used, err := l.used(); err != nil || !used {
		return err
	}
	var keys []int64
	if err := l.tx.query(dueKeys, func(r row) (bool, error) { keys = append(keys, r.int(0)); return true, nil }, l.tx.now().UnixMicro(), int64(mostDueKeys)); err != nil {
		return err
	}
	for _, key := range keys {
		if err := rules.Admit[liner](l, key); err != nil {
			return err
		}
	}
	return nil
}

func (l *limits) shut() { l.open = false }

// claimed has a run that is to be claimed, and has all its places, pay.
func (l *limits) claimed(r *run) error {
	if r.placed.Rates == 0 {
		return nil
	}
	paid, err := rules.Claimed[liner](l, r)
	if err != nil {
		return err
	}
	if err := l.tx.exec(writePaid, r.key, r.placed.keys(), int64(r.placed.Has)); err != nil {
		return err
	}
	return l.leave(paid)
}

// refused refuses a birth that a rate does not let in.
func (l *limits) refused(b *world.Birth) error {
	for i := range b.Places {
		p := &b.Places[i]
		if !p.Refuse {
			continue
		}
		k, found, err := l.stands(p.ID())
		if err != nil {
			return err
		}
		if !found { // nobody needs the key: the number counts alone
			k.Rate = rules.RateOf(p)
			if _, err := l.tx.one(limitScope, func(r row) error { k.Number = int(r.int(3)); return nil }, p.Limit); err != nil {
				return err
			}
		}
		if now := l.tx.now(); k.Room(k.turn, now.UnixNano(), false) <= 0 {
			return world.Refused(p, k.Number, k.At(k.turn, now, 0), now)
		}
	}
	return nil
}
