package world

// What may be a run's attributes, a worker's names, a run's context: all that is kept with each row, or read with every list, is bounded.

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Limits of attributes, contexts and registrations. Names count with their values.
const (
	MaxAttributes     = 64
	MaxAttributeBytes = 16 << 10
	MaxContext        = 64 // entries of a birth's context
	MaxContextBytes   = 16 << 10
	MaxRegistered     = 10_000 // workflow versions, and steps, of a worker
	maxRegisteredText = 256 << 10
)

// CheckAttributes returns [ErrTooLarge] for too many or too large attributes, and [ErrInvalid] for
// bad names.
func CheckAttributes(attributes map[string]json.RawMessage) error {
	if n, bytes := len(attributes), attributeBytes(attributes); n > MaxAttributes || bytes > MaxAttributeBytes {
		return fmt.Errorf("%w: %d attributes with %d bytes: a run may have %d, with %d bytes", ErrTooLarge, n, bytes, MaxAttributes, MaxAttributeBytes)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if err := CheckName("attribute", name); err != nil {
			return err
		}
	}
	return nil
}

func checkContext(context map[string]string) error {
	if n, bytes := len(context), contextBytes(context); n > MaxContext || bytes > MaxContextBytes {
		return fmt.Errorf("%w: a context of %d entries with %d bytes: a run may have %d, with %d bytes", ErrTooLarge, n, bytes, MaxContext, MaxContextBytes)
	}
	return nil
}

// CheckWorker refuses a worker without an ID, with invalid names, or with too many registrations.
// Stores call it first.
func CheckWorker(w *Worker) error {
	if err := checkText("worker ID", w.ID, MaxRunID, show); err != nil {
		return err
	}
	for what, name := range map[string]string{"name of worker " + w.ID + ":": w.Name, "build of worker " + w.ID + ":": w.Build} {
		if name == "" {
			continue
		}
		if err := CheckName(what, name); err != nil {
			return err
		}
	}
	bytes := 0
	for _, c := range w.Classes {
		if bytes += len(c.Workflow); c.Version < 0 {
			return fmt.Errorf("%w: worker %s: workflow %s version %d", ErrInvalid, w.ID, show(c.Workflow), c.Version)
		}
		if err := CheckWorkflowName(c.Workflow); err != nil {
			return fmt.Errorf("worker %s: %w", w.ID, err)
		}
	}
	for _, step := range w.Steps {
		bytes += len(step)
		if err := CheckName("step", step); err != nil {
			return fmt.Errorf("worker %s: %w", w.ID, err)
		}
	}
	for i := range w.StepLimits {
		if err := w.StepLimits[i].CheckStep(); err != nil {
			return fmt.Errorf("worker %s: limit %s of a step: %w", w.ID, show(w.StepLimits[i].Name), err)
		}
	}
	for i := range w.Definitions {
		if err := CheckDefinition(&w.Definitions[i]); err != nil {
			return fmt.Errorf("worker %s: %w", w.ID, err)
		}
	}
	if len(w.Classes) > MaxRegistered || len(w.Steps) > MaxRegistered || bytes > maxRegisteredText {
		return fmt.Errorf("%w: worker %s has %d workflow versions and %d steps, with %d bytes of names: it may have %d of each, and %d bytes",
			ErrTooLarge, w.ID, len(w.Classes), len(w.Steps), bytes, MaxRegistered, maxRegisteredText)
	}
	if w.Lease < 0 {
		return fmt.Errorf("%w: worker %s: lease %s", ErrInvalid, w.ID, w.Lease)
	}
	return nil
}
