package limit

import (
	"fmt"
	"reflect"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// Option says something of a limit: [Key], [Path], [Name], [UntilEnd].
type Option func(*kit.Limit)

// Concurrency is an option of a workflow: of its runs, at most so many of one key are at work at once. A workflow
// may have several, with names of their own: a run takes a place of each, those with keys first.
//
// The number can be changed while programs run: see docs/limits.md.
func Concurrency(atOnce int, opts ...Option) stepwell.WorkflowOption {
	l := kit.Limit{Number: atOnce}
	if atOnce < 1 || atOnce > world.MaxLimit {
		l.Fault = fmt.Errorf("%w: limit of %d at once: want 1 to %d", stepwell.ErrInvalid, atOnce, world.MaxLimit)
	}
	if err := kit.Given(opts, func(o Option) { o(&l) }); err != nil && l.Fault == nil {
		l.Fault = err
	}
	return kit.NewLimit(l).(stepwell.WorkflowOption)
}

// Key computes the key of a run from its input: each key has places, and a line, of its own. It is called where
// the run is started, and never again. It has at most 256 bytes. A start by name, as over REST, has it where the
// definition is in the program that starts; use [Path] where it is not.
func Key[In any](of func(in In) string) Option {
	return func(l *kit.Limit) {
		l.In = reflect.TypeFor[In]()
		if of == nil {
			l.Fault = kit.Missing("limit: the function of the key")
			return
		}
		l.Of = func(input []byte) (key string, err error) {
			defer func() {
				if v := recover(); v != nil {
					err = fmt.Errorf("%w: the function of the key panicked: %v", stepwell.ErrInvalid, v)
				}
			}()
			var in In
			if err := codec.Decode(input, &in); err != nil {
				return "", err
			}
			return of(in), nil
		}
	}
}

// Path is where the key stands in the JSON of the input, as in "customer.id": a text, a number or a truth.
// Programs that have not the code find it too.
func Path(path string) Option { return func(l *kit.Limit) { l.Path = path } }

// Name is the name of the limit; without it, it is the workflow's. Limits of one name, of one workflow or several, are
// one limit: runs of all of them take its places. What was said last is its number.
func Name(name string) Option { return func(l *kit.Limit) { l.Name = name } }

// UntilEnd has a run hold its place until it is over, while it waits too: one order of a customer at a time.
func UntilEnd() Option { return func(l *kit.Limit) { l.UntilEnd = true } }
