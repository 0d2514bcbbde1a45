// Package values has types that are recorded, and definitions.
package values

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stepwell/stepwell"
)

type hidden struct {
	ID    string
	cents int
}

type deep struct{ Of []map[string]*hidden }

type whole struct {
	ID   string    `json:"id"`
	When time.Time `json:"when"`
	Any  map[string]any
	Next *whole
	mu   sync.Mutex
}

type left struct {
	ID    string
	cache map[string]int `json:"-"`
}

type named struct{ v int }

func (n named) MarshalText() ([]byte, error) { return []byte(fmt.Sprint(n.v)), nil }

func (n *named) UnmarshalText([]byte) error { return nil }

var (
	Wrong   = stepwell.Event[hidden]("changed")      // want `Event of hidden: it has the field cents, which is not exported`
	Deeper  = stepwell.Event[deep]("changed")        // want `Event of deep: Of\[\]\[\] has the field cents`
	Channel = stepwell.Event[chan int]("changed")    // want `Event of chan int: it is a channel`
	Inter   = stepwell.Event[fmt.Stringer]("change") // want `Event of fmt.Stringer: it is an interface`
	Right   = stepwell.Event[whole]("changed")
	Left    = stepwell.Event[left]("changed")
	Named   = stepwell.Event[map[named]named]("changed")
)

var flow = stepwell.Define("flow", func(ctx stepwell.Context, in hidden) (int, error) { // want `Define of hidden` `the workflow flow is used, and is in no list of definitions`
	f := stepwell.Go(ctx, func(ctx stepwell.Context) (chan int, error) { return nil, nil })
	_, err := f.Get(ctx)
	return 0, err
})

var known = stepwell.Define("known", func(ctx stepwell.Context, n int) (int, error) {
	_, err := step.Run(ctx, n)
	if errors.Is(err, errStock) { // want `errors.Is finds errStock in the error of RegisteredStep.Run only where it is registered`
		return 0, nil
	}
	if errors.Is(err, errSold) {
		return 0, nil
	}
	return 0, err
})

var step = stepwell.DefineStep("step", func(ctx context.Context, n int) (int, error) { return n, nil }) // want `the step step is used, and is in no list`

var (
	errStock = errors.New("out of stock")
	errSold  = errors.New("sold")
)

func config(app *stepwell.App, ctx context.Context) stepwell.Config {
	_, _ = flow.Start(ctx, app, hidden{})
	errs := new(stepwell.Errors)
	errs.Sentinel("sold", errSold)
	return stepwell.Config{Definitions: []stepwell.Definition{known}, Errors: errs}
}
