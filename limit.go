package stepwell

// Limits of workflows: what package limit says of a definition, and what a start makes of it.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

type limitOption kit.Limit

func (l limitOption) workflowOption(o *workflowOptions) { o.limits = append(o.limits, kit.Limit(l)) }

func init() {
	kit.NewLimit = func(l kit.Limit) any { return limitOption(l) }
}

// limits are those of a definition.
type limits []kit.Limit

// named gives the workflow's name to the limit that has none, and finds what is wrong.
func (all limits) named(workflow string, in reflect.Type) (faults []error) {
	seen := make(map[string]bool)
	for i := range all {
		l := &all[i]
		l.Name = cmp.Or(l.Name, workflow)
		err := l.Fault
		switch {
		case err != nil:
		case seen[l.Name]:
			err = fmt.Errorf("%w: two have this name: give one another, with limit.Name", ErrInvalid)
		case l.Path != "" && l.In != nil:
			err = fmt.Errorf("%w: its key is computed, or stands at a path: not both", ErrInvalid)
		case l.In != nil && l.In != in:
			err = fmt.Errorf("%w: its key is computed from %s, and the input is %s", ErrInvalid, l.In, in)
		default:
			said := saidOf(l)
			err = said.Check()
		}
		if seen[l.Name] = true; err != nil {
			faults = append(faults, fmt.Errorf("limit %s: %w", l.Name, err))
		}
	}
	return faults
}

// said is what starters elsewhere are told of them.
func (all limits) said() (out []world.SaidLimit) {
	for i := range all {
		out = append(out, saidOf(&all[i]))
	}
	return out
}

func saidOf(l *kit.Limit) world.SaidLimit {
	return world.SaidLimit{Name: l.Name, Number: l.Number, UntilEnd: l.UntilEnd, Path: l.Path, Computed: l.Of != nil}
}

// places are what a run with an input needs.
func (all limits) places(input []byte) (places []world.Place, err error) {
	for i := range all {
		l := &all[i]
		p := world.Place{Limit: l.Name, Number: l.Number, UntilEnd: l.UntilEnd}
		if l.Of != nil {
			p.Key, err = l.Of(input)
		} else if l.Path != "" {
			p.Key, err = world.KeyAt(input, l.Path)
		}
		if err != nil {
			return nil, fmt.Errorf("limit %s: key: %w", l.Name, err)
		}
		places = append(places, p)
	}
	world.OrderPlaces(places)
	return places, world.CheckPlaces(places)
}

// limited says of a run that is ready, and that nobody takes, whether it stands in line.
func limited(ctx context.Context, a *App, w *Why) (err error) {
	if a.able.LimitKeeper == nil || w.Kind != WhyQueued && w.Kind != WhyNoWorker {
		return nil
	}
	if w.Line, err = a.able.LimitKeeper.Limits().InLine(ctx, w.Run); errors.Is(err, ErrNotFound) {
		return nil // it is gone meanwhile, or its server keeps no limits
	} else if err != nil {
		return fmt.Errorf("why run %s: its place in line: %w", w.Run, err)
	}
	if w.Line != nil {
		w.Kind = WhyLimit
	}
	return nil
}

// placesOf are what a run of a workflow needs that is started by its name.
func placesOf(ctx context.Context, a *App, class world.Class, input []byte) ([]world.Place, error) {
	if own := a.known[class]; own != nil {
		return own.Places(input)
	}
	known, err := a.book.Workflow(ctx, class.Workflow)
	if err != nil {
		return nil, err
	}
	says, _ := known.Version(class.Version)
	return world.SaidPlaces(says.Limits, input)
}

// placesAgain are what a run needs that is made of another with an input of its own: as the other did, where its code
// is not known here.
func placesAgain(a *App, b *world.Birth, version int, input []byte) ([]world.Place, error) {
	own := a.known[world.Class{Workflow: b.Workflow, Version: version}]
	if own == nil {
		return b.Places, nil
	}
	return own.Places(input)
}

// places are what a run of a workflow of this App needs, or of another: nothing that is known.
func (r *registrar) places(workflow string, version int, input []byte) ([]world.Place, error) {
	highest := &engine.Workflow{Places: limits(nil).places}
	for _, wf := range r.workflows {
		if wf.Name == workflow && wf.Version > highest.Version && (version == 0 || wf.Version == version) {
			highest = wf
		}
	}
	return highest.Places(input)
}
