package world

// Limits of queued steps: each attempt of one needs the places that its task names.

import "fmt"

// CheckStep returns [ErrInvalid] if a step cannot declare the limit.
func (l *SaidLimit) CheckStep() error {
	if err := l.Check(); err != nil {
		return err
	}
	return l.fitsStep()
}

func (l *SaidLimit) fitsStep() error { return l.fits("step", "make the step a workflow, with Alone") }

// fits refuses what only runs may have: an attempt of a step, and a receive of a message, has no start that is refused,
// and holds nothing when it is over.
func (l *SaidLimit) fits(of, instead string) error {
	what := ""
	switch {
	case l.UntilEnd:
		what = "holds its places until the end of a run: leave out UntilEnd, or "
	case l.Refuse:
		what = "refuses starts, but a " + of + " has none: leave out Refuse, or "
	case l.Single != "":
		what = "is a singleton, but only workflows can be: "
	default:
		return nil
	}
	return fmt.Errorf("%w: limit %s: it is of a %s, and %s%s", ErrInvalid, l.Name, of, what, instead)
}

func (t *Task) checkPlaces() error {
	if len(t.Places) == 0 {
		return nil
	}
	if t.Worker != "" {
		return fmt.Errorf("%w: a task under limits is created in the queue, not by a worker", ErrInvalid)
	}
	if err := CheckPlaces(t.Places); err != nil {
		return err
	}
	said := SaidBy(t.Places)
	for i := range said {
		if err := said[i].fitsStep(); err != nil {
			return err
		}
	}
	return nil
}

// TaskPlaces returns the limits that the tasks of a commit name.
func TaskPlaces(c *Commit) (all []SaidLimit) {
	for i := range c.Tasks {
		all = append(all, SaidBy(c.Tasks[i].Places)...)
	}
	return all
}
