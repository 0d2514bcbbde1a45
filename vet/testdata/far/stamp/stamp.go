// Package stamp has no workflow code.
package stamp

import (
	"fmt"
	"time"
)

// Limit is changed by Raise.
var Limit = 3

// Name is not.
var Name = "x"

// Raise raises it.
func Raise() { Limit++ }

// Stamp says when.
func Stamp() string { return fmt.Sprint(clock{}.read()) }

type clock struct{}

func (clock) read() time.Time { return time.Now() }

// First is generic.
func First[T any](all []T) T {
	time.Sleep(1)
	return all[0]
}

// Keys are those of a map.
func Keys(m map[string]int) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}

// Stamper stamps.
type Stamper interface{ Stamp() string }

// Real stamps.
type Real struct{}

// Stamp stamps.
func (*Real) Stamp() string { return Stamp() }

// Parallel starts goroutines.
func Parallel() {
	done := make(chan int)
	go func() { done <- 1 }()
	<-done
}

// Pure does nothing.
func Pure(n int) string { return fmt.Sprint(n) }
