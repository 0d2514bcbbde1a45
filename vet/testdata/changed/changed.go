// Package changed has workflows whose logs are in testdata/histories, and recorded shapes.
package changed // want `testdata/histories/cut.jsonl is not a log that can be read \(the log that begins in line 1 is cut off\)` `testdata/histories/empty.jsonl is not a log that can be read \(no log begins in it\)` `testdata/histories/garbage.jsonl is not a log that can be read \(line 2: invalid character`

import (
	"context"
	"encoding/json"
	"time"

	"github.com/stepwell/stepwell"
)

type Quote struct {
	ID    string `json:"id"`
	Cents string `json:"cents"`
}

func work(ctx context.Context) error { return nil }

// The log begins with cool-off.
var added = stepwell.Define("added", func(ctx stepwell.Context, id string) (string, error) {
	if err := stepwell.Do(ctx, "check-fraud", work); err != nil { // want `stepwell.Do "check-fraud", where a run of added version 1 has recorded the sleep "cool-off" \(testdata/histories/orders.jsonl, event 3\)`
		return "", err
	}
	if err := stepwell.Sleep(ctx, "cool-off", time.Hour); err != nil {
		return "", err
	}
	return id, stepwell.Do(ctx, "ship", work)
})

// The same, guarded.
var patched = stepwell.Define("patched", func(ctx stepwell.Context, id string) (string, error) {
	if stepwell.Patched(ctx, "check-fraud") {
		if err := stepwell.Do(ctx, "check-fraud", work); err != nil {
			return "", err
		}
	}
	if err := nap(ctx); err != nil {
		return "", err
	}
	return id, stepwell.Do(ctx, "ship", work)
})

func nap(ctx stepwell.Context) error { return stepwell.Sleep(ctx, "cool-off", time.Hour) }

// Version 2 has no log.
var second = stepwell.Define("added", func(ctx stepwell.Context, id string) (string, error) {
	return id, stepwell.Do(ctx, "check-fraud", work)
}, stepwell.Version(2))

// The log has a step reserve, in a branch.
var renamed = stepwell.Define("renamed", func(ctx stepwell.Context, n int) (int, error) { // want `a run of renamed version 1 has recorded the step "reserve" \(testdata/histories/orders.jsonl, event 4\), which the code asks for no more`
	if n > 3 {
		return 0, stepwell.Do(ctx, "hold", work)
	}
	return n, nil
})

// The log has reserve too, and the code makes its names as it runs.
var dynamic = stepwell.Define("dynamic", func(ctx stepwell.Context, names []string) (int, error) {
	for _, name := range names {
		if err := stepwell.Do(ctx, name, work); err != nil {
			return 0, err
		}
	}
	return 0, nil
})

// The log has the failure of the charge, and its undo.
var undone = stepwell.Define("undone", func(ctx stepwell.Context, id string) (Quote, error) {
	stepwell.AddUndo(ctx, "release", func(ctx context.Context, _ any) error { return work(ctx) }, nil)
	if err := stepwell.Do(ctx, "charge", work); err != nil {
		return Quote{}, err
	}
	return stepwell.Step(ctx, "quote", func(context.Context) (Quote, error) { return Quote{}, nil }) // want `step quote no longer goes with what was recorded \(testdata/histories/orders.jsonl, event 6\): cents was a integer and is a string now`
})

// The log was written with other types.
var typed = stepwell.Define("typed", func(ctx stepwell.Context, in Before) (string, error) { // want `workflow typed v1 input no longer goes with what was recorded \(testdata/shapes.json\): it has no field for Count any more` `workflow typed v1 output no longer goes with what was recorded \(testdata/shapes.json\): it was a struct and is a string now`
	return in.Name, nil
})

type Before struct {
	Name string
	Of   []int64
	More map[string]*Before // new // near: changed
}

// What has become wider is right.
var wider = stepwell.Event[struct {
	N    int64
	At   time.Time
	F    float64
	Some any
}]("wider")

var narrower = stepwell.Event[struct{ N int32 }]("narrower") // want `event narrower no longer goes with what was recorded \(testdata/shapes.json\): N was a int64 and is a int32 now`

// Cents writes itself.
type Cents struct{ n int64 }

func (c Cents) MarshalText() ([]byte, error) { return nil, nil }

func (c *Cents) UnmarshalText([]byte) error { return nil }

// Texts and times.
var (
	same = stepwell.Event[struct {
		At  *time.Time
		Of  *Cents
		Was string
		Raw json.RawMessage
		Any any
	}]("same")
	later  = stepwell.Event[struct{ At int64 }]("later")     // want `event later no longer goes with what was recorded \(testdata/shapes.json\): At was a time and is a int64 now`
	timed  = stepwell.Event[struct{ At time.Time }]("timed") // want `event timed no longer goes with what was recorded \(testdata/shapes.json\): At was a int64 and is a time.Time now`
	sold   = stepwell.Event[struct{ Of int64 }]("sold")      // want `event sold no longer goes with what was recorded \(testdata/shapes.json\): Of was a example.com/vet/changed.Cents and is int64 now, which may not read what that wrote`
	bought = stepwell.Event[struct{ Of Cents }]("bought")    // want `event bought no longer goes with what was recorded \(testdata/shapes.json\): Of was a time and is example.com/vet/changed.Cents now`
)

var definitions = []stepwell.Definition{added, patched, second, renamed, dynamic, undone, typed}

type Price struct{ Cents string }

func priced(ctx stepwell.Context) (Price, error) {
	return stepwell.Call(ctx, "priced", func(context.Context, int) (Price, error) { return Price{}, nil }, 1) // want `step priced no longer goes with what was recorded \(testdata/shapes.json\)`
}

var asked = stepwell.Define("added", func(ctx stepwell.Context, id string) (string, error) {
	return id, stepwell.Exec(ctx, "check-fraud", func(context.Context, string) error { return nil }, id) // want `stepwell.Exec "check-fraud", where a run of added version 1 has recorded the sleep "cool-off"`
})
