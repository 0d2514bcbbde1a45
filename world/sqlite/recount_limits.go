package sqlite

// What damage leaves of limits that can be made right: counts of places, and runs that have lost their place in line.

import "fmt"

var (
	wrongKeys  = load("wrong_keys")
	setKey     = load("set_key")
	lostInLine = load("lost_in_line")
)

// wrongKey is a key that is not counted as the queue says.
type wrongKey struct {
	key        int64
	name, text string
	used       int64 // as it is counted
	is, live   int64
}

func (k *wrongKey) String() string {
	of := "limit " + k.name
	if k.text != "" {
		of += fmt.Sprintf(", key %q", k.text)
	}
	if k.used == k.is {
		return of + ": the runs and tasks that need it are counted wrong"
	}
	return fmt.Sprintf("%s: %d places are held, counted as %d", of, k.is, k.used)
}

// lostPlace is where a run should stand in line.
type lostPlace struct{ key, urgency, at, run int64 }

// wrongLimits finds what is wrong of limits.
func wrongLimits(query func(*statement, func(row) (bool, error), ...any) error) (keys []wrongKey, lost []lostPlace, err error) {
	if err := query(wrongKeys, func(r row) (bool, error) {
		keys = append(keys, wrongKey{key: r.int(0), name: r.text(1), text: r.text(2), used: r.int(3), is: r.int(4), live: r.int(5)})
		return true, nil
	}); err != nil {
		return nil, nil, err
	}
	err = query(lostInLine, func(r row) (bool, error) {
		lost = append(lost, lostPlace{r.int(0), r.int(1), r.int(2), r.int(3)})
		return true, nil
	})
	return keys, lost, err
}

// recount counts anew what keys hold, has runs that lost their place in line stand there again, and admits whom that
// lets in. It tells how many were wrong.
func (l *limits) recount() (wrong int, err error) {
	keys, lost, err := wrongLimits(l.tx.query)
	if err != nil || len(keys)+len(lost) == 0 {
		return 0, err
	}
	for i := range keys {
		k := &keys[i]
		if err := l.tx.exec(setKey, k.key, k.is, k.live); err != nil {
			return 0, err
		}
		if err := l.tx.exec(dropKey, k.key); err != nil {
			return 0, err
		}
	}
	for _, p := range lost {
		if err := l.tx.exec(joinLine, p.key, p.urgency, p.at, p.run); err != nil {
			return 0, err
		}
	}
	var names []string
	if err := l.tx.query(listLimits, func(r row) (bool, error) { names = append(names, r.text(0)); return true, nil }); err != nil {
		return 0, err
	}
	for _, name := range names {
		if err := l.admit(name); err != nil {
			return 0, err
		}
	}
	return len(keys) + len(lost), nil
}

// namesWrong says what is wrong of limits.
func namesWrong(c *conn) (wrong []string, err error) {
	keys, lost, err := wrongLimits(c.query)
	for i := range keys {
		wrong = append(wrong, keys[i].String())
	}
	if len(lost) > 0 {
		wrong = append(wrong, fmt.Sprintf("%d runs or tasks wait for a place of a limit and stand in no line", len(lost)))
	}
	return wrong, err
}
