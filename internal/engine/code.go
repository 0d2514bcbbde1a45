package engine

// This file holds what code a worker has: its workflows and its registered steps.

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// code is that.
//
//   - Nothing of it changes once the worker is made.
//   - Each workflow is there under each of its versions, and under version 0 the highest: who needs none in particular
//     gets that. A worker asks for runs of just these classes.
type code struct {
	classes []world.Class // in the order in which they were registered
	byClass map[world.Class]*Workflow
	byName  map[string]*Step
	names   []string // of the steps that this worker runs, and not another program
}

// init refuses what is registered twice.
func (c *code) init(workflows []*Workflow, steps []*Step) error {
	c.byClass, c.byName = map[world.Class]*Workflow{}, map[string]*Step{}
	var errs []error
	for _, wf := range workflows {
		errs = append(errs, c.register(wf))
	}
	for _, st := range steps {
		if c.byName[st.Name] != nil {
			errs = append(errs, fmt.Errorf("%w: step %q is registered twice", world.ErrInvalid, st.Name))
		}
		c.byName[st.Name] = st
		if !st.Remote {
			c.names = append(c.names, st.Name)
		}
	}
	return errors.Join(errs...)
}

func (c *code) register(wf *Workflow) error {
	class := world.Class{Workflow: wf.Name, Version: wf.Version}
	if c.byClass[class] != nil {
		return fmt.Errorf("%w: workflow %q version %d is registered twice", world.ErrInvalid, wf.Name, wf.Version)
	}
	c.byClass[class] = wf
	c.classes = append(c.classes, class)
	open := world.Class{Workflow: wf.Name}
	if highest := c.byClass[open]; highest == nil {
		c.byClass[open] = wf
		c.classes = append(c.classes, open)
	} else if highest.Version < wf.Version {
		c.byClass[open] = wf
	}
	return nil
}

// stepLimits are the limits of the steps.
func (c *code) stepLimits() (all []world.SaidLimit) {
	for _, name := range slices.Sorted(maps.Keys(c.byName)) {
		all = append(all, c.byName[name].Limits...)
	}
	return all
}

// all are the classes of the workflows.
func (c *code) all() []world.Class { return c.classes }

// mostSaid is how many bytes of schemas a worker publishes: those behind are not published, and not checked.
const mostSaid = 4 << 20

// says is what the definitions of the workflows say.
func (c *code) says() (all []world.Definition) {
	bytes := 0
	for _, class := range c.classes {
		if class.Version == 0 {
			continue
		}
		wf := c.byClass[class]
		d := world.Definition{Class: class, Said: world.Said{Retention: wf.Retention, Timeout: wf.Timeout, StartTTL: wf.StartTTL, Attributes: wf.Attributes, Limits: wf.Limits, Gather: wf.Gather}}
		if wf.Schemas != nil {
			schemas := wf.Schemas()
			if bytes += len(schemas); bytes <= mostSaid {
				d.Describe(schemas)
			}
		}
		all = append(all, d)
	}
	return all
}

// workflow finds the code for a class; version 0 is the highest. nil: it is not here.
func (c *code) workflow(class world.Class) *Workflow { return c.byClass[class] }

// step finds a registered step; nil: it is not here.
func (c *code) step(name string) *Step { return c.byName[name] }

// hasSteps reports whether this worker runs any registered step.
func (c *code) hasSteps() bool { return len(c.stepNames()) > 0 }

// stepNames are the registered steps that this worker runs.
func (c *code) stepNames() []string { return c.names }

// has reports whether a worker with this code has something.
func (c *code) has(what wanted) bool {
	if what.step != "" {
		st := c.step(what.step)
		return st != nil && !st.Remote
	}
	return c.workflow(what.class) != nil
}
