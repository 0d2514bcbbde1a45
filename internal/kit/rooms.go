package kit

// What the rooms beside the root package, webhooks and checks, reach of an App and of workflow code. The root package
// sets all of it.

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"github.com/stepwell/stepwell/internal/courier"
	"github.com/stepwell/stepwell/internal/history"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/internal/timetable"
	"github.com/stepwell/stepwell/world"
)

// App is what is reached of a *stepwell.App.
type App struct {
	Limit   int // bytes of a payload
	Hooks   func(ctx context.Context, q world.HookQuery) ([]world.HookRow, error)
	Deliver func(ctx context.Context, d *world.Delivery) error
	Chunks  func(ctx context.Context, run, stream string, q world.ChunkQuery) (world.ChunkPage, error)

	Values     world.Values
	Messages   world.Messenger
	Transactor world.Transactor // nil: the world shares no transactions
	Notifier   world.Notifier
	Courier    *courier.Courier  // what it does for topics
	Timetable  *timetable.Keeper // what it does for schedules
	Starts     world.Starter
	By         func(ctx context.Context) string // who acts
	Logger     *slog.Logger
	Drain      time.Duration
	Poll       time.Duration // between looks for what nobody told of; 0: nobody says
	Itself     any           // the *stepwell.App
}

// Part is what an App does while it runs, beside runs and steps.
type Part struct {
	Fault error                              // of its definition
	Alone string                             // an App has one such part: "a handler of queue x"; "": any number
	Check func(able world.Abilities) error   // refuses a world that cannot do what it needs; nil: all can
	Run   func(ctx context.Context, app App) // until ctx ends

	Of     string            // what has these limits: a queue
	Limits []world.SaidLimit // which no other definition of the App says otherwise

	Set    string // of schedules, whose inputs these compute
	Inputs map[string]timetable.Input
}

// NewPart makes a stepwell.Definition of a part.
var NewPart func(p Part) any

// AppOf opens a *stepwell.App.
var AppOf func(app any) App

// Inside is what is reached of a stepwell.Context.
type Inside struct {
	*replay.Ctx
	Base string // of the URLs of webhooks
}

var (
	// CodeOf opens a stepwell.Context.
	CodeOf func(ctx any) Inside
	// Started is an attribute that the segment of a stepwell.Context's run started with.
	Started func(ctx any, name string) []byte
	// Wait waits for a future in workflow code.
	Wait func(ctx any, f *replay.Future) error
	// Bind makes of an empty *stepwell.Hook that of a future; tell says that it tells of payloads that do not fit.
	Bind func(hook any, f *replay.Future, tell bool)
	// Ack is a stepwell.StartOption: the message with the receipt is acknowledged with the start, in one commit.
	Ack func(receipt string) any
	// Record asks for the record of something that is done with the commit that holds it: see replay.Ctx.Record.
	Record func(ctx any, kind world.Kind, name string, input []byte, spec any) error
	// Answer writes the one chunk of a stream; the second time it is stepwell.ErrAnswered.
	Answer func(ctx any, stream string, chunk []byte) error
)

// Checking holds code against histories.
type Checking struct {
	Knows  func(class world.Class) bool
	Replay func(ctx context.Context, h *history.History) error
}

// Checker is that of the definitions of a *stepwell.Config.
var Checker func(config any) (Checking, error)

// Given applies options, in order, and refuses one that is nil by its place and kind, before it is called.
func Given[O any](opts []O, apply func(O)) error {
	for i, o := range opts {
		if IsNil(o) {
			return fmt.Errorf("%w: option %d is nil: want a %s", world.ErrInvalid, i+1, reflect.TypeFor[O]())
		}
		apply(o)
	}
	return nil
}

// IsNil reports whether v is nil, or a nil pointer or function as something else.
func IsNil(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || (r.Kind() == reflect.Pointer || r.Kind() == reflect.Func) && r.IsNil()
}

// Missing is the error for something that is nil, by its name.
func Missing(what string) error { return fmt.Errorf("%w: %s is nil", world.ErrInvalid, what) }
