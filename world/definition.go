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

// Definer keeps what starters need to know of workflows: their definitions, the versions that live
// workers have, and the longest retention.
type Definer interface {
	// Define records definitions. Unchanged ones are not written.
	Define(ctx context.Context, all []Definition) error

	// Defined returns what is recorded of workflows, by name. It returns fingerprints of schemas,
	// not the schemas.
	Defined(ctx context.Context, workflows []string) (Defined, error)

	// Schemas returns the recorded schemas of a version of a workflow; nil: none.
	Schemas(ctx context.Context, of Class) (json.RawMessage, error)

	// LimitRetention lowers the longest retention that starts may use; with raise it may also raise
	// it. It returns the limit before and now. Below 0 means for ever, which is the most; 0 means
	// not set. Called with limit 0 it only reads.
	LimitRetention(ctx context.Context, limit time.Duration, raise bool) (before, now time.Duration, err error)
}

// Definition is what starters need to know of a version of a workflow.
type Definition struct {
	Class
	Said

	// Schemas are the JSON Schemas of the version, as an object: see [Definer.Schemas]. They are
	// recorded if their fingerprint differs from the recorded one.
	Schemas json.RawMessage `json:"schemas,omitempty"`

	// By is the worker that recorded it last; "": unknown. With [Queue.Join] it is the joining
	// worker.
	By string `json:"by,omitempty"`
	// Gone means, in a result of Defined, that By is not alive any more. Then a live worker with
	// another definition records it again.
	Gone bool `json:"gone,omitempty"`
}

// Schemas are JSON Schemas (2020-12) of what a version of a workflow takes and makes, as a live
// worker published them. A missing schema is unknown, and not checked. Inputs are described as
// encoding/json reads them: members may be missing or additional, and null may replace any value
// within. Methods of a type may refuse more.
type Schemas struct {
	Workflow string `json:"workflow"`
	// 0: no live worker has the workflow
	Version int             `json:"version,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	Output  json.RawMessage `json:"output,omitempty"`
	// Events: those that the definition declares.
	Events map[string]json.RawMessage `json:"events,omitempty"`
	// Hooks: hook payloads: each must fit one of them.
	Hooks []json.RawMessage `json:"hooks,omitempty"`
}

// MaxSchemas is the largest size of a definition's schemas in bytes.
const MaxSchemas = 64 << 10

// Describe sets a definition's schemas and their fingerprint.
func (d *Definition) Describe(schemas json.RawMessage) {
	d.Schemas, d.Print = schemas, PrintOf(schemas)
}

// PrintOf returns the fingerprint of schemas; "": there are none.
func PrintOf(schemas json.RawMessage) string {
	if len(schemas) == 0 {
		return ""
	}
	sum := sha256.Sum256(schemas)
	return hex.EncodeToString(sum[:16])
}

// Said is what a definition states of its runs, as stores keep it.
type Said struct {
	// Retention: after the end; below 0: for ever; 0: not set.
	Retention time.Duration `json:"retention,omitempty"`
	Timeout   time.Duration `json:"timeout,omitempty"`  // of a whole run; 0: none
	StartTTL  time.Duration `json:"startTTL,omitempty"` // how late a run may begin; 0: no limit
	Print     string        `json:"print,omitempty"`    // fingerprint of its schemas; "": none

	// Attributes are those that its runs start with. Attributes of a start with the same name
	// replace them.
	Attributes map[string]json.RawMessage `json:"attributes,omitempty"`

	// Limits are the limits of its runs. A store that keeps limits takes their numbers from here.
	Limits []SaidLimit `json:"limits,omitempty"`

	// Gather merges starts into one run; nil: each start has its own run.
	Gather *SaidGather `json:"gather,omitempty"`
}

// Same reports whether other is equal.
func (s Said) Same(other Said) bool {
	a, err := json.Marshal(s)
	if err != nil {
		return false
	}
	b, err := json.Marshal(other)
	return err == nil && bytes.Equal(a, b)
}

// Defined is what a store knows of workflows.
type Defined struct {
	Definitions []Definition  // in order of workflow and version
	Live        []Class       // classes that live workers have, in the same order
	Retention   time.Duration // the longest retention; below 0: for ever; 0: not set
}

// CheckDefinition returns [ErrInvalid] for an invalid definition.
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

// Has adds classes of a live worker. A class without a version is left out.
func (d *Defined) Has(classes []Class) {
	for _, c := range classes {
		if c.Version > 0 {
			d.Live = append(d.Live, c)
		}
	}
}

// Alive sets Gone of definitions whose worker is not alive.
func (d *Defined) Alive(is func(worker string) bool) {
	for i := range d.Definitions {
		by := d.Definitions[i].By
		d.Definitions[i].Gone = by != "" && !is(by)
	}
}

// Of keeps only the given workflows, each once, in order.
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

// LowerRetention returns the lower of two limits; below 0 means no limit, and 0 not set.
func LowerRetention(a, b time.Duration) time.Duration {
	switch {
	case a == 0 || b == 0:
		return a + b
	case a < 0 || b > 0 && b < a:
		return max(b, -1)
	}
	return a
}
