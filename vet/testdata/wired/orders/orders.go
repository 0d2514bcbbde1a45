// Package orders has a workflow that is handed what it calls.
package orders

import (
	"context"
	"time"

	"github.com/stepwell/stepwell"
)

// Clock tells the time.
type Clock interface{ Stamp() string }

// Deps are what a program hands over.
type Deps struct {
	Now    func() time.Time
	InBody func() time.Time
	Clock  Clock
	Hooks  []func()
	Bodies Stamper
}

// Stamper is called in a body alone.
type Stamper interface{ Stamp() string }

// Round is set by a program.
var Round = func(n int) int { return n }

// Order is a workflow.
func (d *Deps) Order(ctx stepwell.Context, id string) (string, error) {
	if d.Now().IsZero() {
		return d.Clock.Stamp(), nil
	}
	for _, h := range d.Hooks {
		h()
	}
	round(3)
	return stepwell.Step(ctx, "stamp", func(context.Context) (string, error) { return d.InBody().String() + d.Bodies.Stamp(), nil })
}

func round(n int) int { return Round(n) }

type flows struct{ now func() time.Time }

// With makes some.
func With(now func() time.Time) *flows { return &flows{now: now} }

// WithNow sets one.
func WithNow(now func() time.Time) func(*flows) { return func(f *flows) { f.now = now } }

func (f *flows) order(ctx stepwell.Context, id string) (time.Time, error) { return f.now(), nil }
