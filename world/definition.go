package world

// This file holds what a store knows of workflows whose code a starter has not.

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Definer is a [World] that keeps what starters have to know of workflows: what their definitions say, which versions live workers have, and the most
// that ended runs are kept.
type Definer interface {
	// Define notes definitions. What is noted already is not written.
	Define(ctx context.Context, all []Definition) error

	// Defined tells of workflows, by name. It tells the prints of schemas, and not the schemas.
	Defined(ctx context.Context, workflows []string) (Defined, error)

	// Schemas are those of a version of a workflow, as they were noted; nil: there are none.
	Schemas(ctx context.Context, of Class) (json.RawMessage, error)

	// LimitRetention lowers the most that ended runs are kept, and raises it where raise says so; it is for all who start runs to keep to. It returns what
	// held before and what holds now. Below 0: for ever, which is the most. 0: nobody has said it; as a limit: it only tells.
	LimitRetention(ctx context.Context, limit time.Duration, raise bool) (before, now time.Duration, err error)
}

// Definition is what a start has to know of a version of a workflow.
type Definition struct {
	Class
	Said

	// Schemas say what JSON the version takes and makes, as an object; see [Definer.Schemas]. They are noted where their print differs from the one that is noted.
	Schemas json.RawMessage `json:"schemas,omitempty"`

	// By is the worker that has said it last, and Gone whether that one is not alive any more, as Defined tells it. Then
	// a live worker that says something else says it again. "": not known. With [Queue.Join] it is who joins.
	By   string `json:"by,omitempty"`
	Gone bool   `json:"gone,omitempty"`
}

// Schemas say in JSON Schema (2020-12) what JSON a version of a workflow takes and makes, as a live worker has published it. What is missing is not known, and not
// checked. What is taken is written as encoding/json reads it: members may be missing or more, and null may stand for any value within; only the type's own
// methods know what else does not fit.
type Schemas struct {
	Workflow string                     `json:"workflow"`
	Version  int                        `json:"version,omitempty"` // 0: no live worker has the workflow
	Input    json.RawMessage            `json:"input,omitempty"`
	Output   json.RawMessage            `json:"output,omitempty"`
	Events   map[string]json.RawMessage `json:"events,omitempty"` // those that the definition names
	Hooks    []json.RawMessage          `json:"hooks,omitempty"`  // payloads of hooks: each fits one of them
}

// MaxSchemas is how many bytes the schemas of a definition may have.
const MaxSchemas = 64 << 10

// Describe gives a definition its schemas, with their print.
func (d *Definition) Describe(schemas json.RawMessage) {
	d.Schemas, d.Print = schemas, PrintOf(schemas)
}

// PrintOf is the print of schemas; "": there are none.
func PrintOf(schemas json.RawMessage) string {
	if len(schemas) == 0 {
		return ""
	}
	sum := sha256.Sum256(schemas)
	return hex.EncodeToString(sum[:16])
}

// Said is what a definition says of its runs, as stores keep it.
type Said struct {
	Retention time.Duration `json:"retention,omitempty"` // after the end, in ns; below 0: for ever; 0: nothing is said
	Timeout   time.Duration `json:"timeout,omitempty"`   // of a whole run, in ns; 0: none
	StartTTL  time.Duration `json:"startTTL,omitempty"`  // within which a run is to begin, in ns; 0: none
	Print     string        `json:"print,omitempty"`     // of its schemas; "": it has none

	// Attributes are what its runs start with; a start's own of the same name take their place.
	Attributes map[string]json.RawMessage `json:"attributes,omitempty"`

	// Limits are what its runs need places of. A store that keeps limits takes their numbers from here.
	Limits []SaidLimit `json:"limits,omitempty"`

	// Gather says that starts are gathered into one run; nil: each has its own.
	Gather *SaidGather `json:"gather,omitempty"`
}

// Same reports whether another says the same.
func (s Said) Same(other Said) bool {
	a, err := json.Marshal(s)
	if err != nil {
		return false
	}
	b, err := json.Marshal(other)
	return err == nil && bytes.Equal(a, b)
}

// Defined is what a world tells of workflows.
type Defined struct {
	Definitions []Definition  // in order of workflow and version
	Live        []Class       // what live workers have, in the same order
	Retention   time.Duration // the most that ended runs are kept; below 0: for ever; 0: nobody has said it
}

// CheckDefinition refuses, with [ErrInvalid], what no world notes.
func CheckDefinition(d *Definition) error {
	if err := CheckWorkflowName(d.Workflow); err != nil {
		return err
	}
	if d.Version < 1 || d.Version > MaxVersion {
		return fmt.Errorf("%w: workflow %s: version %d: want 1 to %d", ErrInvalid, d.Workflow, d.Version, MaxVersion)
	}
	if d.By != "" {
		if err := checkText("worker ID", d.By, MaxRunID, show); err != nil {
			return err
		}
	}
	if d.StartTTL < 0 {
		return fmt.Errorf("%w: workflow %s: start TTL %s: must not be negative", ErrInvalid, d.Workflow, d.StartTTL)
	}
	if d.Timeout < 0 {
		return fmt.Errorf("%w: workflow %s: timeout %s: must not be negative", ErrInvalid, d.Workflow, d.Timeout)
	}
	if err := CheckAttributes(d.Attributes); err != nil {
		return fmt.Errorf("workflow %s: %w", d.Workflow, err)
	}
	if len(d.Limits) > MaxPlaces {
		return fmt.Errorf("%w: workflow %s: %d limits: the most is %d", ErrInvalid, d.Workflow, len(d.Limits), MaxPlaces)
	}
	for i := range d.Limits {
		if err := d.Limits[i].Check(); err != nil {
			return fmt.Errorf("workflow %s: limit %s: %w", d.Workflow, show(d.Limits[i].Name), err)
		}
	}
	if d.Gather != nil {
		if err := d.Gather.Check(); err != nil {
			return fmt.Errorf("workflow %s: %w", d.Workflow, err)
		}
	}
	switch {
	case len(d.Schemas) > MaxSchemas:
		return fmt.Errorf("%w: workflow %s: schemas of %d bytes: the most is %d", ErrInvalid, d.Workflow, len(d.Schemas), MaxSchemas)
	case d.Print != PrintOf(d.Schemas):
		return fmt.Errorf("%w: workflow %s: the hash %.40q does not match its schemas", ErrInvalid, d.Workflow, d.Print)
	case len(d.Schemas) > 0 && !json.Valid(d.Schemas):
		return fmt.Errorf("%w: workflow %s: its schemas are not JSON", ErrInvalid, d.Workflow)
	}
	return nil
}

// Has notes what a live worker has. A class without a version is left out.
func (d *Defined) Has(classes []Class) {
	for _, c := range classes {
		if c.Version > 0 {
			d.Live = append(d.Live, c)
		}
	}
}

// Alive notes which definitions were said by workers that are gone.
func (d *Defined) Alive(is func(worker string) bool) {
	for i := range d.Definitions {
		by := d.Definitions[i].By
		d.Definitions[i].Gone = by != "" && !is(by)
	}
}

// Of leaves what is of these workflows, each once, in order.
func (d *Defined) Of(workflows []string) {
	wanted := make(map[string]bool, len(workflows))
	for _, name := range workflows {
		wanted[name] = true
	}
	d.Definitions = slices.DeleteFunc(d.Definitions, func(d Definition) bool { return !wanted[d.Workflow] })
	d.Live = slices.DeleteFunc(d.Live, func(c Class) bool { return !wanted[c.Workflow] })
	slices.SortFunc(d.Definitions, func(a, b Definition) int { return a.compare(b.Class) })
	slices.SortFunc(d.Live, Class.compare)
	d.Definitions = slices.CompactFunc(d.Definitions, func(a, b Definition) bool { return a.Class == b.Class })
	d.Live = slices.Compact(d.Live)
}

func (c Class) compare(other Class) int {
	return cmp.Or(cmp.Compare(c.Workflow, other.Workflow), cmp.Compare(c.Version, other.Version))
}

// LowerRetention is the lower of two limits, of which one below 0 is none, and 0 says nothing.
func LowerRetention(a, b time.Duration) time.Duration {
	switch {
	case a == 0 || b == 0:
		return a + b
	case a < 0 || b > 0 && b < a:
		return max(b, -1)
	}
	return a
}
