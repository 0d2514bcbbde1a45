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

// Context is what workflow code works with. It is not a context.Context, so that it cannot be handed to I/O by accident: I/O
// belongs into steps, which get a context.Context of their own.
//
// A Context may be used by the workflow's own code alone: the workflow function and what it runs with [Go] and [Map]. A call from
// a goroutine that workflow code started with the go statement is refused and blocks the run.
type Context struct {
	x   *replay.Ctx
	env *env
}

// env is what the code of one run shares.
type env struct {
	workflow string
	limit    int // bytes of what a transactional step's body returns
	most     int // bytes of what another step's body returns
	keeper   world.ApartKeeper
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

// Now is the workflow's time: that of the last event that it has seen, the same on replay.
func (c Context) Now() time.Time { return c.x.Now() }

// Rand returns random numbers of the run's own sequence, the same on replay. It must not be used outside the workflow's code.
func (c Context) Rand() *rand.Rand { return rand.New(c.x) }

// NewID returns a new ULID (26 characters, sortable by time), the same on replay.
func (c Context) NewID() string { return c.x.NewID() }

// RunID is the ID of the run.
func (c Context) RunID() string { return c.x.Run() }

// Logger logs what the workflow's code says, once: it is silent while code runs that has run before. Records carry run_id and
// workflow.name. Without a [Config].Logger they go to [slog.Default], whatever their level.
func (c Context) Logger() *slog.Logger {
	return slog.New(&replayHandler{Handler: c.env.logger.Handler(), x: c.x}).With("run_id", c.x.Run(), "workflow.name", c.env.workflow)
}

// Uncancelled returns a Context that a cancel of the run does not reach: for clean-up after one.
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

// StepInfo is what a step's body can know of itself.
type StepInfo struct {
	Run            string // run ID
	Workflow       string
	Step           string // correlation ID of the step, the same on every attempt
	Name           string
	Attempt        int       // from 1
	IdempotencyKey string    // the same on every attempt, and for no other step: hand it to whatever the step calls
	Undoes         *StepInfo // the step that this one undoes; nil: none
}

// Info tells the body of a step which run, step and attempt it is, and the idempotency key that is the same on every attempt.
// Outside a step it is zero.
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
