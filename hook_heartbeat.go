package stepwell

// Heartbeats of hooks: who holds the token says "still at it".

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

func (h heartbeatTimeout) hookOption(o *hookOptions) {
	o.heartbeat, o.attended = time.Duration(h), true
}

// attend says in a hook's metadata that it has a HeartbeatTimeout.
func (o *hookOptions) attend(metadata json.RawMessage) (json.RawMessage, error) {
	if !o.attended {
		return metadata, nil
	}
	if o.heartbeat < journal.LeastHeartbeat {
		return nil, fmt.Errorf("hook: %w: heartbeat timeout %s: must be %s at least", ErrInvalid, o.heartbeat, journal.LeastHeartbeat)
	}
	return journal.Attend(o.heartbeat, metadata)
}

// waitAttended is Wait at a hook that has a HeartbeatTimeout. Each heartbeat that was written is taken when it comes, and
// its time is that of its event: so the code decides the same on replay.
func (h *Hook[T]) waitAttended(ctx Context, o *waitOptions) (r Received[T], err error) {
	key, _ := h.f.Key()
	in := &incoming[T]{kind: "hook", name: key.String()}
	begun, silence := ctx.Now(), journal.Silence(h.heartbeat)
	heard, never := begun, true
	listening, stop := WithCancel(ctx)
	defer stop()
	Go(listening, func(ctx Context) (struct{}, error) {
		heartbeat := Event[json.RawMessage](journal.Heartbeats + h.f.Op().ID)
		for {
			var until []EventOption // so that the log says by when heartbeats move the end no more
			if o.timed {
				rest := begun.Add(o.timeout).Sub(ctx.Now())
				if rest <= 0 {
					return struct{}{}, nil
				}
				until = append(until, Timeout(rest))
			}
			if _, ok, err := heartbeat.Wait(ctx, until...); err != nil || !ok {
				return struct{}{}, nil // it is stopped, or too late
			}
			heard, never = ctx.Now(), false
		}
	})
	for {
		left, last := heard.Add(silence).Sub(ctx.Now()), false
		if o.timed {
			if rest := begun.Add(o.timeout).Sub(ctx.Now()); rest <= left {
				left, last = rest, true
			}
		}
		f := ctx.x.ReceiveWithin(h.f, in.check(h.tell), left)
		r.Payload, err = in.result(ctx, f)
		switch {
		case !errors.Is(err, replay.ErrNoPayload):
			r.OK = err == nil
			return r, err
		case last:
			return r, nil
		case !ctx.Now().Before(heard.Add(silence)):
			return r, &silentError{of: in.of(), since: heard, after: h.heartbeat, never: never}
		}
	}
}

// silentError is [ErrHeartbeat], and [ErrTimeout]: nobody has said for too long that they are still at it.
type silentError struct {
	of    string
	since time.Time
	after time.Duration
	never bool // nobody was ever heard: it was waited for since then
}

func (e *silentError) Error() string {
	if e.never {
		return fmt.Sprintf("no payload arrived for %s, and no heartbeat for %s: nobody has been heard from since %s", e.of, human.Span(e.after), e.since.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("no payload arrived for %s, and no heartbeat for %s; the last one came at %s", e.of, human.Span(e.after), e.since.UTC().Format(time.RFC3339))
}

func (e *silentError) Is(target error) bool { return target == ErrHeartbeat || target == ErrTimeout }

// HeartbeatHook reports that the holder of a hook's token is still working, for a hook with a
// [HeartbeatTimeout]. details is shown to people: JSON of at most 4 KiB, or nil. HeartbeatHook
// returns once the report is durable.
//
// You may call it often: in each eighth of the timeout only the first report is written. A later
// one in the same eighth succeeds without effect, and its details are dropped.
//
// Errors: [ErrNotFound] if no active hook has the token; [ErrTerminal] if the hook ended with its
// run; [ErrInvalid] if the hook has no HeartbeatTimeout; [ErrNoKey] if the hook's metadata is
// encrypted and this App lacks the key; [ErrInboxFull]; [ErrTooLarge]; encoding errors.
func (a *App) HeartbeatHook(ctx context.Context, token string, details any) error {
	b, err := codec.Encode(details, world.MaxProgress)
	if raw, ok := details.(json.RawMessage); ok && err == nil { // it is nothing that Go encoded
		err = world.CheckJSON("details", raw)
	}
	if err != nil {
		return fmt.Errorf("heartbeat of hook %q: %w", world.ShownToken(token), err)
	}
	if err := heartbeatHook(ctx, a, token, b); err != nil {
		return fmt.Errorf("heartbeat of hook %q: %w", world.ShownToken(token), err)
	}
	return nil
}

func heartbeatHook(ctx context.Context, app *App, token string, details json.RawMessage) error {
	if err := world.CheckToken(token); err != nil {
		return err
	}
	rows, err := app.Hooks(ctx, "", token)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return noHook(ctx, app, token)
	}
	row := &rows[0]
	switch {
	case row.Encrypted != "":
		return fmt.Errorf("%w: %s", ErrNoKey, row.Encrypted) // who has the token is not told the run
	case row.Heartbeat == "":
		return fmt.Errorf("%w: the hook takes no heartbeats, because it has no HeartbeatTimeout", ErrInvalid)
	}
	d, err := human.ParseSpan(row.Heartbeat)
	if err != nil {
		return err
	}
	now := time.Now()
	if keeper := app.able.Timekeeper; keeper != nil && !keeper.Time().IsZero() {
		now = keeper.Time()
	}
	return app.deliverAs(ctx, &world.Delivery{
		Run: row.Run, Print: []byte("heartbeat"), // what comes again within its time is the same one, whatever it says
		ID:     fmt.Sprintf("%s%s/%d", journal.Heartbeats, row.ID, now.UnixNano()/int64(d/journal.HeartbeatsIn)),
		Events: []world.Event{{Type: world.SignalReceived, Name: journal.Heartbeats + row.ID, Payload: details}},
	}, nil)
}

// noHook says why no active hook has a token.
func noHook(ctx context.Context, app *App, token string) error {
	ended, err := app.EndedHook(ctx, token)
	if err != nil {
		return err
	}
	info, err := app.row(ctx, ended.Run)
	switch {
	case err != nil:
		return err
	case info.Status.Terminal():
		return ErrTerminal
	}
	return ErrNotFound
}

// heardAt says of an entry that waits for heartbeats of a hook when the last one came.
func heardAt(j *journal.Journal, en *journal.Entry, now time.Time) (text string, ok bool) {
	hook := en.Attends()
	if hook == "" {
		return "", false
	}
	name, text := hook, "no heartbeat has arrived yet"
	for _, other := range j.Entries {
		switch {
		case other.ID == hook:
			name = other.Name
		case other.Name == en.Name && other.Kind == en.Kind && other.Outcome == world.OutcomeReceived:
			text = "last heard " + human.Relative(other.CompletedAt, now)
		}
	}
	return "hook " + quote(name) + ": " + text, true
}
