package through

import (
	"context"
	"time"

	"github.com/stepwell/stepwell"
)

// trip is of one run. A method of it that only calls others is workflow code, too.
type trip struct{ ctx stepwell.Context }

func (t *trip) one(name string) error { return stepwell.Do(t.ctx, name, work) }

func (t *trip) all(m map[string]int) error {
	for name := range m { // want `trip.one in a range over a map`
		if err := t.one(name); err != nil {
			return err
		}
	}
	return nil
}

func (t *trip) endless() error {
	for { // want `each round of this loop adds to the log`
		if err := t.one("x"); err != nil {
			return err
		}
	}
}

func rounds(t *trip, n int) error {
	if n > 3 {
		panic("x") // want `a panic in workflow code`
	}
	return t.all(nil)
}

func (t *trip) names(m map[string]int) (all []string) { // near: maporder
	for name := range m {
		all = append(all, name)
	}
	return all
}

func (t *trip) asked(c context.Context) error {
	for {
		if time.Now().IsZero() {
			return c.Err()
		}
	}
}

// env embeds its Context.
type env struct {
	stepwell.Context
	user string
}

func (e env) day() (int, error) {
	if time.Now().IsZero() { // want `time.Now in workflow code`
		return 0, nil
	}
	now := e.Now()
	return now.Day(), stepwell.Do(e.Context, "x", func(context.Context) error {
		_, _ = e.NewID(), now // want `the workflow's Context e in the body of a step`
		e.Logger().Info(e.RunID())
		return nil
	})
}

// five calls deep.
func deep1(ctx stepwell.Context) error { return deep2(ctx) }
func deep2(ctx stepwell.Context) error { return deep3(ctx) }
func deep3(ctx stepwell.Context) error { return deep4(ctx) }
func deep4(ctx stepwell.Context) error { return deep5(ctx) }
func deep5(ctx stepwell.Context) error { return once(ctx) }

func deep(ctx stepwell.Context) error {
	for {
		if err := deep1(ctx); err != nil {
			continue // want `through.deep1 fails at once when the run is cancelled`
		}
		return nil
	}
}
