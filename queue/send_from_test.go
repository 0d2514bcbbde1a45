package queue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/stepwelltest/postgrestest"
	"github.com/stepwell/stepwell/stepwelltest/sqlitetest"
	"github.com/stepwell/stepwell/world"
)

var letters = queue.Define[mail]("letters")

// sender sends between steps, in a coroutine, and as the last thing that it does.
var sender = stepwell.Define("sender", func(ctx stepwell.Context, to string) (string, error) {
	if err := letters.SendFrom(ctx, mail{to, 1}, queue.Group(to)); err != nil {
		return "", err
	}
	if err := letters.SendFrom(ctx, mail{to, 2}, queue.Group(to)); err != nil {
		return "", err
	}
	if err := stepwell.Do(ctx, "work", func(context.Context) error { return nil }); err != nil {
		return "", err
	}
	_, err := stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) {
		return "", letters.SendFrom(ctx, mail{to, 3}, queue.Delay(time.Hour), queue.Priority(4), queue.Headers(map[string]string{"of": ctx.RunID()}))
	}).Get(ctx)
	if err != nil {
		return "", err
	}
	if err := stepwell.Sleep(ctx, "a day", 24*time.Hour); err != nil {
		return "", err
	}
	return "done", letters.SendFrom(ctx, mail{to, 4})
})

// holdsExactly tells an error unless a queue holds these messages, as text, in any order.
func holdsExactly(ctx context.Context, app *stepwell.App, q *queue.Queue[mail], want ...string) error {
	var got []string
	for {
		all, err := q.Receive(ctx, app, queue.Most(100))
		if err != nil {
			return err
		}
		for _, m := range all {
			got = append(got, fmt.Sprintf("%s %d %s", m.Payload.To, m.Payload.N, m.Group))
			if err := m.Ack(ctx); err != nil {
				return err
			}
		}
		if len(all) == 0 {
			break
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Errorf("messages: got %q, want %q", got, want)
	}
	return nil
}

func newEnv(t *testing.T, store stepwelltest.Store, definitions ...stepwell.Definition) *stepwelltest.Env {
	return stepwelltest.NewWith(t, stepwelltest.Options{Config: stepwell.Config{Definitions: definitions}, Store: store})
}

// TestSendFrom kills the worker before and after each commit: what its workflow sends is there once.
func TestSendFrom(t *testing.T) {
	stores := map[string]func(*testing.T) stepwelltest.Store{
		"memory":   func(*testing.T) stepwelltest.Store { return nil },
		"sqlite":   func(*testing.T) stepwelltest.Store { return sqlitetest.Store() },
		"postgres": func(t *testing.T) stepwelltest.Store { return postgrestest.Store(pgtest.URL(t)) },
	}
	for _, kind := range sample.OneKey(t, stores) {
		t.Run(kind, func(t *testing.T) {
			env := newEnv(t, stores[kind](t), sender)
			run := stepwelltest.Start(env, sender, "ann")
			env.Do(func(ctx context.Context, app *stepwell.App) error {
				return holdsExactly(ctx, app, letters, "ann 1 ann", "ann 2 ann")
			})
			env.Advance(25 * time.Hour)
			run.MustComplete()
			env.Do(func(ctx context.Context, app *stepwell.App) error {
				return holdsExactly(ctx, app, letters, "ann 3 ", "ann 4 ")
			})
			env.CrashEverywhere()
		})
	}
}

// TestSendFromRefuses: what is bad is refused before anything is written.
func TestSendFromRefuses(t *testing.T) {
	var got []error
	bad := stepwell.Define("bad", func(ctx stepwell.Context, _ string) (string, error) {
		got = []error{
			letters.SendFrom(ctx, mail{}, queue.DedupeID("once", 0)),
			letters.SendFrom(ctx, mail{}, queue.Priority(9)),
			letters.SendFrom(ctx, mail{}, queue.Group("g"), queue.Delay(time.Second)),
			queue.Define[mail]("not a name").SendFrom(ctx, mail{}),
			(*queue.Queue[mail])(nil).SendFrom(ctx, mail{}),
			letters.SendFrom(ctx, mail{To: strings.Repeat("x", world.MaxMessage)}),
		}
		return "done", nil
	})
	env := stepwelltest.New(t, bad)
	stepwelltest.Start(env, bad, "").MustComplete()
	for i, err := range got {
		want := stepwell.ErrInvalid
		if i == 5 {
			want = stepwell.ErrTooLarge
		}
		if !errors.Is(err, want) {
			t.Errorf("send %d: got %v, want %v", i, err, want)
		}
	}
}
