package stepwell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/stepwell/stepwell/internal/apart"
	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/crypt"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/logs"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/observe"
	"github.com/stepwell/stepwell/push"
	"github.com/stepwell/stepwell/world"
)

// Config configures an [App]. The zero value makes a client: it starts, lists, signals and cancels
// runs by name. An App with Definitions can also run them.
//
// Environment variables set the fields that a program leaves zero: STEPWELL_MAX_RUNS sets MaxRuns,
// STEPWELL_DRAIN=30s sets Drain. docs/operating.md lists all of them. The command stepwell dev sets
// STEPWELL_STRICT=true.
type Config struct {
	// Definitions are the workflows and registered steps that this program can run, and the errors
	// that it knows (see [KnownError]).
	Definitions []Definition
	// Database is the URL that [Main] opens: see [Open]. Empty means STEPWELL_DB, or else the file
	// stepwell.db. [New] ignores it.
	Database string
	// MaxRuns is how many runs this worker works on at once. Waiting runs do not count. Default
	// 256.
	MaxRuns int
	// MaxSteps is how many step bodies run at once. Default 256, which is enough for commits to
	// share disk syncs. Lower it if bodies hold something scarce, such as connections of a pool.
	MaxSteps int
	// MaxPayload limits, in bytes of JSON, the payload of an event or a hook, a chunk of a stream,
	// and metadata. Default and maximum 1 MiB; the default is MaxValue if that is lower. A run, or
	// its segment, keeps the MaxPayload and MaxValue of the worker that began it, so replay accepts
	// and refuses the same values.
	MaxPayload int
	// MaxValue limits, in bytes of JSON, one value of a run: its input, its output, the input or
	// result of a step. A value over 1 MiB is stored apart from the log, and is whole in memory
	// while code uses it. Default 64 MiB, or MaxPayload if that is set; at most 1 GiB. A start or
	// send in a transaction is limited to MaxPayload.
	MaxValue int
	// MaxRetention is the longest time for which ended runs may be kept. A worker that sets it
	// records it in the database when it joins. The lowest value that any worker has set applies to
	// every start; if none has set one, 365 days. Zero sets nothing; [Forever] means no limit. A
	// longer [Retention] is lowered, and Logger says so. The command stepwell retention shows the
	// limit and can raise it.
	MaxRetention time.Duration
	// SweepInterval is the time between two sweeps of this worker. A sweep deletes runs whose
	// retention is over, and segments beyond [KeepSegments]. Default 5 min; below 0: this
	// worker makes none.
	SweepInterval time.Duration
	// Lease is how long this worker keeps its runs without a heartbeat. After that other workers
	// may claim them. Default 10 s.
	Lease time.Duration
	// Poll is the time between looks for work that the store did not announce. Default 5 s; on
	// PostgreSQL one minute while notifications work.
	Poll time.Duration
	// Drain is how long a shutdown waits for step bodies before their contexts end with
	// [ErrDraining]. Default 10 s.
	Drain time.Duration
	// Slice is how long [App.Invoke] works on one message if its caller gives no time. Default
	// [push.DefaultSlice]; at least 1 s.
	Slice time.Duration
	// Idle is how long an App that uses [App.Invoke] stays registered as a worker after its last
	// message. Default 30 s.
	Idle time.Duration
	// CancelGrace is how long a step of a cancelled run may take to return. Default 10 s.
	CancelGrace time.Duration
	// CacheRuns is how many waiting runs stay in memory. A run that is not in memory is replayed
	// when it continues. Default 1,000; below 0: none.
	CacheRuns int
	// CacheBytes is how much memory the waiting runs may take, estimated, with the large values
	// that their code has read. Default 64 MiB; below 0: none stay.
	CacheBytes int
	// Strict replays a run beside the live one at every wait and before its end. The first
	// difference blocks the run with a [*DivergedError] that shows both sides. Strict is slow: use
	// it in tests.
	Strict bool
	// FailOn says what fails a run instead of blocking it: see the function [FailOn], which
	// overrides it for one workflow. Default: nothing.
	FailOn []string
	// FailUnknown fails a run with code NO_WORKER if no live worker has had its workflow version, or
	// a registered step that it waits for, for this long. This worker decides for all runs of the
	// database. It counts only the time in which it worked itself; a worker that has the code, even
	// briefly, resets the time. Choose more than the longest deploy or outage. A run is undone (see
	// [Undo]) only if some worker has its workflow. Default: runs wait.
	FailUnknown time.Duration
	// PublicURL is the address at which the outside world reaches the server:
	// https://hooks.example.com, with or without a path. Package webhook makes URLs with it. Each
	// webhook keeps the URL that it was opened with. Default http://127.0.0.1:7373.
	PublicURL string
	// Name is this worker's name in logs and the web UI. Default: host name and process ID.
	Name string
	// Build names this program's build in the logs of runs. Runs that one build blocked are tried
	// at once by a worker of another. Default: the short revision that the program was built from.
	// If the working tree had changes, +changes and a checksum of the executable follow; if the
	// revision is unknown, it is unstamped and the checksum.
	Build string
	// Logger receives what operators should know: blocked and failed runs, workflows and steps that
	// no worker has, lost leases, an unreachable database. Each line says what to do, and each kind
	// of line appears at most ten times a minute. Level debug has the rest. [Context.Logger] writes
	// to it too. Default: [slog.Default] from level warn up, and all lines of workflow code. Use
	// slog.New(slog.DiscardHandler) for silence.
	Logger *slog.Logger
	// Encryption holds the keys that encrypt payloads at rest: inputs, outputs, results, errors,
	// and the payloads of events, hooks and streams. New runs use the first key; a run keeps its
	// key. Default: no encryption. See package keyring.
	Encryption *keyring.Ring
	// Observer receives what happens, for metrics and spans: see packages observe and telemetry.
	// Default: none.
	Observer *observe.Observer

	words     *slog.Logger  // of workflow code
	overrides kit.Overrides // of the test kit
}

func (c *Config) defaults() error {
	var errs []error
	refuse := func(bad bool, name string, v any) {
		if bad {
			errs = append(errs, fmt.Errorf("%w: Config.%s is %v: must not be negative", ErrInvalid, name, v))
		}
	}
	refuse(c.MaxRuns < 0, "MaxRuns", c.MaxRuns)
	refuse(c.MaxSteps < 0, "MaxSteps", c.MaxSteps)
	refuse(c.MaxPayload < 0, "MaxPayload", c.MaxPayload)
	refuse(c.MaxRetention < 0 && c.MaxRetention != Forever, "MaxRetention", c.MaxRetention)
	refuse(c.Lease < 0, "Lease", c.Lease)
	refuse(c.Poll < 0, "Poll", c.Poll)
	refuse(c.Drain < 0, "Drain", c.Drain)
	refuse(c.Slice < 0, "Slice", c.Slice)
	if c.Slice > 0 && c.Slice < leastSlice {
		errs = append(errs, fmt.Errorf("%w: Config.Slice is %s: want %s or more", ErrInvalid, c.Slice, leastSlice))
	}
	if c.Slice == 0 {
		c.Slice = push.DefaultSlice
	}
	refuse(c.Idle < 0, "Idle", c.Idle)
	refuse(c.FailUnknown < 0, "FailUnknown", c.FailUnknown)
	if err := checkFailOn("Config.FailOn", c.FailOn); err != nil {
		errs = append(errs, err)
	}
	refuse(c.CancelGrace < 0, "CancelGrace", c.CancelGrace)
	refuse(c.MaxValue < 0, "MaxValue", c.MaxValue)
	if c.MaxValue == 0 {
		if c.MaxValue = c.MaxPayload; c.MaxPayload == 0 {
			c.MaxValue = world.DefaultMaxValue
		}
	}
	if c.MaxPayload == 0 {
		c.MaxPayload = min(codec.DefaultLimit, max(c.MaxValue, 0))
	}
	if c.MaxValue > world.MaxApart || c.MaxValue < c.MaxPayload {
		errs = append(errs, fmt.Errorf("%w: Config.MaxValue is %d: want MaxPayload, which is %d, or more, and at most %d bytes", ErrInvalid, c.MaxValue, c.MaxPayload, world.MaxApart))
	}
	if c.MaxPayload > world.MaxCommit/4 {
		errs = append(errs, fmt.Errorf("%w: Config.MaxPayload is %d: at most %d bytes", ErrInvalid, c.MaxPayload, world.MaxCommit/4))
	}
	if c.PublicURL == "" {
		c.PublicURL = "http://127.0.0.1:7373"
	}
	if err := checkPublicURL(c.PublicURL); err != nil {
		errs = append(errs, err)
	}
	c.words = c.Logger
	switch {
	case c.Logger != nil:
	case c.overrides.Stall != 0: // what a test of an author's prints is the test's to say
		c.Logger, c.words = logs.Discard(), logs.Discard()
	default:
		c.Logger, c.words = logs.Default(os.Getenv), logs.Own()
	}
	if c.Name == "" {
		host, _ := os.Hostname()
		c.Name = host + ":" + strconv.Itoa(os.Getpid())
	}
	if c.Build == "" && c.overrides.Stall == 0 { // what a test of an author's records is to be the same from any build
		c.Build = thisBuild()
	}
	return errors.Join(errs...)
}

// App connects a program to its runs. It is always a client, and a worker while [App.Run] runs. It
// is safe for concurrent use.
type App struct {
	world  world.World
	able   world.Abilities // of world
	cfg    Config
	book   *engine.Book // of definitions
	errors *codec.Registry
	engine *engine.Engine
	has    push.Manifest
	known  workflows
	sets   *sets      // of schemas
	parts  []kit.Part // that run beside the engine
}

// New makes an App on a store. The caller closes the store. The error reports all faults of the
// configuration and the definitions at once, by name.
func New(w world.World, cfg Config) (*App, error) {
	fault := world.MayOpen()
	if kit.IsNil(w) {
		w, fault = nil, cmp.Or(fault, fmt.Errorf("%w: the store is nil: pass the one that sqlite.Open or postgres.Open returned", ErrInvalid))
	}
	if cfg.overrides.Stall == 0 { // a test's App is the same everywhere
		fault = errors.Join(fault, cfg.environment(os.Getenv))
	}
	return newApp(w, cfg, fault)
}

// newApp makes an App. What is wrong besides its configuration is reported with that. Without a world it can [App.Check], and nothing else.
func newApp(w world.World, cfg Config, besides error) (*App, error) {
	fault := errors.Join(besides, cfg.defaults())
	if w != nil && cfg.Encryption != nil {
		w = crypt.Wrap(w, cfg.Encryption)
	}
	stored := w != nil
	if !stored {
		w = world.Unimplemented{}
	}
	w = apart.Wrap(w, cfg.overrides.Apart)
	able := w.Abilities()
	book := engine.NewBook(w, cfg.MaxRetention)
	r := &registrar{cfg: &cfg, book: book, known: workflows{}, values: w.Values()}
	for i, d := range cfg.Definitions {
		if kit.IsNil(d) {
			r.faults = append(r.faults, fmt.Errorf("%w: Config.Definitions[%d] is nil", ErrInvalid, i))
			continue
		}
		d.register(r)
	}
	for _, d := range r.alone {
		if !slices.Contains(r.seen, d) {
			d.register(r)
		}
	}
	for _, p := range r.parts {
		if p.Check != nil && stored {
			r.faults = append(r.faults, p.Check(able))
		}
	}
	r.faults = append(r.faults, twoScopes(r)...)
	app := &App{world: w, able: able, cfg: cfg, book: book, errors: &r.errors, known: r.known, has: r.manifest(), sets: &sets{whole: make(chan struct{}, 1)}, parts: r.parts}
	for _, wf := range r.workflows {
		r.known.add(wf)
	}
	var secret []byte
	if cfg.overrides.Stall != 0 {
		secret = []byte("of a test: the same tokens each time")
	}
	e, err := engine.New(engine.Config{
		World: w, Workflows: r.workflows, Steps: r.steps, Name: cfg.Name, Build: cfg.Build,
		Runs: cfg.MaxRuns, StepSlots: cfg.MaxSteps, Lease: cfg.Lease, Poll: cfg.Poll, Sweep: cfg.SweepInterval, Drain: cfg.Drain, Idle: cfg.Idle, FailUnknown: cfg.FailUnknown,
		CancelGrace: cfg.CancelGrace, CacheRuns: cfg.CacheRuns, CacheBytes: cfg.CacheBytes, MaxPayload: cfg.MaxPayload, MaxValue: cfg.MaxValue,
		Whole: func(ctx context.Context, run string, payload []byte, id string) ([]byte, error) {
			return wholeOf(ctx, w.Values(), run, payload, id)
		},
		Strict: cfg.Strict, Logger: cfg.Logger, Observer: cfg.Observer, Stall: cfg.overrides.Stall, Unread: cfg.overrides.Unread, Secret: secret,
		Record: func(err error) *world.Error { return codec.FromError(err, &r.errors) },
		App:    app, Book: book, Joined: func(before, now time.Duration) { tellLimit(r.workflows, &cfg, before, now) },
	})
	if err := errors.Join(append(r.faults, fault, err)...); err != nil {
		return nil, fmt.Errorf("stepwell.New: %w", err)
	}
	app.engine = e
	for _, wf := range r.workflows {
		tellLowered(cfg.Logger.With("workflow.name", wf.Name), wf.Retention, book.Most())
	}
	return app, nil
}

// Run works on runs until ctx ends. Then it claims no more runs, waits for step bodies (see
// [Config].Drain), hands back unfinished runs, and returns once everything that it started has
// ended. While the database is unreachable, also at the start, Run keeps trying and logs it.
//
// Run fails at once if trying again cannot help: [ErrWorkerExists] if another worker process has
// the database file, a closed store, a refused registration. Only one Run at a time is allowed, and
// none on an App that uses [App.Invoke].
func (a *App) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var parts sync.WaitGroup
	for _, p := range a.parts {
		parts.Go(func() { p.Run(ctx, kit.AppOf(a)) })
	}
	parts.Go(func() { courierOf(a).Run(ctx) })
	parts.Go(func() { timetableOf(a).Run(ctx) })
	warnOfLimits(ctx, a)
	err := a.engine.Run(ctx)
	stop()
	parts.Wait()
	return err
}

// part is a definition of what an App does beside runs and steps.
type part kit.Part

func (p part) register(r *registrar) {
	if p.Fault != nil {
		r.faults = append(r.faults, p.Fault)
	}
	if p.Alone != "" && slices.ContainsFunc(r.parts, func(other kit.Part) bool { return other.Alone == p.Alone }) {
		r.faults = append(r.faults, fmt.Errorf("%w: Config.Definitions has %s twice: leave out one", ErrInvalid, p.Alone))
	}
	r.parts = append(r.parts, kit.Part(p))
}
