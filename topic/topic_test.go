package topic_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/topic"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

func TestMain(m *testing.M) { pgtest.Main(m, pgtest.Config{NoSync: true}) }

func run(t *testing.T, w world.World, definitions ...stepwell.Definition) (app *stepwell.App, stop func()) {
	t.Helper()
	app, err := stepwell.New(w, stepwell.Config{Definitions: definitions, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(stop)
	return app, stop
}

func publish(t *testing.T, app *stepwell.App, p Payment, opts ...topic.Option) {
	t.Helper()
	if _, err := Paid.Publish(t.Context(), app, p, opts...); err != nil {
		t.Fatal(err)
	}
}

func runs(t *testing.T, app *stepwell.App, workflow string) (keys []string) {
	t.Helper()
	for r, err := range app.List(t.Context(), stepwell.ListFilter{Workflow: workflow}) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, r.Key)
	}
	slices.Sort(keys)
	return keys
}

func dead(t *testing.T, w world.World, queue string) (errs []string) {
	t.Helper()
	page, err := w.Messages().PeekMessages(t.Context(), world.PeekQuery{Queue: queue, State: world.MessageDead})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range page.Messages {
		errs = append(errs, m.Error)
	}
	return errs
}

// TestTargets: patterns and filters choose; a payload that does not fit the input, or has not what a template names, is
// a dead letter that says so, and holds up nobody.
func TestTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		type order struct {
			Order string `json:"order"`
			Land  string `json:"land"`
		}
		ship := stepwell.Define("ship", func(stepwell.Context, order) (string, error) { return "", nil })
		all := queue.Define[Payment]("all")
		app, _ := run(t, w, ship,
			topic.ToQueue("all", "#", all),
			topic.ToWorkflow("each", "order.*", ship, topic.Where(stepwell.Match{"land": "de"})),
			topic.ToWorkflow("keyed", "order.paid", ship, topic.KeyFrom("k-{payload.order}"), topic.AttributeFrom("land", "{payload.land}/{header.clerk}"), topic.Ordered()))
		time.Sleep(time.Second)
		clerk := topic.Headers(map[string]string{"clerk": "ann"})
		for range 2 {
			publish(t, app, Payment{"1", "de"}, clerk)
		}
		publish(t, app, Payment{"2", "fr"}, clerk, topic.DeliveryID("two"))
		publish(t, app, Payment{"2", "fr"}, clerk, topic.DeliveryID("two"))
		publish(t, app, Payment{"3", "fr"}) // no clerk
		other := topic.Of[map[string]int]("order.paid")
		if _, err := other.Publish(t.Context(), app, map[string]int{"order": 4, "land": 1}, clerk); err != nil {
			t.Fatal(err)
		}
		if _, err := topic.Of[string]("mail").Publish(t.Context(), app, "x"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		keys := runs(t, app, "ship")
		if len(keys) != 4 || !slices.Equal(keys[:2], []string{"k-1", "k-2"}) || !strings.HasPrefix(keys[2], "mesg_") || keys[2] == keys[3] {
			t.Errorf("started: %v", keys)
		}
		got := dead(t, w, "subscription.keyed")
		if len(got) != 2 || !strings.Contains(got[0], "the attribute land: ") || !strings.Contains(got[0], "{header.clerk}") || !strings.Contains(got[1], "order") {
			t.Errorf("dead letters: %q", got)
		}
		page, err := app.Page(t.Context(), stepwell.ListFilter{Key: "k-2"}, "", 1)
		if err != nil || string(page.Runs[0].Attributes["land"]) != `"fr/ann"` {
			t.Errorf("attributes: %v %v", page.Runs, err)
		}
		q, err := w.Messages().Queues(t.Context(), "all")
		if err != nil || q[0].Counts[world.MessageReady] != 6 {
			t.Errorf("the queue of all: %+v %v", q, err)
		}
	})
}

// TestUnknownWorkflow: what is for a workflow that nobody has told of waits for it, however long.
func TestUnknownWorkflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		ship := stepwell.Define("ship", func(stepwell.Context, Payment) (string, error) { return "", nil })
		app, stop := run(t, w, topic.ToWorkflow("ship", "#", ship))
		time.Sleep(time.Second)
		publish(t, app, Payment{Order: "1"})
		time.Sleep(24 * time.Hour)
		synctest.Wait() // it may be in a worker's hands in this very moment
		if got := runs(t, app, "ship"); len(got) > 0 {
			t.Errorf("it was started: %v", got)
		}
		page, err := w.Messages().PeekMessages(t.Context(), world.PeekQuery{Queue: "subscription.ship"})
		if err != nil || len(page.Messages) != 1 || !strings.Contains(page.Messages[0].Error, "no worker has told") || page.Messages[0].State == world.MessageDead {
			t.Errorf("it says %+v, %v", page.Messages, err)
		}
		stop()
		app, _ = run(t, w, ship)
		time.Sleep(time.Minute)
		if got := runs(t, app, "ship"); len(got) != 1 {
			t.Errorf("when its worker came: %v", got)
		}
	})
}

// TestMoment: a publication goes to those that stand when it was published, or when it is due.
func TestMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		early, late := queue.Define[Payment]("early"), queue.Define[Payment]("late")
		app, stop := run(t, w)
		stop() // nobody spreads
		sub := func(s *topic.Subscription) {
			t.Helper()
			if _, err := topic.Subscribe(t.Context(), app, s); err != nil {
				t.Fatal(err)
			}
		}
		sub(topic.ToQueue("early", "#", early))
		publish(t, app, Payment{Order: "now"})
		publish(t, app, Payment{Order: "later"}, topic.At(time.Now().Add(time.Hour)))
		sub(topic.ToQueue("late", "#", late))
		if err := topic.Unsubscribe(t.Context(), app, "early"); err != nil {
			t.Fatal(err)
		}
		app, _ = run(t, w)
		time.Sleep(2 * time.Hour)
		for q, want := range map[*queue.Queue[Payment]]string{early: "now", late: "later"} {
			got, err := q.Receive(t.Context(), app, queue.Most(9))
			if err != nil || len(got) != 1 || got[0].Payload.Order != want {
				t.Errorf("%s got %v, %v, want %s", q.Name(), got, err, want)
			}
		}
		if err := topic.Unsubscribe(t.Context(), app, "early"); !errors.Is(err, stepwell.ErrNotFound) {
			t.Errorf("it ends twice: %v", err)
		}
	})
}

// TestRevision: an older deploy does not turn a subscription back; without a number the last one holds.
func TestRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		q := queue.Define[Payment]("q")
		app, stop := run(t, w, topic.ToQueue("s", "new", q, topic.Revision(2)))
		time.Sleep(time.Second)
		stop()
		_, stop = run(t, w, topic.ToQueue("s", "old", q, topic.Revision(1)))
		time.Sleep(time.Second)
		stop()
		if all, err := topic.Subscriptions(t.Context(), app); err != nil || len(all) != 1 || all[0].Pattern != "new" || all[0].Made.By != "code" {
			t.Errorf("got %+v %v", all, err)
		}
		if _, err := topic.Subscribe(t.Context(), app, topic.ToQueue("s", "old", q)); !errors.Is(err, world.ErrConflict) {
			t.Errorf("an older one: %v", err)
		}
	})
}

// TestSecrets: a subscription's own secret stays when it is said anew, and nobody is shown it.
func TestSecrets(t *testing.T) {
	t.Parallel()
	w := memory.New()
	app, err := stepwell.New(w, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	made, err := topic.Subscribe(t.Context(), app, topic.ToEndpoint("e", "#", "https://example.com"))
	if err != nil {
		t.Fatal(err)
	}
	stored := func() []world.Secret {
		all, err := w.Topics().Subscriptions(t.Context(), "e")
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		return all[0].Endpoint.Secrets
	}
	own := "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqr"
	for i, want := range [][]world.Secret{{world.Secret(made)}, {world.Secret(own), world.Secret(made)}, {world.Secret(own), world.Secret(made)}} {
		var opts []topic.SubOption
		if i > 0 {
			opts = append(opts, topic.Secret(own))
		}
		if again, err := topic.Subscribe(t.Context(), app, topic.ToEndpoint("e", "a", "https://example.com/2", opts...)); again != "" || err != nil {
			t.Errorf("again: %q %v", again, err)
		}
		if got := stored(); !slices.Equal(got, want) {
			t.Errorf("%d: other secrets than are wanted", i)
		}
	}
	all, err := topic.Subscriptions(t.Context(), app)
	if text := fmt.Sprintf("%+v %#v %v", all[0].Endpoint, all[0].Endpoint, stored()); err != nil || strings.Contains(text, "whsec") {
		t.Errorf("it shows a secret: %s %v", text, err)
	}
}

// TestBadUse: what is wrong is refused where it is said, by name.
func TestBadUse(t *testing.T) {
	t.Parallel()
	ship := stepwell.Define("ship", func(stepwell.Context, Payment) (string, error) { return "", nil })
	q := queue.Define[Payment]("q")
	url := "https://example.com"
	for want, s := range map[string]*topic.Subscription{
		"a word is empty":           topic.ToQueue("s", "a..b", q),
		`the word "a*"`:             topic.ToQueue("s", "a*.b", q),
		"subscription name":         topic.ToQueue("a b", "a", q),
		"the queue is nil":          topic.ToQueue[Payment]("s", "a", nil),
		"the workflow is nil":       topic.ToWorkflow[Payment, string]("s", "a", nil),
		"KeyFrom is for":            topic.ToQueue("s", "a", q, topic.KeyFrom("x")),
		"Secret is for":             topic.ToWorkflow("s", "a", ship, topic.Secret("x")),
		"the key: ":                 topic.ToWorkflow("s", "a", ship, topic.KeyFrom("{payload")),
		"keys that begin with":      topic.ToWorkflow("s", "a", ship, topic.KeyFrom("retry:{payload.run}")),
		"the attribute land: ":      topic.ToWorkflow("s", "a", ship, topic.AttributeFrom("land", "{pay.land}")),
		"want an http or https URL": topic.ToEndpoint("s", "a", "ftp://example.com"),
		"a user or a password":      topic.ToEndpoint("s", "a", "https://u:p@example.com"),
		"the secret of an endpoint": topic.ToEndpoint("s", "a", url, topic.Secret("whsec_c2hvcnQ=")),
		"it gives up after":         topic.ToEndpoint("s", "a", url, topic.GiveUpAfter(-1)),
		"revision -1":               topic.ToEndpoint("s", "a", url, topic.Revision(-1)),
		"option 1 is nil":           topic.ToEndpoint("s", "a", url, nil),
		"unsupported type":          topic.ToQueue("s", "a", q, topic.Where(stepwell.Match{"f": func() {}})),
	} {
		if _, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{s}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	app, err := stepwell.New(memory.New(), stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for want, err := range map[string]error{
		"a word is empty": func() error { _, err := topic.Of[int]("a.").Publish(t.Context(), app, 1); return err }(),
		`the word "*"`:    func() error { _, err := topic.Of[int]("*").Publish(t.Context(), app, 1); return err }(),
		"the App is nil":  func() error { _, err := Paid.Publish(t.Context(), nil, Payment{}); return err }(),
		"the topic is nil": func() error {
			_, err := (*topic.Topic[int])(nil).Publish(t.Context(), app, 1)
			return err
		}(),
		"delay": func() error {
			_, err := Paid.Publish(t.Context(), app, Payment{}, topic.Delay(-1))
			return err
		}(),
		"bytes": func() error {
			_, err := topic.Of[string]("a").Publish(t.Context(), app, strings.Repeat("x", world.MaxMessage))
			return err
		}(),
		"the subscription is nil": func() error { _, err := topic.Subscribe(t.Context(), app, nil); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
