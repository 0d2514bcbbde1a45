package topic_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/topic"
	"github.com/stepwell/stepwell/world"
)

// publisher publishes between steps, in a coroutine, and as the last thing that it does.
var publisher = stepwell.Define("publisher", func(ctx stepwell.Context, order int) (string, error) {
	for cents := range 2 {
		if err := paidTopic.PublishFrom(ctx, paid{order, float64(cents)}, topic.Source("till")); err != nil {
			return "", err
		}
	}
	if err := stepwell.Do(ctx, "work", func(context.Context) error { return nil }); err != nil {
		return "", err
	}
	_, err := stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) {
		return "", paidTopic.PublishFrom(ctx, paid{order, 2}, topic.Delay(time.Minute), topic.Headers(map[string]string{"of": ctx.RunID()}))
	}).Get(ctx)
	if err != nil {
		return "", err
	}
	if err := stepwell.Sleep(ctx, "a while", 10*time.Second); err != nil {
		return "", err
	}
	return "done", paidTopic.PublishFrom(ctx, paid{order, 3})
})

// published tells an error unless this was published, in order.
func published(ctx context.Context, app *stepwell.App, want ...string) error {
	page, err := app.World().Topics().Publications(ctx, world.PublicationQuery{})
	if err != nil {
		return err
	}
	var got []string
	for _, p := range slices.Backward(page.Publications) {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", p.Topic, p.Payload, p.Source, p.Headers["of"], p.Due.Sub(p.At))))
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("published: got %q, want %q", got, want)
	}
	return nil
}

// TestPublishFrom kills the worker before and after each commit: what its workflow publishes is published once, and
// goes to a wait that listens.
func TestPublishFrom(t *testing.T) {
	for _, kind := range sample.OneKey(t, stores) {
		t.Run(kind, func(t *testing.T) {
			env := newEnv(t, kind, publisher, waiter)
			hears := stepwelltest.Start(env, waiter, 7)
			env.Advance(time.Second)
			run := stepwelltest.Start(env, publisher, 7)
			env.Advance(2 * time.Minute)
			if got := run.MustComplete(); got != "done" {
				t.Errorf("got %s", got)
			}
			if got := hears.MustComplete(); got != 0 {
				t.Errorf("who listens got %v, want what was published first", got)
			}
			want := []string{
				`order.paid {"order":7,"cents":0} till  0s`, `order.paid {"order":7,"cents":1} till  0s`,
				fmt.Sprintf(`order.paid {"order":7,"cents":2}  %s 1m0s`, run.ID()), `order.paid {"order":7,"cents":3}   0s`,
			}
			env.Do(func(ctx context.Context, app *stepwell.App) error { return published(ctx, app, want...) })
			run.WantSteps("order.paid", "order.paid", "work", "order.paid", "order.paid")
			env.CrashEverywhere()
		})
	}
}

// TestPublishFromRefuses: what is bad is refused before anything is written.
func TestPublishFromRefuses(t *testing.T) {
	var got []error
	bad := stepwell.Define("bad", func(ctx stepwell.Context, _ string) (string, error) {
		got = []error{
			paidTopic.PublishFrom(ctx, paid{}, topic.DeliveryID("once")),
			paidTopic.PublishFrom(ctx, paid{}, stepwell.In(nil)),
			paidTopic.PublishFrom(ctx, paid{}, topic.Delay(-time.Second)),
			paidTopic.PublishFrom(ctx, paid{}, nil),
			topic.Of[paid]("not a topic").PublishFrom(ctx, paid{}),
			(*topic.Topic[paid])(nil).PublishFrom(ctx, paid{}),
			topic.Of[string]("large").PublishFrom(ctx, strings.Repeat("x", world.MaxMessage)),
		}
		return "done", nil
	})
	env := stepwelltest.New(t, bad)
	stepwelltest.Start(env, bad, "").MustComplete()
	for i, err := range got {
		want := stepwell.ErrInvalid
		if i == len(got)-1 {
			want = stepwell.ErrTooLarge
		}
		if !errors.Is(err, want) {
			t.Errorf("publish %d: got %v, want %v", i, err, want)
		}
	}
	env.Do(func(ctx context.Context, app *stepwell.App) error { return published(ctx, app) })
}
