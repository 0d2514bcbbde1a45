// Package wired is the program that puts a workflow together.
package wired

import (
	"fmt"
	"math/rand"
	"time"

	"example.com/vet/wired/clock"
	"example.com/vet/wired/orders"
)

type own struct{}

func (*own) Stamp() string { return fmt.Sprint(rand.Int()) }

func wrong() {
	d := &orders.Deps{
		Now:   time.Now,       // want `workflow code calls this as Now \(orders/orders.go:\d+\), and it comes to time.Now`
		Clock: clock.System{}, // want `workflow code calls this as Clock.Stamp \(orders/orders.go:\d+\), and it comes to time.Now \(clock/clock.go:\d+\)`
	}
	d.Hooks = append(d.Hooks, func() { fmt.Println("x") }) // want `workflow code calls this as Hooks \(orders/orders.go:\d+\), and it comes to fmt.Println`
	orders.Round = func(n int) int { return rand.Intn(n) } // want `workflow code calls this as Round \(orders/orders.go:\d+\), and it comes to rand.Intn`
	d.Clock = &own{}                                       // want `workflow code calls this as Clock.Stamp`
	var c orders.Clock = &own{}                            // want `workflow code calls this as Clock.Stamp`
	_, _ = orders.With(time.Now), orders.WithNow(time.Now) // want `workflow code calls this as now` `workflow code calls this as now`
	_ = c
}

func right() {
	zero := func() time.Time { return time.Time{} }
	d := &orders.Deps{Now: zero, Clock: clock.Fixed{}, InBody: time.Now, Bodies: clock.System{}} // near: time
	orders.Round = func(n int) int { return n + 1 }
	_, _ = orders.With(zero), d
	_ = time.Now
}
