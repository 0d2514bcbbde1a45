package rules

// Limits: who holds a place, and who stands in line. Stores keep the rows; when which of them changes is here.

// Placed is what a run under limits needs, and what it holds.
type Placed struct {
	Keys   []int64 // keys of its places, in the order in which it takes them
	Keeps  int     // it holds this many of the first until its end, once it has begun
	Has    int     // it holds this many of the first
	Parked bool    // it waits in the line of the next one
	// Rates is how many of the last are rates: it needs them until it is claimed, which pays them.
	Rates int
}

// rated reports whether the next place that it takes is of a rate.
func (p *Placed) rated() bool { return p.Has >= len(p.Keys)-p.Rates }

// Whole reports whether a run holds all places that it needs.
func (p *Placed) Whole() bool { return p.Has == len(p.Keys) }

// Lines is a store's data of limits. R is a run.
type Lines[R any] interface {
	// Placed returns the places of a run, always the same pointer.
	Placed(r R) *Placed
	// Begun reports whether a run has begun.
	Begun(r R) bool
	// Room returns how many places of a key are free; below 0 if its number was lowered.
	Room(key int64) (int, error)
	// Hold changes the number of held places of a key.
	Hold(key int64, by int) error
	// Pay counts a begin toward a rate, for a run that gives up its place of it. It precedes that.
	Pay(key int64) error
	// Again schedules the next look at a key of a rate. It follows each change of the key.
	Again(key int64) error
	// Join puts a run into the line of a key: by its creation, or as the last.
	Join(key int64, r R, last bool) error
	// Leave removes a run from the line of a key.
	Leave(key int64, r R) error
	// First returns the first run in the line of a key; some is false if it is empty.
	First(key int64) (r R, some bool, err error)
	// Moved writes the new state of a run that left a line: ready, or in the line of its next
	// place.
	Moved(r R) error
}

// RunsCode reports whether the claim of a due run evaluates its code. It does not if the run is to
// be cancelled and has not begun, is blocked, or is unknown to the worker.
func RunsCode(cancel, begun, blocked, known bool) bool {
	return known && (!cancel || begun && !blocked)
}

// Seek makes a due run take its places. whole is false if it waits in a line.
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

// Rest makes a run leave its line and give back the places that it does not hold until its end; if
// it is over, all.
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

// Claimed marks the rates of a claimed run as paid, and returns their keys.
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

// Paid pays the rates of a claimed task. Its next attempt needs them again.
func Paid[R any](l Lines[R], r R) error {
	p := l.Placed(r)
	if p.Rates == 0 || !p.Whole() {
		return nil
	}
	return free(l, p, len(p.Keys)-p.Rates)
}

// Admit gives free places of a key to the first runs in its line. A run that needs another place
// continues to that line.
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
