package orders

import (
	"example.com/vet/wired/ports"
	"github.com/stepwell/stepwell"
)

// Far calls what is declared in a third package.
type Far struct {
	Clock  ports.Clock
	Stores []ports.Store[string]
	Deps   *ports.Deps
}

// AddClocks adds some.
func (f *Far) AddClocks(all ...ports.Clock) {}

// Flow is a workflow.
func (f *Far) Flow(ctx stepwell.Context, id string) (string, error) {
	out := f.Clock.Now().String() + ports.Hook(id)
	for _, s := range f.Stores {
		out += s.Make()
	}
	if f.Deps.Rate(id) > 3 {
		return out, nil
	}
	return id, nil
}
