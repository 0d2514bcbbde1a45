package stepwell

// Errors that are found after a replay as before.

import "github.com/stepwell/stepwell/internal/codec"

// knownError makes an error, or a type of errors, known.
type knownError func(known *codec.Registry) error

func (k knownError) register(r *registrar) {
	if err := k(&r.errors); err != nil {
		r.faults = append(r.faults, err)
	}
}

// KnownError is a definition, for [Config].Definitions: with it errors.Is finds err in the error of a step, a child or
// a run after a replay as before, and in other programs that have the definition.
//
//	var definitions = []stepwell.Definition{Order, stepwell.KnownError("no-courier", ErrNoCourier)}
//
// The name is kept in logs: do not give it another meaning. [New] refuses a name, or an error, that is taken by another,
// and nil. The sentinels of this library, and those of the standard library that are met often, as io.EOF and
// context.DeadlineExceeded, are known without.
//
// Of an error that is not known a log keeps the Go type, the message and the causes, for people: errors.Is finds only
// those of its causes that are known. The code that a method Code() string says is kept of all errors, and so is where
// they arose: see [StepError].
func KnownError(name string, err error) Definition {
	return knownError(func(known *codec.Registry) error { return known.Sentinel(name, err) })
}

// KnownErrorType is [KnownError] for a type: errors.As finds its values. E is a struct, a pointer to one, or whatever
// else implements error and makes the round trip through JSON.
//
//	stepwell.KnownErrorType[*Declined]("declined")
//
// A value of more than 16 KiB of JSON is kept as an error that is not known.
func KnownErrorType[E error](name string) Definition {
	return knownError(func(known *codec.Registry) error { return codec.Type[E](known, name) })
}
