// Package ports has what workflows are handed, and no workflow code.
package ports

import "time"

// Clock tells the time.
type Clock interface{ Now() time.Time }

// ClockFunc is a Clock.
type ClockFunc func() time.Time

// Now implements Clock.
func (f ClockFunc) Now() time.Time { return f() }

// Store makes something.
type Store[T any] interface{ Make() T }

// Deps are functions.
type Deps struct {
	Rate func(string) int
	Calm func(string) int
}

// Hook is set by a program.
var Hook func(string) string
