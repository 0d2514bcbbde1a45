package codec

// This file makes a Go error again from what the log keeps.

import (
	"errors"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// ToError returns an error that reads as the recorded one did: its message, Code() string, and causes through errors.Unwrap or
// Unwrap() []error; errors.Is finds registered sentinels and errors.As registered types, whose values are fresh copies. A name
// that reg does not know, or a value that today's type cannot hold, leaves the rest as it is. nil gives nil.
func ToError(rec *world.Error, reg *Registry) error {
	if rec == nil {
		return nil
	}
	var list []error
	for _, c := range rec.Causes {
		if c != nil {
			list = append(list, ToError(c, reg))
		}
	}
	r := revived{rec: rec, value: reg.value(rec.Name, rec.Value)}
	if r.value == nil {
		r.value = ownValue(rec, list)
	}
	if r.value == nil {
		r.add(reg.sentinel(rec.Name))
	}
	for _, name := range rec.Matches {
		r.add(reg.sentinel(name))
	}
	switch len(list) {
	case 0:
		return &r
	case 1:
		return &revivedOne{r, list[0]}
	}
	return &revivedMany{r, list}
}

// record returns what the log kept of a revived error, or of one that is already in the log's form; else nil.
func record(err error) *world.Error {
	switch x := err.(type) {
	case *world.Error:
		return x
	case *revived:
		return x.rec
	case *revivedOne:
		return x.rec
	case *revivedMany:
		return x.rec
	}
	return nil
}

// revived is an error from the log that wraps nothing.
type revived struct {
	rec   *world.Error
	is    []error // sentinels
	value error   // of a registered type
}

func (r *revived) add(sentinel error) {
	if sentinel != nil {
		r.is = append(r.is, sentinel)
	}
}

// Error returns the recorded message.
func (r *revived) Error() string { return r.rec.Message }

// Code returns the recorded code, or "".
func (r *revived) Code() string { return r.rec.Code }

// Is reports whether the recorded error was the target, or said that it is.
func (r *revived) Is(target error) bool {
	return slices.Contains(r.is, target) || r.value != nil && errors.Is(r.value, target)
}

// As finds the value of a registered type.
func (r *revived) As(target any) bool { return r.value != nil && errors.As(r.value, target) }

// revivedOne wraps one error.
type revivedOne struct {
	revived
	cause error
}

// Unwrap returns what the error wraps.
func (r *revivedOne) Unwrap() error { return r.cause }

// revivedMany wraps several, as errors.Join does.
type revivedMany struct {
	revived
	causes []error
}

// Unwrap returns what the error wraps.
func (r *revivedMany) Unwrap() []error { return r.causes }
