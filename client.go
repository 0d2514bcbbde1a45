package stepwell

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/stepwell/stepwell/internal/causes"
	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/schema"
	"github.com/stepwell/stepwell/world"
)

// Start begins a run of a workflow by its name, with a JSON input. See [Workflow.Start]. The run
// waits if no worker has the workflow.
//
// If this App or a live worker has the run's version, an input that does not fit its type is
// refused with an [*world.UnfitError]. Input that is not UTF-8 or repeats a member of an object is
// always refused, as is all raw JSON from outside: see [world.CheckJSON].
func (a *App) Start(ctx context.Context, workflow string, input json.RawMessage, opts ...StartOption) (*Run[json.RawMessage], error) {
	var o startOptions
	if err := kit.Given(opts, func(opt StartOption) { opt.startOption(&o) }); err != nil {
		return nil, fmt.Errorf("start %s: %w", workflow, err)
	}
	if err := o.settle(ctx, a.book, a.known, workflow); err != nil {
		return nil, fmt.Errorf("start %s: %w", workflow, err)
	}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("start %s: %w", workflow, err)
	}
	reading, cancel := o.beside(ctx)
	defer cancel()
	var err error
	if o.gathers, err = gathersOf(reading, a.book, a.known, world.Class{Workflow: workflow, Version: o.Version}); err != nil {
		return nil, fmt.Errorf("start %s: %w", workflow, err)
	}
	input = o.gathers.list(input)
	if err := checkStart(reading, a, workflow, input, &o); err != nil {
		return nil, fmt.Errorf("start %s: %w", workflow, err)
	}
	return startRun[json.RawMessage](ctx, a, workflow, input, &o)
}

// checkStart refuses an input, unless it was accepted before: a repeat is answered as ever, whatever the type is now.
func checkStart(ctx context.Context, a *App, workflow string, input []byte, o *startOptions) error {
	return unlessStarted(ctx, a, checkInput(ctx, a, workflow, o.Version, input, true), workflow, o.keyIn(ctx), o.ID)
}

// keyIn is the key of a start: its own, or that of the step whose body starts it.
func (o *startOptions) keyIn(ctx context.Context) string {
	if o.Key == "" && o.ID == "" {
		return Info(ctx).IdempotencyKey
	}
	return o.Key
}

// unlessStarted is the error of an input that does not fit, unless the key, or the ID, is a run's already.
func unlessStarted(ctx context.Context, a *App, err error, workflow, key, id string) error {
	if !errors.Is(err, ErrUnfit) {
		return err
	}
	if key != "" {
		page, bad := a.world.Runs(ctx, world.RunQuery{Workflow: workflow, Key: key, Limit: 1})
		if bad == nil && len(page.Runs) > 0 {
			return nil
		}
	}
	if id != "" {
		if _, bad := a.world.Run(ctx, id); bad == nil {
			return nil // it is told so
		}
	}
	return err
}

// checkInput refuses an input that is too large, or does not fit, and one from outside that is not JSON. What a log has came in by the rules of its day.
func checkInput(ctx context.Context, a *App, workflow string, version int, input []byte, outside bool) error {
	if err := codec.CheckSize(input, a.cfg.MaxValue); err != nil {
		return fmt.Errorf("input: %w", err)
	}
	if outside {
		if err := world.CheckJSON("it", input); err != nil {
			return fmt.Errorf("input: %w", err)
		}
	}
	if err := inputFits(ctx, a, workflow, version, input); err != nil {
		return fmt.Errorf("input: %w", err)
	}
	return nil
}

func startRun[Out any](ctx context.Context, a *App, workflow string, input []byte, o *startOptions) (*Run[Out], error) {
	if err := cmp.Or(world.CheckWorkflowName(workflow), world.CheckStart(workflow)); err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("start %s: %w", workflow, err)
	}
	if o.In != nil { // nothing is kept apart in a transaction
		if err := codec.CheckSize(input, a.cfg.MaxPayload); err != nil {
			return nil, fmt.Errorf("start %s: input, in a transaction: %w", workflow, err)
		}
	}
	also, err := alsoSent(a, o.also)
	if err == nil {
		err = alsoFit(ctx, a, workflow, o, also)
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", workflow, err)
	}
	limit, err := o.limit(ctx, a)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", workflow, err)
	}
	birth := o.birth(workflow, limit)
	if o.Key == "" && o.ID == "" {
		if birth.Key, err = engine.StartKey(ctx, workflow); err != nil {
			return nil, fmt.Errorf("start %s: %w", workflow, err)
		}
	}
	if birth.Attributes, err = o.allAttributes(); err != nil {
		return nil, fmt.Errorf("start %s: %w", workflow, err)
	}
	if o.places != nil {
		birth.Places, err = o.places(input)
	} else {
		birth.Places, err = placesOf(ctx, a.book, a.known, world.Class{Workflow: workflow, Version: o.Version}, input)
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", workflow, err)
	}
	if o.In != nil {
		if err := world.SingleInTx(&birth); err != nil {
			return nil, fmt.Errorf("start %s: %w", workflow, err)
		}
	}
	items := 0
	if birth.Gather, items, err = o.gathers.birth(o, input, a.cfg.MaxPayload); err != nil {
		return nil, fmt.Errorf("start %s: %w", workflow, err)
	}
	birth.Context = a.engine.Carry(ctx, workflow, birth.Context)
	started, err := a.engine.Start(ctx, engine.Birth{ID: o.ID, Birth: birth, Input: input, Delay: o.Delay, Tx: o.In, Signals: also, Ack: o.ack, Schedule: o.schedule, Items: items})
	if err != nil {
		return nil, err
	}
	run := &Run[Out]{app: a, id: started.Run, existed: started.Existed, merged: started.Merged}
	if started.Existed {
		newest, err := a.Newest(ctx, started.Run)
		if err == nil {
			run.id = newest.ID
		} else if !errors.Is(err, ErrNotFound) { // not swept, nor part of a transaction that is open
			return nil, fmt.Errorf("start %s: %w", workflow, err)
		}
		if err := sendAlso(ctx, a, started.Run, run.id, o, also); err != nil {
			return nil, fmt.Errorf("start %s: %w", workflow, err)
		}
	} else {
		asked := o.Retention
		if asked == 0 && !o.settled && a.known[world.Class{Workflow: workflow}] == nil { // of others their worker has told
			asked = o.retention
		}
		run.retention = fromLog(birth.Retention)
		a.tellLowered(run.id, workflow, asked)
	}
	return run, nil
}

// tellLowered is the function of that name, about a run; a logger of its own is made only where there is something to say.
func (a *App) tellLowered(run, workflow string, asked time.Duration) {
	if most := a.book.Most(); lowered(asked, most) {
		tellLowered(a.cfg.Logger.With("run_id", run, "workflow.name", workflow), asked, most)
	}
}

// Get returns one run. Error: [ErrNotFound].
func (a *App) Get(ctx context.Context, run string) (RunInfo, error) {
	info, err := a.row(ctx, run)
	if err == nil {
		readStart(ctx, a, &info)
		readGathered(ctx, a, &info)
	}
	return info, err
}

// readStart reads when a worker began a run.
func readStart(ctx context.Context, a *App, info *RunInfo) {
	if info.Status == world.Pending || !info.StartedAt.IsZero() {
		return
	}
	for e, err := range a.Events(ctx, info.ID, EventFilter{Types: []world.EventType{world.RunStarted}}) {
		if err == nil { // of a log that cannot be read it is not known
			info.StartedAt = e.Time
		}
		return
	}
}

// row reads one run as lists show it.
func (a *App) row(ctx context.Context, run string) (RunInfo, error) {
	row, err := a.world.Run(ctx, run)
	if err != nil {
		return RunInfo{}, fmt.Errorf("get run %s: %w", run, err)
	}
	return infoOf(row), nil
}

// ListFilter selects runs. Zero fields select all.
type ListFilter struct {
	Workflow string         // "": all
	Status   []world.Status // any of these statuses or other [world.StatusWords]; empty: all
	Since    time.Time      // created at or after
	Until    time.Time      // created before

	// Search is text by which a person knows a run: its ID, its idempotency key, its workflow, an
	// attribute as name=value, or the beginning of its ID. They are tried in this order, and the
	// first that matches any run counts. "": all.
	Search string

	// Key selects the run of each workflow with this idempotency key, or with a start of this key
	// merged into it. If that run was replaced, it selects the newest replacement: see
	// [App.Newest].
	Key     string
	Prefix  string // beginning of the run ID
	Version int    // 0: all
	Roots   bool   // only runs without a parent

	// Patch is an ID of [Patched] and selects runs that recorded it; Unpatched selects runs that
	// did not. The filter reads the log of each run that matches its other fields. A run with an
	// unreadable log is listed.
	Patch, Unpatched string

	// FailedSince selects runs that failed at or after this time, runs that have been blocked since
	// then, and runs with a step that failed since then and waits for its next attempt. For the
	// last the filter reads logs; a run with an unreadable log is listed. If Status is empty,
	// FailedSince and Cause select failed, blocked and retrying runs.
	FailedSince time.Time
	// Cause is the ID of a cause of failures, as the command stepwell failures lists them. It
	// selects runs with that cause that were not replaced.
	Cause string

	Parent string // only children of this run
	Origin string // only forks, restarts and retries of this run

	// Input is JSON that the input must contain, by the rule of [Match]: usually a Match. Nil: all.
	Input      any
	Attributes Match // attributes of the run, whose values contain these
}

// query checks a filter, and encodes what it matches.
func (f *ListFilter) query() (q world.RunQuery, err error) {
	if q, err = f.patterns(); err == nil {
		err = f.check()
	}
	if err != nil {
		return q, fmt.Errorf("list runs: filter by %w", err)
	}
	q.Workflow, q.Since, q.Until, q.Parent, q.Origin = f.Workflow, f.Since, f.Until, f.Parent, f.Origin
	q.Key, q.Prefix, q.Version, q.Roots = f.Key, f.Prefix, f.Version, f.Roots
	if q.Status = f.Status; len(q.Status) == 0 && (f.Cause != "" || !f.FailedSince.IsZero()) {
		q.Status = causes.Kinds()
	}
	return q, nil
}

// patterns are what a filter matches, as JSON.
func (f *ListFilter) patterns() (q world.RunQuery, err error) {
	if m, ok := f.Input.(Match); f.Input != nil && (!ok || m != nil) {
		p, err := pattern(f.Input)
		if err != nil {
			return q, fmt.Errorf("input: %w", err)
		}
		q.Input = []json.RawMessage{p}
	}
	if f.Attributes == nil {
		return q, nil
	}
	q.Attributes = make(map[string]json.RawMessage, len(f.Attributes))
	for name, v := range f.Attributes {
		if q.Attributes[name], err = pattern(v); err != nil {
			return q, fmt.Errorf("attribute %q: %w", name, err)
		}
	}
	return q, nil
}

// pattern is a value that is matched, as JSON.
func pattern(v any) (json.RawMessage, error) {
	if raw, ok := v.(json.RawMessage); ok {
		return raw, world.CheckJSON(fmt.Sprintf("%.100q", raw), raw)
	}
	b, err := codec.Encode(v, world.MaxCommit)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return b, world.CheckJSON(fmt.Sprintf("%.100q", b), b)
}

func (f *ListFilter) check() error {
	for name, run := range map[string]string{"parent": f.Parent, "origin": f.Origin} {
		if run == "" {
			continue
		}
		if err := world.CheckRunID(run); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, s := range f.Status {
		if err := world.CheckStatus("status", s); err != nil {
			return err
		}
	}
	if f.Version < 0 {
		return fmt.Errorf("version: %w: %d: must not be negative", ErrInvalid, f.Version)
	}
	for _, patch := range []string{f.Patch, f.Unpatched} {
		if patch == "" {
			continue
		}
		if err := world.CheckName("patch ID", patch); err != nil {
			return fmt.Errorf("patch: %w", err)
		}
	}
	if f.Cause != "" && !causes.IsID(f.Cause) {
		return fmt.Errorf("cause: %w: %.40q is not the ID of a cause: stepwell failures lists them", ErrInvalid, f.Cause)
	}
	return nil
}

// RunsPage is one page of a list of runs.
type RunsPage struct {
	Runs   []RunInfo // newest first; may be empty while there is a Cursor
	Cursor string    // continues the list in [App.Page]; "": the list ends here

	// Reached is the creation time of the last run that was examined, if there is a Cursor. Zero:
	// unknown.
	Reached time.Time
}

// Page returns one page of the list that [App.List] yields, from a cursor of an earlier page or,
// for "", from the beginning. limit is 100 by default, and at most 1,000. Page examines a bounded
// number of runs: with a filter, a page may be short, or empty, and still have a cursor.
func (a *App) Page(ctx context.Context, f ListFilter, cursor string, limit int) (out RunsPage, err error) {
	q, err := seek(ctx, a.world, &f)
	if err != nil {
		return out, err
	}
	q.Cursor, q.Limit = cursor, limit
	page, err := readPage(ctx, a, &f, q)
	if err != nil {
		return out, fmt.Errorf("list runs: %w", err)
	}
	for _, r := range page.Runs {
		out.Runs = append(out.Runs, infoOf(r))
	}
	out.Cursor, out.Reached = page.Cursor, page.Reached
	return out, nil
}

// List yields the selected runs, newest first. Runs may be created and end meanwhile: every run
// that exists throughout is yielded exactly once.
func (a *App) List(ctx context.Context, f ListFilter) iter.Seq2[RunInfo, error] {
	return func(yield func(RunInfo, error) bool) {
		q, err := seek(ctx, a.world, &f)
		if err != nil {
			yield(RunInfo{}, err)
			return
		}
		for {
			page, err := readPage(ctx, a, &f, q)
			if err != nil {
				yield(RunInfo{}, fmt.Errorf("list runs: %w", err))
				return
			}
			for _, r := range page.Runs {
				if !yield(infoOf(r), nil) {
					return
				}
			}
			if q.Cursor = page.Cursor; q.Cursor == "" {
				return
			}
		}
	}
}

// EventFilter selects events of a run.
type EventFilter struct {
	ID     string            // of one step, wait or hook; "": all
	Types  []world.EventType // empty: all
	Cursor string            // read on after this; see [world.Cursor]
}

// Events yields the events of a run's log in order, up to its current end.
func (a *App) Events(ctx context.Context, run string, f EventFilter) iter.Seq2[world.Event, error] {
	return eventsIn(ctx, a.world, run, f)
}

func eventsIn(ctx context.Context, w world.World, run string, f EventFilter) iter.Seq2[world.Event, error] {
	return func(yield func(world.Event, error) bool) {
		q := world.EventQuery{Cursor: f.Cursor, Types: f.Types, CorrelationID: f.ID}
		for {
			page, err := w.Events(ctx, run, q)
			if err != nil {
				yield(world.Event{}, fmt.Errorf("events of run %s: %w", run, err))
				return
			}
			for _, e := range page.Events {
				if !yield(e, nil) {
					return
				}
			}
			q.Cursor = page.Cursor
			if !page.More {
				return
			}
		}
	}
}

// Signal sends an event to a run, by the event's name and with a JSON payload. See [EventDef.Send].
// If the run's workflow declares the event (see [Accepts]), a payload that does not fit is refused
// with an [*world.UnfitError].
func (a *App) Signal(ctx context.Context, run, name string, payload json.RawMessage, opts ...SendOption) error {
	if err := sendSignal(ctx, a, run, name, payload, opts, eventFits(name)); err != nil {
		return fmt.Errorf("send event %q to run %s: %w", name, run, err)
	}
	return nil
}

// sendSignal sends an event whose payload fits, where somebody asks for that. Within a transaction of the caller's nobody does: it may hold all the connections.
func sendSignal(ctx context.Context, a *App, run, name string, payload json.RawMessage, opts []SendOption, fits func(*schema.Set, []byte) []world.Misfit) error {
	if err := world.CheckName("event", name); err != nil {
		return err
	}
	if err := a.checkPayload(payload); err != nil {
		return err
	}
	d := &world.Delivery{Run: run, Events: []world.Event{{Type: world.SignalReceived, Name: name, Payload: payload}}}
	if fits != nil && !sendsIn(opts) {
		if err := payloadFits(ctx, a, run, payload, fits); err != nil {
			return unlessSent(ctx, a, err, d, opts)
		}
	}
	return a.deliverAs(ctx, d, opts)
}

// unlessSent is the error of a payload that does not fit, unless it was accepted before: a repeat is answered as ever,
// whatever the type is by now.
func unlessSent(ctx context.Context, a *App, unfit error, d *world.Delivery, opts []SendOption) error {
	if !errors.Is(unfit, ErrUnfit) {
		return unfit
	}
	d.Repeat = true
	err := a.deliverAs(ctx, d, opts)
	if errors.Is(err, world.ErrNotFound) || errors.Is(err, world.ErrInvalid) { // a server that is older
		return unfit
	}
	return err
}

// checkPayload refuses what is too large, or not JSON.
func (a *App) checkPayload(payload json.RawMessage) error {
	if err := codec.CheckSize(payload, a.cfg.MaxPayload); err != nil {
		return fmt.Errorf("the payload: %w", err)
	}
	return world.CheckJSON("the payload", payload)
}

func (a *App) deliver(ctx context.Context, run string, e world.Event, opts []SendOption) error {
	return a.deliverAs(ctx, &world.Delivery{Run: run, Events: []world.Event{e}}, opts)
}

// wait blocks until a run is over. Where this App works on the run it is told at once; else the world tells of the end where it
// can; polling stands behind both. A step's body that has to wait yields its slot meanwhile.
func (a *App) wait(ctx context.Context, run string) (RunInfo, error) {
	ended, owned, stop := a.engine.Await(run)
	defer stop()
	var news <-chan struct{}
	poll, began := time.Second, time.Now()
	back := func() {}
	defer func() { back() }()
	for first := true; ; first = false {
		if !first || !owned {
			info, err := a.row(ctx, run)
			if err != nil || info.Status.Terminal() {
				return info, err
			}
			if info.Status == world.Pending && time.Since(began) > unheardAfter {
				a.engine.Unheard(ctx, world.Class{Workflow: info.Workflow, Version: info.Version}, run)
			}
			if news == nil {
				var stopNews func()
				news, stopNews = a.news(run)
				defer stopNews()
				poll = 10 * time.Millisecond
			} else {
				poll = min(poll*3/2, time.Second)
			}
		}
		if first {
			back = engine.Yield(ctx)
		}
		t := time.NewTimer(poll)
		select {
		case <-ctx.Done():
			t.Stop()
			return RunInfo{}, fmt.Errorf("wait for run %s: %w", run, context.Cause(ctx))
		case e := <-ended:
			t.Stop()
			return RunInfo{ID: run, Workflow: e.Workflow, Status: e.Status, Output: e.Output, OutputApart: e.Apart, Error: e.Error}, nil
		case <-news:
		case <-t.C:
		}
		t.Stop()
	}
}

// unheardAfter is how long somebody waits for a run that has not begun until it is asked whether any worker has its workflow.
const unheardAfter = 5 * time.Second

// news tells when a run may have ended elsewhere.
func (a *App) news(run string) (news <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	return c, a.world.Notify(func(n world.Notice) {
		if n.Kind == world.NoticeEnded && (n.Run == run || n.Run == "") {
			select {
			case c <- struct{}{}:
			default:
			}
		}
	})
}
