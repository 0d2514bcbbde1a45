package schema

// This file has the schemas of one definition together, as they are published and kept.

import (
	"encoding/json"
	"fmt"

	"github.com/stepwell/stepwell/world"
)

// Set is what a version of a workflow takes and makes. A part that is nil, or not there, is not known: whatever comes for it fits.
type Set struct {
	Input  *Schema            `json:"input,omitempty"`
	Output *Schema            `json:"output,omitempty"`
	Events map[string]*Schema `json:"events,omitempty"` // by name
	Hooks  []*Schema          `json:"hooks,omitempty"`  // payloads: one of them
}

// JSON is the set as it is kept: at most [MaxBytes]. What does not fit in is left out, what doors need least first; nil: there is nothing to say.
func (s Set) JSON() json.RawMessage {
	for _, drop := range []func(){func() {}, func() { s.Output = nil }, func() { s.Events, s.Hooks = nil, nil }, func() { s.Input = nil }} {
		drop()
		text, err := json.Marshal(s)
		if err == nil && len(text) <= MaxBytes && string(text) != "{}" {
			return text
		}
	}
	return nil
}

// ParseSet reads a set that was kept. A part that is damaged is left out.
func ParseSet(data []byte) (*Set, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("the schemas have %d bytes, the most is %d", len(data), MaxBytes)
	}
	var raw struct {
		Input, Output json.RawMessage
		Events        map[string]json.RawMessage
		Hooks         []json.RawMessage
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("the schemas are damaged: %w", err)
	}
	part := func(text json.RawMessage) *Schema {
		s, err := Parse(text)
		if err != nil {
			return nil
		}
		return s
	}
	s := &Set{Input: part(raw.Input), Output: part(raw.Output), Events: map[string]*Schema{}}
	for name, text := range raw.Events {
		if is := part(text); is != nil {
			s.Events[name] = is
		}
	}
	for _, text := range raw.Hooks {
		is := part(text)
		if is == nil { // it may be the one that fits
			s.Hooks = nil
			break
		}
		s.Hooks = append(s.Hooks, is)
	}
	return s, nil
}

// CheckAny finds where JSON does not fit the best of several schemas; of none it is nowhere.
func CheckAny(all []*Schema, data []byte) (least []world.Misfit) {
	for i, s := range all {
		found := s.Check(data)
		if len(found) == 0 {
			return nil
		}
		if i == 0 || len(found) < len(least) {
			least = found
		}
	}
	return least
}
