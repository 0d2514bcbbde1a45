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

// KnownError defines a name for an error value, for [Config].Definitions. After a replay, and in
// every program with the definition, errors.Is still finds err in the error of a step, a child or a
// run.
//
//	var definitions = []stepwell.Definition{Order, stepwell.KnownError("no-courier", ErrNoCourier)}
//
// Logs record the name: do not give it another meaning. [New] refuses a nil error, and a name or an
// error that is taken. The sentinel errors of this library and the common ones of the standard
// library, such as io.EOF and context.DeadlineExceeded, are known without a definition.
//
// For an unknown error the log keeps the Go type, the message and the causes, for people; errors.Is
// finds only the known ones among its causes. For every error the log keeps the result of its
// Code() string method and its place of origin: see [StepError].
func KnownError(name string, err error) Definition {
	return knownError(func(known *codec.Registry) error { return known.Sentinel(name, err) })
}

// KnownErrorType is [KnownError] for a type: errors.As finds its values. E is a type that
// implements error and makes the round trip through JSON, such as a pointer to a struct.
//
//	stepwell.KnownErrorType[*Declined]("declined")
//
// A value of more than 16 KiB of JSON is recorded as an unknown error.
func KnownErrorType[E error](name string) Definition {
	return knownError(func(known *codec.Registry) error { return codec.Type[E](known, name) })
}
