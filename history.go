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

// History is the log of one run, outside of any database: what [App.Export] writes and
// [ReadHistories] reads.
type History struct {
	Run        string
	ExportedAt time.Time
	Events     []world.Event // from run_created on, without trimmed segments; a running run's have no end
	values     history.Values
}

// HasValues reports whether the history brings the values over 1 MiB that its events refer to: see
// [WithValues].
func (h *History) HasValues() bool { return h.values != nil }

func (h *History) log() *history.History {
	return &history.History{Run: h.Run, ExportedAt: h.ExportedAt, Events: h.Events, Values: h.values}
}

// ReadHistories yields the histories of a file that [App.Export] or stepwell export wrote, one behind the other. Each is a whole log that could
// be; a file that was cut off, or holds something else, is an error that names the line, and the last thing that is yielded.
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

// Export writes the log of a run as lines of JSON: a head, an event a line, and an end. Histories can follow each other in one file. What waits in
// the run's inbox is not in its log, and so not in the file. Payloads are written as they are: those of a run that is encrypted stay so, unless [Decrypted] is given;
// others are there for all to read, secrets included, and so are the tokens of hooks: who has the file may send to those that are open. A client of a
// server with a viewer's key is shown neither these nor the seed: such a history can be looked at and checked; with an open hook it is not imported.
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

// ExportOption changes what an export writes: [Decrypted], [WithValues].
type ExportOption interface{ exportOption(*exportOptions) }

type exportOptions struct{ decrypted, values bool }

func (d decryptedOption) exportOption(o *exportOptions) { o.decrypted = bool(d) }

type decryptedOption bool

// Decrypted writes the payloads of an encrypted run in plain text, for a reader without the key. An App that does not have it itself is told [ErrNoKey].
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

// ImportOptions says how a history becomes a run. The zero value is the careful way.
type ImportOptions struct {
	// Go lets a run that is not over go on at once, as soon as a worker has it. Without it the run is paused: a copy of a run that
	// works elsewhere would do everything a second time. [App.Resume] lets it go on later.
	Go bool
}

// Import writes a history into this App's world, as a run with the same ID. One that is over is kept, from now on, as long as its retention says.
// Steps whose bodies ran when it was exported run again when it goes on; what its hooks were sent since then is not there, nor are its
// children, unless they are imported too. Where segments were trimmed, events are numbered anew.
//
// It is one commit, however long the log is: the run is there as a whole or not at all. Others that write to a SQLite file wait for a long one.
//
// A history that is encrypted is decrypted with its key, without which it is refused with [ErrNoKey], with
// another one under its ID with [ErrWrongKey], and encrypted with the key of new runs.
//
// The values that it refers to come with a history that was exported [WithValues], as long as [ReadHistories] has not
// gone on to the next; without them it is refused. They keep their IDs, but where another run has them here. All of
// them are held against the log before anything is written.
//
// Errors: [ErrRunExists] where the ID, or the idempotency key, or that of a start that was merged into it, is taken;
// [world.ErrCorrupt] for a value that is not what was written; what the world says where another run holds the token
// of an open hook. Nothing was written then.
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

// Check holds this App's code against a history, as a worker that claims the run would: it replays the log, runs no step, and reads and writes
// nothing. It returns nil where the code goes on from the log's end, or ends as the log says. So a build can be tested, before it is deployed,
// against what production has recorded; see package check for a program that does it when it is told to, and package stepwelltest.
//
// Errors: [*DivergedError] says what the log has and what the code asks for; [ErrInvalid] tells of a workflow or version that is not among the
// App's definitions; others say what would block the run. As a worker does, it replays a continued run from its newest segment. With
// [Config].Strict, inputs are compared too.
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
