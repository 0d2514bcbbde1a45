package rules

// Limits: who holds a place, and who stands in line. Stores keep the rows; when which of them changes is here.

// Placed is what a run under limits needs, and what it has of it.
type Placed struct {
	Keys   []int64 // of its places, in the order in which it takes them
	Keeps  int     // how many of the first it holds until its end, once it has begun
	Has    int     // how many of the first it holds
	Parked bool    // it stands in the line of the next one
	Rates  int     // how many of the last are of rates: it needs them until it is claimed, and has paid them then
}

// rated reports whether the next place that it takes is of a rate.
func (p *Placed) rated() bool { return p.Has >= len(p.Keys)-p.Rates }

// Whole reports whether a run holds all places that it needs.
func (p *Placed) Whole() bool { return p.Has == len(p.Keys) }

// Lines is what a store keeps of limits. R is a run of it.
type Lines[R any] interface {
	// Placed is what a run has: the same of one run throughout.
	Placed(r R) *Placed
	// Begun reports whether a run has begun.
	Begun(r R) bool
	// Room is how many places of a key are free; below 0 where its number was lowered.
	Room(key int64) (int, error)
	// Hold changes how many places of a key are held.
	Hold(key int64, by int) error
	// Pay has one begin whom a rate has let in, or who gives up that it has. It comes before he gives back his place.
	Pay(key int64) error
	// Again has a key of a rate looked at when its line is let on. It comes after each change of it.
	Again(key int64) error
	// Join puts a run into the line of a key: where it was created, or as the last that came.
	Join(key int64, r R, last bool) error
	// Leave takes it out.
	Leave(key int64, r R) error
	// First is who is first in the line of a key; false: nobody.
	First(key int64) (r R, some bool, err error)
	// Moved writes what a run has now that got a place in a line: it is ready, or in the line of the next one.
	Moved(r R) error
}

// RunsCode reports whether who claims a run that is due evaluates its code. It does not where it is to be
// cancelled and has not begun, or cannot go on, or where he does not know it.
func RunsCode(cancel, begun, blocked, known bool) bool {
	return known && (!cancel || begun && !blocked)
}

// Seek has a run that is due take its places. False: it stands in line.
func Seek[R any](l Lines[R], r R) (whole bool, err error) {
	p := l.Placed(r)
	for !p.Parked && !p.Whole() {
		key, rated := p.Keys[p.Has], p.rated()
		if rated { // time has made room, perhaps: it is of those who stand in line first
			if err := Admit(l, key); err != nil {
				return false, err
			}
		}
		room, err := l.Room(key)
		if err != nil {
			return false, err
		}
		if room > 0 {
			p.Has++
			if err := l.Hold(key, 1); err != nil {
				return false, err
			}
			if rated {
				err = l.Again(key)
			}
			if err != nil {
				return false, err
			}
			continue
		}
		p.Parked = true
		// In its first line it stands where it was created, also after each wake; in a later one as who came last:
		// else who comes from a long line would stand before all others.
		first := p.Has == 0 || p.Has == p.Keeps && l.Begun(r)
		if err := l.Join(key, r, !first); err != nil || !rated {
			return false, err
		}
		return false, l.Again(key)
	}
	return p.Whole(), nil
}

// Rest has a run that is not to be claimed now leave its line, and give back what it does not hold until its end;
// where it is over, all.
func Rest[R any](l Lines[R], r R, over bool) error {
	p := l.Placed(r)
	keep := 0
	if !over && l.Begun(r) {
		keep = p.Keeps
	}
	if p.Parked {
		p.Parked = false
		if err := l.Leave(p.Keys[p.Has], r); err != nil {
			return err
		}
	}
	return free(l, p, keep)
}

// free gives back all places but the first ones.
func free[R any](l Lines[R], p *Placed, keep int) error {
	var freed []int64
	for p.Has > keep {
		p.Has--
		freed = append(freed, p.Keys[p.Has])
		if p.rated() {
			if err := l.Pay(p.Keys[p.Has]); err != nil {
				return err
			}
		}
		if err := l.Hold(p.Keys[p.Has], -1); err != nil {
			return err
		}
	}
	for _, key := range freed {
		if err := Admit(l, key); err != nil {
			return err
		}
	}
	return nil
}

// Claimed has a run that is claimed, and has all its places, need no more of rates: it has paid. It returns the keys
// that it needs no more.
func Claimed[R any](l Lines[R], r R) (paid []int64, err error) {
	p := l.Placed(r)
	if p.Rates == 0 || !p.Whole() {
		return nil, nil
	}
	n := len(p.Keys) - p.Rates
	paid = p.Keys[n:]
	err = free(l, p, n)
	p.Keys, p.Rates = p.Keys[:n], 0
	return paid, err
}

// Paid has a task that is claimed, and has all its places, pay the rates among them. Its next attempt needs them again.
func Paid[R any](l Lines[R], r R) error {
	p := l.Placed(r)
	if p.Rates == 0 || !p.Whole() {
		return nil
	}
	return free(l, p, len(p.Keys)-p.Rates)
}

// Admit gives free places of a key to those who are first in its line. Who needs another one goes on to that.
func Admit[R any](l Lines[R], key int64) error {
	if err := admit(l, key); err != nil {
		return err
	}
	return l.Again(key)
}

func admit[R any](l Lines[R], key int64) error {
	for {
		room, err := l.Room(key)
		if err != nil || room <= 0 {
			return err
		}
		r, some, err := l.First(key)
		if err != nil || !some {
			return err
		}
		if err := l.Leave(key, r); err != nil {
			return err
		}
		p := l.Placed(r)
		p.Parked = false
		p.Has++
		if err := l.Hold(key, 1); err != nil {
			return err
		}
		if _, err := Seek(l, r); err != nil {
			return err
		}
		if err := l.Moved(r); err != nil {
			return err
		}
	}
}
