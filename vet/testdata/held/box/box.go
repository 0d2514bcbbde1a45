// Package box has functions in variables, which workflow code of another package calls.
package box

import (
	"math/rand"
	"os"
	"time"
)

// Clock has its function in a field.
type Clock struct{ Now func() time.Time }

// New sets it.
func New() *Clock { return &Clock{Now: time.Now} }

// Tell calls it.
func (c *Clock) Tell() time.Time { return c.Now() }

// Now is a variable.
var Now = time.Now

// Zero is one too.
var Zero = func() time.Time { return time.Time{} }

// Table has functions.
var Table = map[string]func() string{"host": host}

func host() string { h, _ := os.Hostname(); return h }

// Call calls what it is given.
func Call(fn func() int) int { return fn() }

// Pick returns one.
func Pick() func() int { return pick }

func pick() int { return rand.Intn(3) }

// Source is an interface.
type Source interface{ Draw() int }

// Dice are one.
type Dice struct{ N int }

// Draw draws.
func (d *Dice) Draw() int { return rand.Intn(d.N) }
