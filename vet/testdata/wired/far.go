package wired

import (
	"math/rand"
	"os"
	"strings"
	"time"

	"example.com/vet/wired/orders"
	"example.com/vet/wired/ports"
)

type system struct{}

func (system) Now() time.Time { return time.Now() }

type fixed struct{}

func (fixed) Now() time.Time { return time.Time{} }

type drawer struct{}

func (drawer) Make() string { return string(rune(rand.Int())) }

func newClock() ports.Clock { return system{} } // want `workflow code calls this as Clock.Now \(orders/far.go:\d+\), and it comes to time.Now`

func clocks() []ports.Clock {
	return []ports.Clock{fixed{}, system{}} // want `workflow code calls this as Clock.Now`
}

func clocksByName() map[string]ports.Clock {
	return map[string]ports.Clock{"a": system{}, "b": fixed{}} // want `workflow code calls this as Clock.Now`
}

func wrongFar() *orders.Far {
	ports.Hook = os.Getenv                                                            // want `workflow code calls this as Hook \(orders/far.go:\d+\), and it comes to os.Getenv`
	f := &orders.Far{Deps: &ports.Deps{Rate: func(string) int { return rand.Int() }}} // want `workflow code calls this as Rate \(orders/far.go:\d+\), and it comes to rand.Int`
	f.AddClocks(fixed{}, system{})                                                    // want `workflow code calls this as Clock.Now`
	f.Clock = ports.ClockFunc(time.Now)                                               // want `workflow code calls this as Clock.Now`
	f.Stores = append(f.Stores, drawer{})                                             // want `workflow code calls this as Store.Make`
	return f
}

func rightFar() *orders.Far {
	ports.Hook = strings.ToUpper
	f := &orders.Far{Clock: fixed{}, Deps: &ports.Deps{Rate: func(string) int { return 3 }, Calm: func(string) int { return rand.Int() }}} // near: random
	f.AddClocks(fixed{})
	f.Clock = ports.ClockFunc(func() time.Time { return time.Time{} })
	return f
}
