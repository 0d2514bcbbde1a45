package stepwell

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// Context is the context of workflow code. It is not a context.Context, so that workflow code
// cannot pass it to I/O by accident. I/O belongs in steps, which get a context.Context of their
// own.
//
// Only workflow code may use a Context: the workflow function, and functions that it runs with [Go]
// and [Map]. A call from a goroutine of a go statement is refused and blocks the run.
type Context struct {
	x   *replay.Ctx
	env *env
}

// env is what the code of one run shares.
type env struct {
	workflow string
	limit    int // bytes of what a transactional step's body returns
	most     int // bytes of what another step's body returns
	values   world.Values
	base     string // of the URLs of webhooks
	// maxRetention clamps that of children, whatever else the database says; 0: it does not.
	maxRetention time.Duration
	book         *engine.Book
	logger       *slog.Logger
	errors       *codec.Registry
	overrides    *kit.Overrides
	// fits reports whether a version of a workflow can take an input, as far as this App knows.
	fits  func(workflow string, version int, input []byte) error
	known workflows // of this App
}

// Now returns the workflow's time: the time of the last event that the workflow has seen. It is the
// same on replay.
func (c Context) Now() time.Time { return c.x.Now() }

// Rand returns the run's own random numbers, the same on replay. Do not use it outside workflow
// code.
func (c Context) Rand() *rand.Rand { return rand.New(c.x) }

// NewID returns a new ULID: 26 characters, sortable by time. It is the same on replay.
func (c Context) NewID() string { return c.x.NewID() }

// RunID returns the ID of the run.
func (c Context) RunID() string { return c.x.Run() }

// Logger returns a logger for workflow code. It logs each line once: it is silent during replay.
// Records carry run_id and workflow.name. Without a [Config].Logger they go to [slog.Default], at
// any level.
func (c Context) Logger() *slog.Logger {
	return slog.New(&replayHandler{Handler: c.env.logger.Handler(), x: c.x}).With("run_id", c.x.Run(), "workflow.name", c.env.workflow)
}

// Uncancelled returns a Context that a cancel of the run does not reach. Use it to clean up after a
// cancel.
func (c Context) Uncancelled() Context { return Context{x: c.x.Uncancelled(), env: c.env} }

// replayHandler drops records of code that runs again.
type replayHandler struct {
	slog.Handler
	x *replay.Ctx
}

// Enabled implements slog.Handler.
func (h *replayHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return !h.x.Replaying() && h.Handler.Enabled(ctx, l)
}

// WithAttrs implements slog.Handler.
func (h *replayHandler) WithAttrs(as []slog.Attr) slog.Handler {
	return &replayHandler{h.Handler.WithAttrs(as), h.x}
}

// WithGroup implements slog.Handler.
func (h *replayHandler) WithGroup(name string) slog.Handler {
	return &replayHandler{h.Handler.WithGroup(name), h.x}
}

// StepInfo describes a step to its own body.
type StepInfo struct {
	Run      string // run ID
	Workflow string // name of the run's workflow
	Step     string // ID of the step in the run's log, the same on every attempt
	Name     string // name of the step
	// Attempt counts from 1. In Undoes it is the last attempt that the log knows; at least that
	// many have begun.
	Attempt int
	// IdempotencyKey is the same on every attempt, and unique to the step. A new run has others: one
	// that [App.Retry], [App.Restart] or [App.Fork] makes. So for a payment use a key of your own,
	// such as the order's number.
	IdempotencyKey string
	Undoes         *StepInfo // the step that this one undoes; nil: none
}

// Info returns the StepInfo of the step whose body has this context. Outside a step it returns the
// zero value.
func Info(ctx context.Context) StepInfo {
	info := engine.Info(ctx)
	return stepInfo(&info)
}

func stepInfo(i *engine.StepInfo) StepInfo {
	info := StepInfo{Run: i.Run, Workflow: i.Workflow, Step: i.Step, Name: i.Name, Attempt: i.Attempt, IdempotencyKey: i.IdempotencyKey}
	if i.Undoes != nil {
		of := stepInfo(i.Undoes)
		info.Undoes = &of
	}
	return info
}
