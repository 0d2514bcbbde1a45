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
	"strings"
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

// Config says what an [App] is. The zero value is a client: it starts runs by name, looks at them, signals and cancels them; what
// works on them is another App, with Definitions.
//
// What a program leaves zero, whoever runs it can set: MaxRuns by the environment variable STEPWELL_MAX_RUNS, Drain by STEPWELL_DRAIN=30s, and
// so on; operating.md in docs has all. Under stepwell dev, STEPWELL_STRICT is true.
type Config struct {
	// Definitions are the workflows and registered steps that this program can run, and the errors that it knows: see [KnownError].
	Definitions []Definition
	// Database is what [Main] opens: a URL, as [Open] takes it; "": what the environment names, or else the file stepwell.db. New
	// does not look at it.
	Database string
	// MaxRuns is how many runs are worked on at once; runs that wait do not count. Default 256.
	MaxRuns int
	// MaxSteps is how many bodies of steps run at once. Default 256: enough that commits share their syncs; lower it where bodies hold what
	// is scarce, such as connections of a pool.
	MaxSteps int
	// MaxPayload is the limit of what is sent (the payload of an event or a hook, a chunk of a stream) and of metadata,
	// encoded, in bytes. Default 1 MiB, which is also the most. The code of a run keeps the MaxPayload and MaxValue of the worker
	// that began it, or its segment, in the log: what was refused stays refused.
	MaxPayload int
	// MaxValue is the limit of one encoded value of a run (its input and output, the input and result of a step) in bytes;
	// over 1 MiB it is kept apart from the log. Default 64 MiB, as such a value is whole in memory; MaxPayload, where that
	// is set; at most 1 GiB. What a transaction writes has at most MaxPayload bytes.
	MaxValue int
	// MaxRetention is the most that ended runs are kept: what asks for more is lowered, and the log says so. Default 365 days; [Forever] sets no limit. A worker that
	// says it lowers it for the whole database when it joins: from then on all who start runs there keep to the lowest that was said, and whoever says
	// nothing keeps to that alone. The command stepwell retention shows it, and raises it.
	MaxRetention time.Duration
	// SweepInterval is the time between deletions of ended runs whose retention is over. Default 5 min; below 0: never here.
	SweepInterval time.Duration
	// Lease is how long this worker is believed alive when it is not heard of: its runs go to others after that. Default 10 s.
	Lease time.Duration
	// Poll is how often this worker looks for work that nobody told it of. Default 5 s; on PostgreSQL a minute while it can listen.
	Poll time.Duration
	// Drain is how long a shutdown waits for bodies of steps before their contexts end with [ErrDraining]. Default 10 s.
	Drain time.Duration
	// Slice is how long an App that works on demand works on one message, where its caller does not say: see [App.Invoke]. Default [push.DefaultSlice]; at least 1 s.
	Slice time.Duration
	// Idle is how long an App that works on demand stays a worker when no message comes: see [App.Invoke]. Default 30 s.
	Idle time.Duration
	// CancelGrace is how long a step of a cancelled run may take to return. Default 10 s.
	CancelGrace time.Duration
	// CacheRuns is how many waiting runs are kept in memory, so that they need not be replayed when they go on; CacheBytes what
	// they may take, estimated, with the large values that their code has read. Defaults 1,000 and 64 MiB; below 0: none.
	CacheRuns  int
	CacheBytes int
	// Strict checks determinism at every suspension and before the end, by a replay beside the live run: the first difference, in what was asked for or what it
	// came to, blocks the run, with a [*DivergedError] that tells both sides. It costs time; use it in tests.
	Strict bool
	// FailOn is what fails a run instead of blocking it, for workflows whose definition does not say it: see the function FailOn. Default: nothing does.
	FailOn []string
	// FailUnknown is for how long no live worker has had the workflow and version of a run that is ready, or the
	// registered step that a run waits for, until the run fails with code NO_WORKER. This worker decides, for all runs
	// of the database, by what it sees while it works, so it must have worked for that long; a worker that has it, and
	// is there at one of its looks, begins that time anew. Choose longer than any deploy or outage may take. Where a
	// worker has the code of the run, it undoes what it did; else nothing is undone. Default: such runs wait.
	FailUnknown time.Duration
	// PublicURL is where the outside world reaches the server: https://hooks.example.com, perhaps with a path. Package webhook makes URLs with it; each webhook
	// keeps the one that it was opened with. Default: http://127.0.0.1:7373.
	PublicURL string
	// Name is what people call this worker. Default: host name and process ID.
	Name string
	// Build names this program's build in the log. Default: the revision that it was built from, with +changes behind it where
	// it had some, or unstamped where none is known, and then a sum of the executable.
	Build string
	// Logger is told what operators should know: a run that is blocked or failed, a workflow or step that nobody has, a lost lease, a database that is away and is
	// back. Each line says what to do, and of one kind there are at most ten a minute; the level debug has the others. [Context.Logger] writes to it too.
	// Default: [slog.Default], from warnings up, and all of what the workflows' code says. slog.New(slog.DiscardHandler) says nothing.
	Logger *slog.Logger
	// Encryption are the keys with which payloads are encrypted at rest: inputs, outputs, results, errors, what events, hooks and streams carry. The first is that
	// of runs that are started here; a run keeps its key. Default: nothing is encrypted. See package keyring.
	Encryption *keyring.Ring
	// Observer is told what happens, for metrics and spans: see packages observe and telemetry. Default: nobody is.
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

// App is a program's connection to its runs: a worker while [App.Run] runs, and a client always. It is safe for concurrent use.
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

// New makes an App on a world, which stays the caller's to close. All faults of the configuration and of definitions are reported
// at once, with their names.
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

// lacking names what authors call that a store cannot do: it fails, or is left out, only when it is used.
func lacking(able *world.Abilities) (all []string) {
	for _, of := range []struct {
		name string
		has  bool
	}{
		{"queues", able.MessageKeeper != nil}, {"topics", able.TopicKeeper != nil}, {"schedules", able.ScheduleKeeper != nil},
		{"limits", able.LimitKeeper != nil}, {"large values", able.ApartKeeper != nil},
	} {
		if !of.has {
			all = append(all, of.name)
		}
	}
	return all
}

// newApp makes an App. What is wrong besides its configuration is reported with that. Without a world it can [App.Check], and nothing else.
func newApp(w world.World, cfg Config, besides error) (*App, error) {
	fault := errors.Join(besides, cfg.defaults())
	if w != nil && cfg.Encryption != nil {
		w = crypt.Wrap(w, cfg.Encryption)
	}
	able := world.AbilitiesOf(w)
	if able.ApartKeeper == nil {
		cfg.MaxValue = min(cfg.MaxValue, cfg.MaxPayload)
	} else {
		w = apart.Wrap(w, cfg.overrides.Apart)
		able = world.AbilitiesOf(w)
	}
	if lacks := lacking(&able); w != nil && len(lacks) > 0 {
		cfg.Logger.Warn("this store cannot do all that Stepwell's can", "lacks", strings.Join(lacks, ", "),
			"hint", "a type around a store has its abilities only if it has a method Abilities: see Wrapper, beside the store's interface")
	}
	book := engine.NewBook(able.Definer, cfg.MaxRetention)
	r := &registrar{cfg: &cfg, book: book, known: workflows{}, keeper: able.ApartKeeper}
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
		if p.Check != nil && w != nil {
			r.faults = append(r.faults, p.Check(able))
		}
	}
	r.faults = append(r.faults, twoScopes(r)...)
	if w != nil && able.LimitKeeper == nil {
		for _, wf := range r.workflows {
			if len(wf.Limits) > 0 {
				r.faults = append(r.faults, fmt.Errorf("workflow %q: %w: its store does not support limits", wf.Name, ErrInvalid))
			}
		}
		for _, st := range r.steps {
			if len(st.Limits) > 0 {
				r.faults = append(r.faults, fmt.Errorf("step %q: %w: its store does not support limits", st.Name, ErrInvalid))
			}
		}
	}
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
			return wholeOf(ctx, able.ApartKeeper, run, payload, id)
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

// Run works on runs until ctx ends; then it claims nothing more, lets bodies of steps end (see [Config].Drain), hands back what is
// not finished, and returns when all that it started has ended. An App runs once at a time. While the database is away it tries to
// reach it, and says so in the log, also before it has begun. An App that works on demand, see [App.Invoke], cannot run. It fails at once with what trying cannot mend: [ErrWorkerExists] where
// another worker process has the database file, a world that is closed, or refuses the registration.
func (a *App) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var parts sync.WaitGroup
	for _, p := range a.parts {
		parts.Go(func() { p.Run(ctx, kit.AppOf(a)) })
	}
	if c := courierOf(a); c != nil {
		parts.Go(func() { c.Run(ctx) })
	}
	if k := timetableOf(a); k != nil {
		parts.Go(func() { k.Run(ctx) })
	}
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

// messagesOf are the queues of the App's world; nil: it keeps none.
func messagesOf(a *App) world.Messenger {
	if a.able.MessageKeeper == nil {
		return nil
	}
	return a.able.MessageKeeper.Messages()
}
