package queue_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/sqlite"
)

func TestMain(m *testing.M) { pgtest.Main(m, pgtest.Config{NoSync: true}) }

type mail struct {
	To string `json:"to"`
	N  int    `json:"n"`
}

// program is an App that runs until the test, or stop, ends it.
type program struct {
	*stepwell.App
	stop func()
}

func run(t *testing.T, w world.World, definitions ...stepwell.Definition) program {
	t.Helper()
	app, err := stepwell.New(w, stepwell.Config{Definitions: definitions, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(stop)
	return program{app, stop}
}

func counts(t *testing.T, w world.World, name string) map[world.MessageState]int64 {
	t.Helper()
	all, err := w.Messages().Queues(t.Context(), name)
	if err != nil || len(all) != 1 {
		t.Fatalf("queues: %v %v", all, err)
	}
	return all[0].Counts
}

// TestHandle works in virtual time: what a handler returns says what becomes of its message.
func TestHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		q := queue.Define[mail]("mails", queue.MaxReceives(4))
		var mu sync.Mutex
		var seen []string
		began := time.Now()
		app := run(t, w, q.Handle(func(_ context.Context, m *queue.Message[mail]) error {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprintf("%s %d at %s", m.Payload.To, m.Receives, time.Since(began)))
			switch m.Payload.To {
			case "flaky":
				if m.Receives < 3 {
					return errors.New("not yet")
				}
			case "later":
				if m.Receives == 1 {
					return stepwell.RetryAfter(errors.New("the bank is away"), time.Hour)
				}
			case "fatal":
				return stepwell.Fatal(errors.New("no such address"))
			case "panics":
				panic("oh")
			}
			return nil
		}, queue.Retry(stepwell.Retry{Backoff: stepwell.Fixed, Base: time.Minute, Jitter: -1})))
		for _, to := range []string{"fine", "flaky", "later", "fatal", "panics"} {
			if _, err := q.Send(t.Context(), app.App, mail{To: to}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		mu.Lock()
		slices.Sort(seen)
		got := strings.Join(seen, "\n")
		mu.Unlock()
		want := "fatal 1 at 0s\nfine 1 at 0s\nflaky 1 at 0s\nflaky 2 at 1m0s\nflaky 3 at 2m0s\nlater 1 at 0s\nlater 2 at 1h0m0s\n" +
			"panics 1 at 0s\npanics 2 at 1m0s\npanics 3 at 2m0s\npanics 4 at 3m0s"
		if got != want {
			t.Errorf("handled:\n%s\nwant:\n%s", got, want)
		}
		if c := counts(t, w, "mails"); c[world.MessageDead] != 2 || len(c) != 1 {
			t.Errorf("left: %v", c)
		}
		page, err := w.Messages().PeekMessages(t.Context(), world.PeekQuery{Queue: "mails"})
		if err != nil {
			t.Fatal(err)
		}
		if e := page.Messages[0].Error; e != "no such address" {
			t.Errorf("the dead letter says %q", e)
		}
		if e := page.Messages[1].Error; !strings.HasPrefix(e, "panic: oh\n") || !strings.Contains(e, "queue_test.go") {
			t.Errorf("the dead letter of a panic says %q", e)
		}
	})
}

// A handler that works for longer than the visibility keeps its message; one whose App stops gives it back, and
// that receive does not count.
func TestHandleForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		q := queue.Define[int]("slow", queue.Visibility(time.Second))
		var calls atomic.Int32
		app := run(t, w, q.Handle(func(ctx context.Context, m *queue.Message[int]) error {
			calls.Add(1)
			if m.Payload == 0 {
				time.Sleep(time.Hour)
				return nil
			}
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), stepwell.ErrDraining) {
				t.Errorf("the context ended of %v", context.Cause(ctx))
			}
			return ctx.Err()
		}))
		if _, err := q.Send(t.Context(), app.App, 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		if n := calls.Load(); n != 1 || len(counts(t, w, "slow")) != 0 {
			t.Errorf("%d calls, left: %v", n, counts(t, w, "slow"))
		}
		if _, err := q.Send(t.Context(), app.App, 1); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		app.stop()
		page, err := w.Messages().PeekMessages(context.Background(), world.PeekQuery{Queue: "slow"})
		if err != nil || len(page.Messages) != 1 {
			t.Fatalf("%+v %v", page, err)
		}
		if m := page.Messages[0]; m.State != world.MessageReady || m.Receives != 0 {
			t.Errorf("after the App has stopped: %+v", m)
		}
	})
}

// Who lost a message to another is told, and what it returns then changes nothing.
func TestHandleLosesItsMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		q := queue.Define[int]("q", queue.Visibility(time.Minute))
		lost := make(chan error, 1)
		app := run(t, w, q.Handle(func(ctx context.Context, _ *queue.Message[int]) error {
			<-ctx.Done()
			lost <- context.Cause(ctx)
			return nil
		}))
		if _, err := q.Send(t.Context(), app.App, 1); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, _, err := w.Messages().PurgeMessages(t.Context(), "q", false); err != nil {
			t.Fatal(err)
		}
		if err := <-lost; !errors.Is(err, queue.ErrReceipt) {
			t.Errorf("the context ended of %v", err)
		}
	})
}

// Messages that processes died over are worked on alone: the others of the program are not with them when they
// do it again.
func TestSuspiciousMessagesAreAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		q := queue.Define[int]("q")
		client, err := stepwell.New(w, stepwell.Config{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.SendAll(t.Context(), client, []int{0, 1, 2, 3, 4, 5}); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a process that received it, and died
			all, err := q.Receive(t.Context(), client, queue.Most(9), queue.For(time.Second))
			if err != nil || len(all) != 6 {
				t.Fatalf("%v %v", all, err)
			}
			for _, m := range all {
				if m.Payload == 0 {
					continue
				}
				if err := m.Nack(t.Context(), 0, "not mine"); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(2 * time.Second)
		}
		var beside, most atomic.Int32
		run(t, w, q.Handle(func(_ context.Context, m *queue.Message[int]) error {
			n := beside.Add(1)
			defer beside.Add(-1)
			most.Store(max(most.Load(), n))
			time.Sleep(time.Minute)
			if m.Payload == 0 && (n != 1 || beside.Load() != 1) {
				t.Errorf("%d others are worked on beside the message that killed its process", n-1)
			}
			return nil
		}))
		time.Sleep(time.Hour)
		if most.Load() < 2 || len(counts(t, w, "q")) != 0 {
			t.Errorf("at most %d at once, left: %v", most.Load(), counts(t, w, "q"))
		}
	})
}

func TestReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		app, err := stepwell.New(w, stepwell.Config{})
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		q := queue.Define[mail]("mails")
		go func() {
			time.Sleep(time.Minute)
			if _, err := q.SendAll(ctx, app, []mail{{To: "a"}}, queue.DedupeID("1", 0)); !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), "DedupeID") {
				t.Errorf("SendAll with a DedupeID: %v", err)
			}
			_, err := q.Send(ctx, app, mail{To: "a"}, queue.Headers(map[string]string{"k": "v"}), queue.Priority(4), queue.DedupeID("1", 0))
			if err != nil {
				t.Error(err)
			}
		}()
		began := time.Now()
		if got, err := q.Receive(ctx, app, queue.Wait(time.Second)); err != nil || len(got) > 0 || time.Since(began) != time.Second {
			t.Fatalf("%v %v after %s", got, err, time.Since(began))
		}
		got, err := q.Receive(ctx, app, queue.Wait(time.Hour), queue.Match(stepwell.Match{"to": "a"}))
		if err != nil || len(got) != 1 || time.Since(began) != time.Minute {
			t.Fatalf("%v %v after %s", got, err, time.Since(began))
		}
		m := got[0]
		if m.Payload.To != "a" || m.Headers["k"] != "v" || m.Priority != 4 || m.Receives != 1 || m.SentAt.Sub(began) != time.Minute {
			t.Errorf("%+v", m)
		}
		if err := m.Extend(ctx, time.Hour); err != nil {
			t.Error(err)
		}
		if err := m.Bury(ctx, "no"); err != nil {
			t.Error(err)
		}
		if err := m.Ack(ctx); !errors.Is(err, queue.ErrReceipt) {
			t.Errorf("ack of a dead letter: %v", err)
		}
	})
}

func TestBadUse(t *testing.T) {
	ctx := t.Context()
	app, err := stepwell.New(memory.New(), stepwell.Config{MaxPayload: 100})
	if err != nil {
		t.Fatal(err)
	}
	var none *queue.Queue[int]
	good := queue.Define[string]("good")
	send := func(q *queue.Queue[string], app *stepwell.App, text string, opts ...queue.SendOption) error {
		_, err := q.Send(ctx, app, text, opts...)
		return err
	}
	_, nobody := none.Send(ctx, app, 1)
	//stepwell:allow roundtrip it is refused, which the test is of
	_, funcs := queue.Define[func()]("f").Send(ctx, app, nil)
	_, large := good.Receive(ctx, app, queue.Most(101))
	for what, err := range map[string]error{
		"a nil queue": nobody, "no App": send(good, nil, ""), "a bad name": send(queue.Define[string]("a b"), app, ""), "a nil option": send(good, app, "", nil),
		"a short visibility": send(queue.Define[string]("x", queue.Visibility(1)), app, ""), "a function": funcs, "a group with a delay": send(good, app, "", queue.Group("g"), queue.Delay(1)),
		"a priority of 5": send(good, app, "", queue.Priority(5)), "101 at once": large,
	} {
		if !errors.Is(err, stepwell.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := send(good, app, strings.Repeat("x", 200)); !errors.Is(err, stepwell.ErrTooLarge) {
		t.Errorf("a large payload: %v", err)
	}
	for what, d := range map[string]stepwell.Definition{
		"no handler": good.Handle(nil), "no queue": none.Handle(func(context.Context, *queue.Message[int]) error { return nil }),
		"none at once": good.Handle(func(context.Context, *queue.Message[string]) error { return nil }, queue.Parallel(0)),
	} {
		if _, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{d}}); !errors.Is(err, stepwell.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	text := queue.Define[string]("shared")
	if _, err := queue.Define[int]("shared").Send(ctx, app, 7); err != nil {
		t.Fatal(err)
	}
	if got, err := text.Receive(ctx, app); err != nil || len(got) > 0 {
		t.Errorf("what does not fit its type: %v %v", got, err)
	}
	if c := counts(t, app.World(), "shared"); c[world.MessageDead] != 1 {
		t.Errorf("what does not fit its type is left as %v", c)
	}
}

// What is encrypted is never taken for what it is not: a program without the key gives it back, and says so.
func TestEncrypted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		key, err := keyring.NewKey("k1")
		if err != nil {
			t.Fatal(err)
		}
		ring, err := keyring.New(key)
		if err != nil {
			t.Fatal(err)
		}
		q := queue.Define[string]("q", queue.MaxReceives(3))
		handled := make(chan string, 10)
		handler := q.Handle(func(_ context.Context, m *queue.Message[string]) error {
			handled <- m.Payload
			if m.Receives == 1 {
				return errors.New("a secret")
			}
			return nil
		})
		mine, err := stepwell.New(w, stepwell.Config{Encryption: ring, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.Send(t.Context(), mine, "hello"); err != nil {
			t.Fatal(err)
		}
		stranger := run(t, w, handler)
		if _, err := q.Receive(t.Context(), stranger.App); err != nil && !errors.Is(err, stepwell.ErrNoKey) {
			t.Errorf("received without the key: %v", err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if c := counts(t, w, "q"); len(handled) > 0 || c[world.MessageDelayed]+c[world.MessageReady] != 1 {
			t.Errorf("without the key %d are handled, left: %v", len(handled), c)
		}
		stranger.stop()
		app, err := stepwell.New(w, stepwell.Config{Encryption: ring, Definitions: []stepwell.Definition{handler}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- app.Run(ctx) }()
		if got := <-handled; got != "hello" {
			t.Errorf("handled %q", got)
		}
		synctest.Wait()
		page, err := w.Messages().PeekMessages(ctx, world.PeekQuery{Queue: "q"})
		if err != nil || len(page.Messages) != 1 || strings.Contains(page.Messages[0].Error, "secret") || page.Messages[0].Error == "" {
			t.Errorf("at rest: %+v %v", page.Messages, err)
		}
		<-handled
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A queue that was dropped is declared again by the programs that use it.
func TestDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		q := queue.Define[int]("q")
		handled := make(chan int, 1)
		app := run(t, w, q.Handle(func(_ context.Context, m *queue.Message[int]) error { handled <- m.Payload; return nil }))
		synctest.Wait()
		for n := range 3 {
			if err := w.Messages().DropQueue(t.Context(), "q"); err != nil {
				t.Fatal(err)
			}
			if _, err := q.Send(t.Context(), app.App, n); err != nil {
				t.Fatal(err)
			}
			if got := <-handled; got != n {
				t.Errorf("handled %d, want %d", got, n)
			}
			synctest.Wait()
		}
	})
}

// TestGroupsOnFiles has two programs on one file: each message has its effect, groups are in order.
func TestGroupsOnFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	q := queue.Define[mail]("mails")
	const groups, each = 5, 20
	var mu sync.Mutex
	last := map[string]int{}
	all := make(chan struct{}, groups*each)
	open := func() world.World {
		w, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.Close() })
		return w
	}
	run(t, open(), q.Handle(func(_ context.Context, m *queue.Message[mail]) error {
		mu.Lock()
		defer mu.Unlock()
		if m.Payload.N != last[m.Group]+1 {
			t.Errorf("group %s: %d came behind %d", m.Group, m.Payload.N, last[m.Group])
		}
		last[m.Group] = m.Payload.N
		all <- struct{}{}
		return nil
	}))
	sender, err := stepwell.New(open(), stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= each; n++ {
		for g := range groups {
			name := fmt.Sprint("g", g)
			if _, err := q.Send(t.Context(), sender, mail{name, n}, queue.Group(name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range groups * each {
		select {
		case <-all:
		case <-time.After(time.Minute):
			t.Fatal("a message did not come")
		}
	}
}
