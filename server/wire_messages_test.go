package server

// Queues over the wire: a handler in a remote worker, messages that only it can read, and keys that may not.

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote"
)

// TestRemoteHandler: a worker that has the server alone handles what is sent over REST, as soon as it is sent.
func TestRemoteHandler(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, kind, Options{})
			got := make(chan string, 1)
			mails := queue.Define[string]("mails", queue.MaxReceives(5))
			app, err := stepwell.New(openRemote(t, r.base, remote.Options{}), stepwell.Config{Name: "far", Definitions: []stepwell.Definition{
				mails.Handle(func(_ context.Context, m *queue.Message[string]) error {
					if m.Receives == 1 {
						return stepwell.RetryAfter(errors.New("not yet"), time.Millisecond)
					}
					got <- m.Payload
					return nil
				}),
			}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() {
				if err := app.Run(ctx); err != nil {
					t.Errorf("Run = %v", err)
				}
			})
			defer running.Wait()
			defer cancel()
			r.until("the handler to declare its queue", func() bool { return r.send("GET", "/v1/queues/mails", "").status == 200 })
			r.want(201, "POST", "/v1/queues/mails/messages", `{"payload": "hello"}`)
			select {
			case text := <-got:
				if text != "hello" {
					t.Errorf("handled %q, want hello", text)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("the message was not handled")
			}
			r.until("the message to be acknowledged", func() bool { return r.send("GET", "/v1/queues/mails/messages", "").get("messages.0") == nil })
		})
	}
}

// TestRemoteMessagesEncrypted: what a program with a key sends through a server that has none lies there encrypted, and
// REST says so.
func TestRemoteMessagesEncrypted(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite", Options{})
	key, err := keyring.NewKey("2026")
	if err != nil {
		t.Fatal(err)
	}
	ring, err := keyring.New(key)
	if err != nil {
		t.Fatal(err)
	}
	app, err := stepwell.New(openRemote(t, r.base, remote.Options{}), stepwell.Config{Name: "far", Encryption: ring})
	if err != nil {
		t.Fatal(err)
	}
	mails := queue.Define[string]("mails")
	if _, err := mails.Send(t.Context(), app, "the secret"); err != nil {
		t.Fatal(err)
	}
	if a := r.want(200, "GET", "/v1/queues/mails/messages", ""); a.get("messages.0.sealed") != "2026" || a.get("messages.0.payload") != nil || strings.Contains(string(a.body), "secret") {
		t.Errorf("peek: got %s, want the key's ID and no payload", a.body)
	}
	all, err := mails.Receive(t.Context(), app)
	if err != nil || len(all) != 1 || all[0].Payload != "the secret" {
		t.Fatalf("received %v, %v", all, err)
	}
	if err := all[0].Ack(t.Context()); err != nil {
		t.Error(err)
	}
	if err := all[0].Ack(t.Context()); !errors.Is(err, queue.ErrReceipt) {
		t.Errorf("acknowledged twice: got %v, want ErrReceipt", err)
	}
}

// TestRemoteActsAreAudited: also where nobody has a key, and by an admin's; not what a worker's key or a keeper does.
func TestRemoteActsAreAudited(t *testing.T) {
	t.Parallel()
	for who, scope := range map[string]string{"anonymous": "", "ada": "admin", "willi": "worker"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			var o Options
			key := ""
			if scope != "" {
				key = strings.Repeat("k", 32)
				keys, err := ParseKeys(scope + ":" + who + ":" + key)
				if err != nil {
					t.Fatal(err)
				}
				o.Keys = keys
			}
			r, ctx := newRig(t, "memory", o), t.Context()
			w := openRemote(t, r.base, remote.Options{Key: key})
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(w.Messages().DeclareQueue(ctx, world.MessageQueue{Name: "mails"}))
			must(w.Messages().PauseQueue(ctx, "mails", &world.QueuePause{By: "somebody else", Reason: "tea"}))
			s := world.Schedule{Name: "nightly", Says: world.ScheduleSpec{Workflow: "report", Times: []string{"@daily"}}}
			for _, due := range []time.Time{{}, world.Now().Add(time.Hour)} { // the second put is as a keeper's
				s.Is.Due = due
				_, err := w.Schedules().PutSchedule(ctx, s)
				must(err)
				all, err := w.Schedules().Schedules(ctx, world.ScheduleQuery{Names: []string{"nightly"}, Limit: 1})
				must(err)
				s = all[0]
			}
			must(w.Schedules().DeleteSchedule(ctx, "nightly"))
			want := 1
			if who == "willi" {
				want = 0
			}
			for _, act := range []string{"act=declare queue=mails", "act=pause queue=mails", "act=put schedule=nightly", "act=delete schedule=nightly"} {
				if n := strings.Count(r.log.String(), act); n != want {
					t.Errorf("the audit log has %d of %q, want %d", n, act, want)
				}
			}
			if want == 1 && !strings.Contains(r.log.String(), "who="+who+" ") {
				t.Errorf("the audit log has no %s", who)
			}
			all, err := w.Messages().Queues(ctx)
			must(err)
			if by := all[0].Paused.By; who == "ada" && by != who {
				t.Errorf("paused by %s, want the key's name", by)
			}
		})
	}
}

// TestRemoteMessagesKeys: a key that is limited to workflows has no queues, and a viewer's looks alone.
func TestRemoteMessagesKeys(t *testing.T) {
	t.Parallel()
	keys, err := ParseKeys("viewer:eva:" + strings.Repeat("v", 32) + ",worker?workflow=order:willi:" + strings.Repeat("w", 32) + ",operator:otto:" + strings.Repeat("o", 32))
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, "memory", Options{Keys: keys})
	as := func(letter string) world.Messenger {
		return openRemote(t, r.base, remote.Options{Key: strings.Repeat(letter, 32)}).Messages()
	}
	ctx := t.Context()
	if err := as("o").DeclareQueue(ctx, world.MessageQueue{Name: "mails"}); err != nil {
		t.Fatal(err)
	}
	if err := as("o").PauseQueue(ctx, "mails", &world.QueuePause{By: "somebody else", Reason: "tea"}); err != nil {
		t.Fatal(err)
	}
	if a := r.want(200, "GET", "/v1/queues/mails", "", "Authorization", "Bearer "+strings.Repeat("v", 32)); a.get("paused.by") != "otto" {
		t.Errorf("paused: got %s, want by otto", a.body)
	}
	if want := "who=otto what=worldPauseQueue from="; !strings.Contains(r.log.String(), want) || !strings.Contains(r.log.String(), "act=pause queue=mails") {
		t.Errorf("the audit log has no %q with the act and the queue", want)
	}
	if all, err := as("v").Queues(ctx); err != nil || len(all) != 1 || all[0].Name != "mails" {
		t.Errorf("a viewer lists: got %v, %v", all, err)
	}
	for _, letter := range []string{"v", "w"} {
		if _, err := as(letter).ReceiveMessages(ctx, world.ReceiveQuery{Queue: "mails", Limit: 1}); !errors.Is(err, remote.ErrForbidden) {
			t.Errorf("key %s receives: got %v, want forbidden", letter, err)
		}
	}
	if _, err := as("w").Queues(ctx); !errors.Is(err, remote.ErrForbidden) {
		t.Errorf("a limited key lists: got %v, want forbidden", err)
	}
}
