package world

// Limits of queued steps: each attempt of one needs the places that its task names.

import "fmt"

// CheckStep refuses, with [ErrInvalid], what no definition of a step says.
func (l *SaidLimit) CheckStep() error {
	if err := l.Check(); err != nil {
		return err
	}
	return l.fitsStep()
}

// fitsStep refuses what only runs may have: an attempt of a step has no start that is refused, and holds nothing while
// it does not run.
func (l *SaidLimit) fitsStep() error {
	what := ""
	switch {
	case l.UntilEnd:
		what = "holds its places until the end of a run: leave out limit.UntilEnd, or make the step a workflow, with Alone"
	case l.Refuse:
		what = "refuses starts, but steps cannot be refused: leave out limit.Refuse, or make the step a workflow, with Alone"
	case l.Single != "":
		what = "is a singleton, but only workflows can be: make the step one, with Alone"
	default:
		return nil
	}
	return fmt.Errorf("%w: limit %s: it is of a step, and %s", ErrInvalid, l.Name, what)
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

// TaskPlaces are the limits that the tasks of a commit name.
func TaskPlaces(c *Commit) (all []SaidLimit) {
	for i := range c.Tasks {
		all = append(all, SaidBy(c.Tasks[i].Places)...)
	}
	return all
}
