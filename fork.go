package stepwell

// New runs from old ones: from the start, from any event. See retry.go for those that go on from what failed.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/stepwell/stepwell/internal/crypt"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/history"
	"github.com/stepwell/stepwell/world"
)

// ForkOptions says where a fork begins and what it changes. The zero value forks after the last
// event.
type ForkOptions struct {
	// At is the number of the last event that the fork takes over; 0: the last event. It cannot be
	// an event of a segment that [KeepSegments] deleted.
	At int64
	// ID is the fork's run ID; "": a new one.
	ID string
	// Version is the version of the workflow; 0: the source's.
	Version int
	// Input replaces the input of the source, or of its newest segment (see [ContinueAsNew]). Nil:
	// unchanged.
	Input json.RawMessage
	// Results replaces results of steps before At, also failures. Keys are step names as
	// [App.Story] shows them ("charge", "poll[2]") or step IDs. A step that had not ended at At then
	// ends with the given result.
	Results map[string]json.RawMessage
}

// Fork begins a new run that takes over another run's log up to an event: input, seed, version,
// attributes, and results with their times. Completed steps do not run again. Unfinished steps and
// children are requested again. Waits keep their deadlines; overdue ones end at once.
//
// The source does not change, and need not be over. Later events, and payloads that are not in the
// log yet, stay with the source. The fork gets new hook tokens, which its code and attributes see;
// if the source is over and a token is free, the fork keeps that token. A fork has no parent and no
// idempotency key, and is not paused. Its retention counts from now. The time between the event and
// the fork does not count for its timeout.
//
// Fork is one commit of any size. Errors: [ErrNotFound]; [ErrRunExists]; [ErrInvalid] for an
// unknown event or step, and for an input that does not fit.
func (a *App) Fork(ctx context.Context, run string, o ForkOptions) (*Run[json.RawMessage], error) {
	h, err := a.history(ctx, run, max(o.At, 0))
	if err != nil {
		return nil, fmt.Errorf("fork run %s: %w", run, err)
	}
	if err := world.CheckStart(h.Events[0].Birth.Workflow); err != nil {
		return nil, fmt.Errorf("fork run %s: %w", run, err)
	}
	cut := history.Cut{Run: o.ID, At: o.At, Version: o.Version, Input: o.Input, Results: map[string]json.RawMessage{}}
	if cut.At == 0 {
		cut.At = h.Last()
	}
	if o.ID != "" {
		err = world.CheckRunID(o.ID)
	}
	if err == nil && o.Input != nil {
		err = checkInput(ctx, a, h.Events[0].Birth.Workflow, cmp.Or(o.Version, engine.ClassOf(h.Events).Version), o.Input, true)
	}
	for name, v := range o.Results {
		id, ok := h.StepNamed(name, cut.At)
		if !ok {
			err = errors.Join(err, fmt.Errorf("%w: no step %q up to event %d", ErrInvalid, name, cut.At))
		}
		if bad := world.CheckJSON("the result", v); bad != nil {
			err = errors.Join(err, fmt.Errorf("step %q: %w", name, bad))
		}
		cut.Results[id] = v
	}
	var forked *Run[json.RawMessage]
	if err == nil {
		forked, err = a.fork(ctx, h, cut)
	}
	if err != nil {
		return nil, fmt.Errorf("fork run %s: %w", run, err)
	}
	return forked, nil
}

// RestartOptions says what a restarted run changes. The zero value restarts with the same input.
type RestartOptions struct {
	ID      string          // of the new run; "": a new one
	Version int             // of the workflow; 0: the highest that a live worker has
	Input   json.RawMessage // nil: unchanged

	// InPlace makes the new run replace the old one, which must be over and not completed. As after
	// a retry, starts with its key and callers that wait for its result get the new run. If another
	// run already replaced the old one (see [App.Newest]), the new run replaces that one. A
	// repeated restart in place returns the same run.
	InPlace bool
}

// Restart begins a new run with another run's workflow, input, priority, retention, timeout and
// tags. It takes over no results. The new run has no parent and no idempotency key. The other run
// does not change.
func (a *App) Restart(ctx context.Context, run string, o RestartOptions) (*Run[json.RawMessage], error) {
	made, err := restart(ctx, a, run, o, false)
	if err != nil {
		return nil, fmt.Errorf("restart run %s: %w", run, err)
	}
	return made, nil
}

// CheckRestart returns the error that [App.Restart] would return, and starts nothing.
func (a *App) CheckRestart(ctx context.Context, run string, o RestartOptions) error {
	if _, err := restart(ctx, a, run, o, true); err != nil {
		return fmt.Errorf("restart run %s: %w", run, err)
	}
	return nil
}

// place is the newest run in the place of another, which a restart in place takes; where that is not over, or completed, there is none to take.
func place(ctx context.Context, a *App, run string) (RunInfo, error) {
	newest, err := a.Newest(ctx, run)
	if err == nil && newest.ID == run && newest.Status == world.Completed {
		err = fmt.Errorf("%w: the run completed, so nothing can replace it", ErrInvalid)
	} else if err == nil && newest.ID == run && !newest.Status.Terminal() {
		err = fmt.Errorf("%w: the run is not over: cancel it first, or restart it without replacing it", ErrInvalid)
	}
	return newest, err
}

// restart begins a run again, or only checks whether it can.
func restart(ctx context.Context, a *App, run string, o RestartOptions, check bool) (*Run[json.RawMessage], error) {
	key := ""
	if o.InPlace {
		newest, err := place(ctx, a, run)
		if err != nil {
			return nil, err
		}
		if !newest.Status.Terminal() || newest.Status == world.Completed {
			return &Run[json.RawMessage]{app: a, id: newest.ID, existed: true}, nil
		}
		run = newest.ID
		key = world.RetryKey(run)
	}
	page, err := firstEvents(ctx, a.world, run)
	if err != nil {
		return nil, err
	}
	if err := crypt.Encrypted(run, page.Events); err != nil {
		return nil, err
	}
	if err := world.CheckFirst(run, firstOf(page.Events)); err != nil {
		return nil, err
	}
	created := &page.Events[0]
	if err := world.CheckStart(created.Birth.Workflow); err != nil {
		return nil, err
	}
	b := *created.Birth
	b.Version, b.Seed, b.Key, b.NotBefore, b.Parent = o.Version, 0, key, time.Time{}, nil
	b.Origin = &world.Origin{Run: run, Seq: created.Seq}
	b.Timeout = history.Timeout(page.Events)
	asked := fromLog(b.Retention)
	input, apart := []byte(o.Input), ""
	if input == nil {
		apart = created.Apart
		if input, err = gathered(run, page.Events); err != nil {
			return nil, err
		}
	}
	b.Gather = nil // it has all
	if err := settleAgain(ctx, a, &b); err != nil {
		return nil, err
	}
	if err := withInput(ctx, a, run, input, apart, func(whole []byte) error {
		return checkInput(ctx, a, b.Workflow, b.Version, whole, o.Input != nil)
	}); err != nil {
		return nil, err
	}
	if o.Input != nil {
		if b.Places, err = placesAgain(a, &b, b.Version, o.Input); err != nil {
			return nil, err
		}
	}
	if check {
		return nil, nil
	}
	started, err := a.engine.Start(ctx, engine.Birth{ID: o.ID, Birth: b, Input: input, Apart: apart})
	if err != nil {
		return nil, err
	}
	made := a.created(started.Run, &b, asked)
	made.existed = started.Existed
	return made, nil
}

// firstEvents are those of a run up to where it begins, or two of them.
func firstEvents(ctx context.Context, w world.World, run string) (page world.EventPage, err error) {
	page, err = w.Events(ctx, run, world.EventQuery{Limit: 2})
	began := func(e world.Event) bool { return e.Type == world.RunStarted }
	for err == nil && page.More && page.Events[0].Birth != nil && page.Events[0].Birth.Gather != nil && !slices.ContainsFunc(page.Events, began) {
		var next world.EventPage
		if next, err = w.Events(ctx, run, world.EventQuery{Cursor: page.Cursor}); err == nil {
			page.Events, page.Cursor, page.More = append(page.Events, next.Events...), next.Cursor, next.More
		}
	}
	return page, err
}

// gathered is the input of a run that begins with these events.
func gathered(run string, events []world.Event) (json.RawMessage, error) {
	created := &events[0]
	input, g := created.Payload, created.Birth.Gather
	for i := 1; g != nil; i++ {
		switch {
		case i == len(events):
			return input, nil
		case events[i].Seq != int64(i)+1:
			return nil, fmt.Errorf("%w: the inputs that run %s gathered were trimmed with its first segment: give an input", ErrInvalid, run)
		case events[i].Type == world.InputReceived:
			input = g.JoinInput(input, events[i].Payload)
		case events[i].Type == world.RunStarted:
			return input, nil
		}
	}
	return input, nil
}

// created is the handle of a run that was made of another, which is kept for as long as asked says.
func (a *App) created(run string, b *world.Birth, asked time.Duration) *Run[json.RawMessage] {
	a.tellLowered(run, b.Workflow, asked)
	return &Run[json.RawMessage]{app: a, id: run, retention: fromLog(b.Retention)}
}

// history reads the whole log of a run. Where it is damaged behind an event that is not 0, what is before the damage is enough.
func (a *App) history(ctx context.Context, run string, upTo int64) (*history.History, error) {
	h := &history.History{Run: run}
	for e, err := range wholeLog(ctx, a.world, run, upTo) {
		if damaged := errors.Is(err, world.ErrCorrupt) || errors.Is(err, world.ErrFormat); damaged && upTo > 0 && h.Last() >= upTo {
			break
		}
		if err != nil {
			return nil, err
		}
		h.Events = append(h.Events, e)
	}
	return h, crypt.Encrypted(run, h.Events)
}

// wholeLog yields a log from its birth on. No page that it reads up to an event, 0: none, goes on behind that event's commit.
func wholeLog(ctx context.Context, w world.World, run string, upTo int64) iter.Seq2[world.Event, error] {
	return func(yield func(world.Event, error) bool) {
		last, q := int64(0), world.EventQuery{}
		for page := (world.EventPage{More: true}); page.More; q.Cursor = page.Cursor {
			q.Limit = int(min(max(upTo-last, 0), 1000))
			var err error
			if page, err = w.Events(ctx, run, q); err == nil && last == 0 {
				if err = world.CheckFirst(run, firstOf(page.Events)); err != nil && len(page.Events) == 0 {
					if _, gone := w.Run(ctx, run); gone != nil { // swept between two statements
						err = gone
					}
				}
			}
			if err != nil {
				yield(world.Event{}, fmt.Errorf("events of run %s: %w", run, err))
				return
			}
			for _, e := range page.Events {
				if last = e.Seq; !yield(e, nil) {
					return
				}
			}
		}
	}
}

// firstOf is the first of events, nil where there is none.
func firstOf(events []world.Event) *world.Event {
	if len(events) == 0 {
		return nil
	}
	return &events[0]
}

// fork writes a fork.
func (a *App) fork(ctx context.Context, h *history.History, cut history.Cut) (*Run[json.RawMessage], error) {
	cut.Created, cut.By = world.Now(), a.by(ctx)
	if cut.Run == "" {
		cut.Run = world.NewID(world.PrefixRun, cut.Created)
	}
	if h.Events[len(h.Events)-1].Type.Terminal() {
		cut.KeepToken = func(token string) bool {
			holder, err := a.holder(ctx, token)
			return err == nil && holder == ""
		}
	}
	existing, err := createFork(ctx, a, h, cut)
	for try := 0; errors.Is(err, world.ErrConflict) && cut.KeepToken != nil && !cut.Late; try++ { // another has just taken a token
		if try == tokenTries {
			cut.KeepToken = nil
		}
		existing, err = createFork(ctx, a, h, cut)
	}
	if err != nil {
		return nil, err
	}
	if existing != "" {
		return &Run[json.RawMessage]{app: a, id: existing, existed: true}, nil
	}
	birth := *h.Events[0].Birth
	asked := fromLog(birth.Retention)
	birth.Retention = clampRetention(birth.Retention, a.book.Most())
	return a.created(cut.Run, &birth, asked), nil
}

// tokenTries is how often a fork asks again who has its source's tokens, before it has new ones.
const tokenTries = 3

func createFork(ctx context.Context, a *App, h *history.History, cut history.Cut) (existing string, err error) {
	events, err := h.Fork(cut)
	if err != nil {
		return "", err
	}
	limit, err := a.book.Limit(ctx)
	if err != nil {
		return "", err
	}
	created := events[0].Birth
	created.Retention = clampRetention(created.Retention, limit)
	if cut.Input != nil && string(events[0].Payload) == string(cut.Input) { // else it is that of a later segment
		if created.Places, err = placesAgain(a, created, cmp.Or(created.Version, engine.ClassOf(h.Events).Version), cut.Input); err != nil {
			return "", err
		}
	}
	holdSent(events)
	return engine.CreateFromLog(ctx, a.world, buildOf(h), cut.Run, events)
}

// holdSent has the birth of a fork name the values that were sent to its origin: events and payloads of hooks name none
// themselves, as whoever sends may name anything. The fork holds those that its origin does.
func holdSent(events []world.Event) {
	whole, names := world.SplitApart(events[0].Apart)
	for i := range events {
		if e := &events[i]; e.Type == world.SignalReceived || e.Type == world.HookReceived {
			for _, a := range world.Named(e.Payload) {
				if !slices.Contains(names, a.ID) && len(names) < world.MaxNamed {
					names = append(names, a.ID)
				}
			}
		}
	}
	events[0].Apart = world.JoinApart(whole, names)
}

// holder is the run that has a token; "": none.
func (a *App) holder(ctx context.Context, token string) (string, error) {
	holders, err := a.world.Hooks(ctx, world.HookQuery{Token: token, Limit: 1})
	if err != nil || len(holders) == 0 {
		return "", err
	}
	return holders[0].Run, nil
}
