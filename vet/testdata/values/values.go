// Package values has types that are recorded, and definitions.
package values

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"sync"
	"sync/atomic"
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

// A type that says itself how it is written, or read, is taken at its word, as far as the one can do without the other.
type written struct{ v int }

func (w written) MarshalJSON() ([]byte, error) { return []byte(fmt.Sprint(w.v)), nil }

type reads struct{ v int }

func (r *reads) UnmarshalJSON([]byte) error { return nil }

type readsText struct{ v int }

func (r *readsText) UnmarshalText([]byte) error { return nil }

type writesText struct{ A, B int }

func (w writesText) MarshalText() ([]byte, error) { return nil, nil }

type byPointer struct{ v int }

func (b *byPointer) MarshalJSON() ([]byte, error) { return nil, nil }

func (b *byPointer) UnmarshalJSON([]byte) error { return nil }

type amount struct{ N big.Int }

type readsWith struct {
	reads
	Cents int
}

// fillsCache makes of what was written what was not.
type fillsCache struct {
	ID    string
	cache map[string]int
}

func (f *fillsCache) UnmarshalJSON([]byte) error { return nil }

// priced is written otherwise, and read as it is.
type priced struct{ Cents int }

func (p priced) MarshalJSON() ([]byte, error) { return nil, nil }

type colour string

func (c *colour) UnmarshalText([]byte) error { return nil }

// Its time speaks for all of it.
type dated struct {
	time.Time
	Cents int
}

// Here the field has a name, here it is all, and here the whole has methods of its own.
type timed struct {
	At    time.Time
	Cents int
}

type day struct{ time.Time }

type own struct {
	time.Time
	Cents int
}

func (o own) MarshalJSON() ([]byte, error) { return nil, nil }

type twice struct {
	A string `json:"id"`
	B string `json:"id"`
}

type inner struct{ ID string }

type embeds struct {
	*inner
	Cents int
}

type embedsIt struct {
	inner
	Cents int
}

type kind string

type embedsText struct {
	kind
	Cents int
}

type counts struct {
	ID string
	n  atomic.Int64
}

type waits struct {
	Of map[string]time.Duration
	By map[time.Duration]string
}

var (
	Wrong   = stepwell.Event[hidden]("changed")      // want `Event of hidden: it has the field cents, which is not exported`
	Deeper  = stepwell.Event[deep]("changed")        // want `Event of deep: Of\[\]\[\] has the field cents`
	Channel = stepwell.Event[chan int]("changed")    // want `Event of chan int: it is a channel`
	Inter   = stepwell.Event[fmt.Stringer]("change") // want `Event of fmt.Stringer: it is an interface`
	Right   = stepwell.Event[whole]("changed")
	Left    = stepwell.Event[left]("changed") // near: roundtrip
	Named   = stepwell.Event[map[named]named]("changed")
	Written = stepwell.Event[written]("changed")    // want `Event of written: it has MarshalJSON, and nothing that reads it back: the field v is a zero`
	Reads   = stepwell.Event[[]reads]("changed")    // want `Event of \[\]reads: \[\] has UnmarshalJSON, and nothing that writes it: the field v, which is not exported, is not recorded`
	Reads2  = stepwell.Event[*readsText]("changed") // want `Event of \*readsText: it has UnmarshalText, and is not written as a text`
	Texts   = stepwell.Event[writesText]("changed") // want `Event of writesText: it has MarshalText, and nothing that reads the text back`
	ByPtr   = stepwell.Event[byPointer]("changed")  // want `Event of byPointer: it has MarshalJSON for a pointer alone`
	Big     = stepwell.Event[amount]("changed")     // want `Event of amount: N has MarshalJSON for a pointer alone, and is recorded as a value`
	Half    = stepwell.Event[readsWith]("changed")  // want `Event of readsWith: it takes its JSON from reads, which it embeds`
	Fills   = stepwell.Event[fillsCache]("changed")
	Prices  = stepwell.Event[priced]("changed")
	Colours = stepwell.Event[colour]("changed")
	ByPtr2  = stepwell.Event[*byPointer]("changed")
	ByPtr3  = stepwell.Event[[]byPointer]("changed")
	Big2    = stepwell.Event[*amount]("changed")
	Dated   = stepwell.Event[dated]("changed") // want `Event of dated: it takes its JSON from Time, which it embeds, and nothing else of it is recorded`
	Timed   = stepwell.Event[timed]("changed")
	Day     = stepwell.Event[day]("changed")
	Own     = stepwell.Event[own]("changed")
	Twice   = stepwell.Event[twice]("changed")  // want `Event of twice: it has the name "id" in JSON for both A and B`
	Embeds  = stepwell.Event[embeds]("changed") // want `Event of embeds: it embeds a pointer to inner, which is not exported`
	Embeds2 = stepwell.Event[embedsIt]("changed")
	Embeds3 = stepwell.Event[embedsText]("changed")           // want `Event of embedsText: it has the field kind, which is not exported`
	Counts  = stepwell.Event[*counts]("changed")              // want `Event of \*counts: it has the field n, which is not exported`
	Times   = stepwell.Event[map[time.Time]string]("changed") // want `Event of map\[time.Time\]string: it is a map whose keys are times`
	Waits   = stepwell.Event[waits]("changed")
)

var flow = stepwell.Define("flow", func(ctx stepwell.Context, in hidden) (int, error) { // want `Define of hidden` `the workflow flow is used, and is in no list of definitions`
	f := stepwell.Go(ctx, func(ctx stepwell.Context) (chan int, error) { return nil, nil })
	_, err := f.Get(ctx)
	return 0, err
})

var known = stepwell.Define("known", func(ctx stepwell.Context, n int) (int, error) {
	_, err := step.Run(ctx, n)
	if errors.Is(err, errStock) { // want `errors.Is finds errStock in the error of RegisteredStep.Run only where it is known: add stepwell.KnownError\("name", errStock\) to Config.Definitions`
		return 0, nil
	}
	if errors.Is(err, errSold) { // near: unregistered
		return 0, nil
	}
	var declined *declinedError
	var known knownError
	var step *stepwell.StepError
	if errors.As(err, &declined) { // want `errors.As finds a \*declinedError in the error of RegisteredStep.Run only where it is known: add stepwell.KnownErrorType\[\*declinedError\]\("name"\) to Config.Definitions`
		return 0, nil
	}
	if _, ok := errors.AsType[declinedError](err); ok { // want `errors.AsType finds a declinedError in the error of RegisteredStep.Run only`
		return 0, nil
	}
	if errors.As(err, &known) || errors.As(err, &step) {
		return 0, nil
	}
	if other := errors.New("x"); errors.As(other, &declined) {
		return 0, nil
	}
	return 0, err
})

var step = stepwell.DefineStep("step", func(ctx context.Context, n int) (int, error) { return n, nil }) // want `the step step is used, and is in no list`

var (
	errStock = errors.New("out of stock")
	errSold  = errors.New("sold")
)

type declinedError struct{ Reason string }

func (declinedError) Error() string { return "declined" }

type knownError struct{ Reason string }

func (knownError) Error() string { return "known" }

func config(app *stepwell.App, ctx context.Context) stepwell.Config {
	_, _ = flow.Start(ctx, app, hidden{})
	return stepwell.Config{Definitions: []stepwell.Definition{
		known, stepwell.KnownError("sold", errSold), stepwell.KnownErrorType[knownError]("known"),
	}}
}

// What JSON reads into an any.
var loose = stepwell.Define("loose", func(ctx stepwell.Context, in map[string]any) (map[string]any, error) {
	n := in["n"].(int)                                       // want `in\["n"\] of the input is never a int: what JSON reads into an any is a float64`
	wait, ok := in["wait"].(Seconds)                         // want `in\["wait"\] of the input is never a Seconds`
	deep := in["deep"].(map[string]any)["d"].(time.Duration) // want `is never a time.Duration`
	m, err := stepwell.Step(ctx, "m", func(context.Context) (map[string]any, error) {
		return map[string]any{"n": 3, "wait": time.Minute}, nil // want `a time.Duration in an any comes back as a float64 of nanoseconds`
	})
	if err != nil || !ok || wait > 3 {
		return nil, err
	}
	list := m["list"].([]string)                                   // want `of stepwell.Step is never a \[\]string`
	return map[string]any{"n": n, "deep": deep, "list": list}, nil // want `a time.Duration in an any comes back as a float64`
})

// Seconds are a number of them.
type Seconds int

// open reads itself: what it puts there is its own.
type open struct{ Of map[string]any }

func (o *open) UnmarshalJSON([]byte) error { return nil }

var near = stepwell.Define("near", func(ctx stepwell.Context, in map[string]any) (string, error) {
	n := in["n"].(float64)
	text, _ := in["text"].(string)
	list, _ := in["list"].([]any)
	shown := map[string]any{"wait": time.Minute} // it is not recorded
	wait := shown["wait"].(time.Duration)
	if s, ok := in["s"].(fmt.Stringer); ok && len(list) > 0 {
		text = s.String()
	}
	o, err := stepwell.Step(ctx, "o", func(context.Context) (open, error) { return open{}, nil })
	if err != nil {
		return "", err
	}
	return fmt.Sprint(n, text, wait, o.Of["n"].(int)), stepwell.Sleep(ctx, "nap", wait)
})

var definitions = []stepwell.Definition{loose, near}

func called(ctx stepwell.Context) (int, error) {
	m, err := stepwell.Call(ctx, "m", func(context.Context, int) (map[string]any, error) { return map[string]any{"list": []string{"a"}}, nil }, 1)
	if err != nil {
		return 0, err
	}
	list := m["list"].([]string) // want `of stepwell.Call is never a \[\]string`
	return len(list), nil
}
