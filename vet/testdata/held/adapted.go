package held

import (
	"os"

	"github.com/stepwell/stepwell"
)

type namer interface{ name() string }

// A type of functions is what it is made of, behind an interface too.
type nameFunc func() string

func (f nameFunc) name() string { return f() }

type calmFunc func() string

func (f calmFunc) calm() string { return f() }

type titled struct{ of namer }

func newTitled() *titled { return &titled{of: nameFunc(func() string { return os.Getenv("NAME") })} }

func (n *titled) flow(ctx stepwell.Context, id string) (string, error) {
	return n.of.name() + calmFunc(func() string { return id }).calm(), nil // want `namer.name comes to os.Getenv`
}
