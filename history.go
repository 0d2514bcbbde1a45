package stepwell

// What one does with the log of a run outside of its database: keep it, bring it to another, and hold today's code against it.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/stepwell/stepwell/internal/crypt"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/history"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// History is the log of one run outside a database. [App.Export] writes it and [ReadHistories]
// reads it.
type History struct {
	Run        string    // run ID
	ExportedAt time.Time // when the export began
	// from run_created on, without trimmed segments; the events of a running run have no end
	Events []world.Event
	values history.Values
}

// HasValues reports whether the history includes the values over 1 MiB that its events refer to:
// see [WithValues].
func (h *History) HasValues() bool { return h.values != nil }

func (h *History) log() *history.History {
	return &history.History{Run: h.Run, ExportedAt: h.ExportedAt, Events: h.Events, Values: h.values}
}

// ReadHistories yields the histories in a file of [App.Export] or of the command stepwell export,
// in order. Each is a complete, valid log. For a truncated or invalid file it yields an error that
// names the line, and ends.
func ReadHistories(from io.Reader) iter.Seq2[*History, error] {
	return func(yield func(*History, error) bool) {
		if kit.IsNil(from) {
			yield(nil, kit.Missing("read histories: the reader"))
			return
		}
		for h, err := range history.Read(from) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(&History{h.Run, h.ExportedAt, h.Events, h.Values}, nil) {
				return
			}
		}
	}
}

// Export writes the log of a run as lines of JSON: a head, one line for each event, and an end. A
// file may contain several histories. Payloads that no worker has added to the log yet are left
// out.
//
// Payloads of an encrypted run stay encrypted, except with [Decrypted]. Payloads of other runs are
// readable, with any secrets in them. So are hook tokens: anyone with the file can send to open
// hooks. With a viewer's key on a server, tokens and the seed are left out: the history can be
// viewed and checked, but not imported if it has an open hook.
func (a *App) Export(ctx context.Context, run string, to io.Writer, opts ...ExportOption) error {
	var o exportOptions
	if err := kit.Given(opts, func(opt ExportOption) { opt.exportOption(&o) }); err != nil {
		return fmt.Errorf("export run %s: %w", run, err)
	}
	if kit.IsNil(to) {
		return kit.Missing("export run " + run + ": the writer")
	}
	from := a.world
	if !o.decrypted {
		from = world.Stored(from)
	}
	var w *history.Writer
	refs, format := newValueRefs(), history.Format
	if o.values {
		format = history.WithValues
	}
	for e, err := range wholeLog(ctx, from, run, 0) {
		if err == nil && o.decrypted {
			err = crypt.Encrypted(run, []world.Event{e})
		}
		if err != nil {
			return fmt.Errorf("export run %s: %w", run, err)
		}
		if w == nil { // the run is there
			if w, err = history.NewWriter(to, format, run, world.Now()); err != nil {
				return fmt.Errorf("export run %s: %w", run, err)
			}
		}
		if err := w.Add(&e); err != nil {
			return fmt.Errorf("export run %s: %w", run, err)
		}
		if o.values {
			refs.add(&e)
		}
	}
	if err := exportValues(ctx, from, run, refs, w); err != nil {
		return fmt.Errorf("export run %s: %w", run, err)
	}
	if err := w.End(); err != nil {
		return fmt.Errorf("export run %s: %w", run, err)
	}
	return nil
}

// ExportOption is an option of [App.Export]: [Decrypted], [WithValues].
type ExportOption interface{ exportOption(*exportOptions) }

type exportOptions struct{ decrypted, values bool }

func (d decryptedOption) exportOption(o *exportOptions) { o.decrypted = bool(d) }

type decryptedOption bool

// Decrypted writes the payloads of an encrypted run in plain text. The error is [ErrNoKey] if the
// App lacks the key.
func Decrypted() ExportOption { return decryptedOption(true) }

// opened is a history that can be read.
func (a *App) opened(h *history.History) (*history.History, error) {
	if crypt.Encrypted(h.Run, h.Events) == nil {
		return h, nil
	}
	c := *h
	if a.cfg.Encryption != nil {
		var err error
		if c.Events, err = crypt.Of(a.cfg.Encryption).OpenHistory(h.Events, h.Run); err != nil {
			return h, err
		}
	}
	return &c, crypt.Encrypted(c.Run, c.Events)
}

// ImportOptions are options of [App.Import].
type ImportOptions struct {
	// Go lets an unfinished run continue as soon as a worker claims it. Without it the run is
	// paused, because a copy of a run that works elsewhere would repeat its work. [App.Resume]
	// continues it.
	Go bool
}

// Import writes a history into this App's store, as a run with the same ID, in one commit. A long
// history blocks other writers of a SQLite file while it is written. Events of a trimmed log get
// new numbers. The retention of an ended run counts from the import.
//
// An unfinished run is paused unless o says Go. When it continues, it repeats the steps that ran
// when it was exported. Payloads that were sent to it after the export are missing. Its children
// are missing unless you import them too.
//
// An encrypted history is decrypted, and encrypted again with the key of new runs. The error is
// [ErrNoKey] if this App lacks the history's key, and [ErrWrongKey] if it has a different key with
// the same ID.
//
// A history that refers to large values must have been exported [WithValues], and must be imported
// before [ReadHistories] yields the next one. The values are checked against the log before
// anything is written. A value keeps its ID, unless another run of this store has a value with that
// ID.
//
// Errors, with nothing written: [ErrRunExists] if the run ID is taken, or if another run has its
// idempotency key or that of a start merged into it; [world.ErrCorrupt] for a damaged value;
// [world.ErrConflict] if another run holds the token of an open hook.
func (a *App) Import(ctx context.Context, h *History, o ImportOptions) error {
	if h == nil {
		return kit.Missing("import: the history")
	}
	if err := importRun(ctx, a, h.log(), o); err != nil {
		return fmt.Errorf("import run %s: %w", h.Run, err)
	}
	return nil
}

func importRun(ctx context.Context, a *App, h *history.History, o ImportOptions) (err error) {
	h, state, err := mayImport(a, h)
	if err != nil {
		return err
	}
	events := imported(h, state, o, a.cfg.Name)
	values := moving{a: a, h: h, ids: map[string]string{}}
	if values.refs, err = valuesToImport(ctx, a, h, events); err != nil {
		return err
	}
	if h.Values != nil {
		if _, err := a.world.Run(ctx, h.Run); !errors.Is(err, world.ErrNotFound) {
			return cmp.Or(err, ErrRunExists)
		}
		if err = values.move(ctx, events); err != nil {
			values.drop()
			return err
		}
	}
	existing, err := engine.CreateFromLog(ctx, a.world, buildOf(h), h.Run, events)
	switch {
	case err != nil || existing == "":
	case existing == h.Run:
		err = ErrRunExists
	default:
		err = fmt.Errorf("run %s has the same idempotency key, or one that was merged into its own: %w", existing, ErrRunExists)
	}
	if err != nil && !errors.Is(err, world.ErrUnknownOutcome) {
		values.drop()
	}
	return err
}

// mayImport refuses a history that no run can be made of, and returns it as it is imported: whole, and decrypted where its key is there.
func mayImport(a *App, h *history.History) (*history.History, *world.State, error) {
	whole, err := h.Whole()
	if err != nil {
		return nil, nil, err
	}
	if len(h.Events) == 0 {
		return nil, nil, fmt.Errorf("%w: a history without events", ErrInvalid)
	}
	state, err := whole.State()
	if err != nil {
		return nil, nil, err
	}
	if !state.Status.Terminal() && slices.ContainsFunc(whole.Events, func(e world.Event) bool { return world.Hidden(&e) }) {
		return nil, nil, fmt.Errorf("%w: it was exported with a viewer's key, which does not see tokens of hooks, so the run cannot continue from it; export it with an operator's key", ErrInvalid)
	}
	opened, err := a.opened(whole)
	return opened, state, err
}

// imported are the events of a history as they are written elsewhere.
func imported(h *history.History, state *world.State, o ImportOptions, by string) []world.Event {
	now := world.Now()
	events := make([]world.Event, len(h.Events), len(h.Events)+1)
	copy(events, h.Events)
	for i := range events {
		events[i].Commit, events[i].Build = 0, ""
	}
	switch {
	case state.Status.Terminal():
		birth := *events[0].Birth
		if gone := now.Sub(state.EndedAt); birth.Retention > 0 && gone > 0 {
			if birth.Retention += gone; birth.Retention < 0 { // more than there is
				birth.Retention = math.MaxInt64
			}
		}
		events[0].Birth = &birth
	case !o.Go && state.Paused == nil:
		at := now
		if at.Before(state.Time) {
			at = state.Time
		}
		events = append(events, world.Event{Seq: state.Seq + 1, Type: world.RunPaused, Time: at, By: by, Reason: "imported"})
	}
	return events
}

// buildOf is the build that wrote the end of the history.
func buildOf(h *history.History) string { return h.Events[len(h.Events)-1].Build }

// checkTime is how long code may take between two operations before a check gives it up.
const checkTime = 30 * time.Second

// Check replays a history with this App's code, as a worker that claims the run would. It runs no
// step, and reads and writes nothing. It returns nil if the code continues from the log's end, or
// ends as the log does. Use it to test a build against production's logs before you deploy it: see
// package check for a program that does so on command, and package stepwelltest.
//
// Errors: a [*DivergedError] if the code does not match the log; [ErrInvalid] if the workflow or
// version is not among the App's definitions; others for what would block the run. A continued run
// is replayed from its newest segment. With [Config].Strict, inputs are compared too.
func (a *App) Check(ctx context.Context, h *History) error {
	if h == nil || len(h.Events) == 0 {
		return fmt.Errorf("%w: check: a history without events", ErrInvalid)
	}
	err := a.replay(ctx, h.log())
	if diverged, ok := errors.AsType[*replay.DivergedError](err); ok {
		err = fmt.Errorf("run %s: %w", h.Run, (*DivergedError)(diverged))
		if h.Events[0].Birth.Seed == 0 {
			err = fmt.Errorf("%w (the history has no seed, because it was exported with a viewer's key, so random values in the code differ; export it with an operator's key)", err)
		}
	}
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	return nil
}

// replay holds this App's code against a history.
func (a *App) replay(ctx context.Context, h *history.History) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	h, err := a.opened(h)
	if err != nil {
		return err
	}
	return a.engine.Check(ctx, h.Run, h.Events)
}
