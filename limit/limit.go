package limit

import (
	"fmt"
	"maps"
	"reflect"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// Option says something of a limit: [Key], [Path], [Name], [UntilEnd], [Weights]; of a rate [Burst] and [Refuse].
type Option func(*kit.Limit)

// Limit is an option of a workflow, of a registered step, and of a queue: see [Concurrency] and [Rate].
type Limit interface {
	stepwell.WorkflowOption
	stepwell.StepOption
	DefinesQueue(q *kit.Defining)
}

// Concurrency is an option of a workflow: at most this many of its runs with one key are at work at once. A workflow
// may have several, with names of their own: a run takes a place of each, those with keys first.
//
// Of a registered step ([stepwell.DefineStep]) it is how many attempts of one key run at once, whichever runs ask for
// them. Such a step is always queued, and never runs in place.
//
// Of a queue (Define of package queue) it is how many messages of one key are worked on at once, by handlers and by all
// others who receive. It holds for messages that are sent from then on.
//
// The number can be changed while programs run: see docs/limits.md.
func Concurrency(atOnce int, opts ...Option) Limit {
	l := kit.Limit{Number: atOnce}
	if atOnce < 1 || atOnce > world.MaxLimit {
		l.Fault = fmt.Errorf("%w: limit of %d at once: want 1 to %d", stepwell.ErrInvalid, atOnce, world.MaxLimit)
	}
	return made(l, opts)
}

// Rate is an option of a workflow: of its runs, so many of one key begin in each period, spread over it evenly. The
// others wait in order; with [Refuse] their starts are refused. A workflow may have rates and limits together: a run
// pays when it has all its places, and begins.
//
//	limit.Rate(100, time.Minute, limit.Name("bank"))
//
// A run pays once, when a worker takes it for the first time: not for what follows a sleep, not when its worker dies,
// and not for further attempts of its steps. Where each call counts, the call is a registered step: of one
// ([stepwell.DefineStep]) each attempt pays, as each is a call. Of a queue each receive pays.
//
// The number can be changed while programs run: see docs/limits.md.
func Rate(number int, per time.Duration, opts ...Option) Limit {
	l := kit.Limit{Number: number, Per: per}
	if per <= 0 {
		l.Fault = world.CheckRate(number, per, 0)
	}
	return made(l, opts)
}

func made(l kit.Limit, opts []Option) Limit {
	if err := kit.Given(opts, func(o Option) { o(&l) }); err != nil && l.Fault == nil {
		l.Fault = err
	}
	return kit.NewLimit(l).(Limit)
}

// Burst is how many runs of a key may begin at one moment, where none has begun for long enough. Without it, it is one.
func Burst(n int) Option {
	return func(l *kit.Limit) {
		if l.Burst = n; n < 1 && l.Fault == nil {
			l.Fault = fmt.Errorf("%w: burst of %d: want 1 or more", stepwell.ErrInvalid, n)
		}
	}
}

// Refuse makes a rate refuse starts that it does not let in at once, instead of letting them wait. The error is
// [stepwell.ErrRateLimited], and a [*world.RateError] says when to try again. It is for starts from outside: a workflow
// cannot start such a run as its child, and neither can a schedule.
//
// The same start, by its key or ID, pays once, however often it is made. In your own transaction on PostgreSQL a start
// pays before it is written. So it pays even if you roll back, and several transactions that make the same start each
// pay.
func Refuse() Option { return func(l *kit.Limit) { l.Refuse = true } }

// Key computes the key of a run from its input, and of a message from its payload: each key has places, and a line, of
// its own. It is called where the run is started, or the message sent, and never again. It has at most 256 bytes. A
// start by name, as over REST, has it where the definition is in the program that starts; use [Path] where it is not.
func Key[In any](of func(in In) string) Option {
	return func(l *kit.Limit) {
		l.In = reflect.TypeFor[In]()
		if of == nil {
			l.Fault = kit.Missing("limit: the function of the key")
			return
		}
		l.Of = codec.KeyOf(of)
	}
}

// Path is where the key stands in the JSON of the input, as in "customer.id": a text, a number or a truth. 1, 1.0 and 1e0
// are one key. Programs that have not the code find it too.
func Path(path string) Option { return func(l *kit.Limit) { l.Path = path } }

// Name is the name of the limit; without it, it is the workflow's. Limits of one name, of one workflow or several, are
// one limit: runs of all of them take its places. What was said last is its number.
func Name(name string) Option { return func(l *kit.Limit) { l.Name = name } }

// Weights are those of keys: one of weight 3 has three times the places of others, and so three times their share of
// workers, or of a further limit, where all keys have runs in line. A key that is not in the table has the weight 1.
//
//	limit.Concurrency(1, limit.Key(tenant), limit.Weights(map[string]int{"acme": 3}))
//
// A weight is 1 to 100, and at most 1,000 keys have one. They are of [Concurrency] with a key, and are said by the
// worker that joined last, as its number is.
func Weights(of map[string]int) Option {
	return func(l *kit.Limit) {
		if l.Weights = maps.Clone(of); of == nil { // it is said, and is none
			l.Weights = map[string]int{}
		}
	}
}

// UntilEnd has a run hold its place until it is over, while it waits too: one order of a customer at a time.
func UntilEnd() Option { return func(l *kit.Limit) { l.UntilEnd = true } }
