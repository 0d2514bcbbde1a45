package wire

// This file has what starters have to know of workflows.

import (
	"encoding/json"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Definitions are what definitions of workflows say, to be noted: see [world.Definer]. Durations are in ns.
type Definitions struct {
	Definitions []world.Definition `json:"definitions"`
}

// DefinedQuery asks for workflows, by name.
type DefinedQuery struct {
	Workflows []string `json:"workflows,omitempty"`
}

// Defined is a [world.Defined].
type Defined struct {
	Answer
	Definitions []world.Definition `json:"definitions,omitempty"`
	Live        []world.Class      `json:"live,omitempty"`      // what live workers have
	Retention   time.Duration      `json:"retention,omitempty"` // the most that ended runs are kept; -1: for ever; 0: nobody has said it
}

// OfDefined makes a message of it.
func OfDefined(in *world.Defined) Defined {
	return Defined{Definitions: in.Definitions, Live: in.Live, Retention: in.Retention}
}

// World is what the message says.
func (d *Defined) World() world.Defined {
	return world.Defined{Definitions: d.Definitions, Live: d.Live, Retention: d.Retention}
}

// SchemasQuery asks for the schemas of a version of a workflow.
type SchemasQuery struct {
	world.Class
}

// Schemas are those.
type Schemas struct {
	Answer
	Schemas json.RawMessage `json:"schemas,omitempty"` // none: nobody has said any
}

// Limit asks to lower the most that ended runs are kept, or to raise it.
type Limit struct {
	Retention time.Duration `json:"retention,omitempty"` // -1: for ever; 0: it only asks
	Raise     bool          `json:"raise,omitempty"`     // it needs an admin's key
}

// Limited is what became of it.
type Limited struct {
	Answer
	Before time.Duration `json:"before,omitempty"`
	Now    time.Duration `json:"now,omitempty"`
}
