package world

// This file says what does not fit where JSON comes from outside.

import (
	"errors"
	"fmt"
	"strings"
)

// Misfit is a place in JSON that does not fit its type.
type Misfit struct {
	Pointer  string `json:"pointer"`  // RFC 6901: /customer/items/0/price; "": the whole value
	Expected string `json:"expected"` // in words
	Got      string `json:"got"`
}

// Error describes it in one line.
func (m *Misfit) Error() string {
	at := m.Pointer
	if at == "" {
		at = "the whole"
	}
	return fmt.Sprintf("%s: expected %s, got %s", at, m.Expected, m.Got)
}

// UnfitError says where JSON from outside does not fit the Go type of its receiver. It matches
// [ErrUnfit] and [ErrInvalid].
type UnfitError struct {
	Workflow string // "": unknown
	Version  int
	Places   []Misfit // at most ten; empty if a method of the type decided
	Err      error    // error of the type; nil: the type's code is elsewhere
}

func (e *UnfitError) Error() string {
	text := "it does not fit: "
	if e.Workflow != "" {
		text = fmt.Sprintf("it does not fit the input type of %s, version %d: ", e.Workflow, e.Version)
	}
	if len(e.Places) == 0 && e.Err != nil {
		return text + e.Err.Error()
	}
	all := make([]string, len(e.Places))
	for i := range e.Places {
		all[i] = e.Places[i].Error()
	}
	return text + strings.Join(all, "; ")
}

// Is matches [ErrUnfit] and [ErrInvalid].
func (e *UnfitError) Is(target error) bool { return errors.Is(ErrUnfit, target) }

// Unwrap returns Err.
func (e *UnfitError) Unwrap() error { return e.Err }
