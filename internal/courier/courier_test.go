package courier

// This file holds for which subscriptions a courier works, and what it does while nothing can be spread.

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

	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// away is a world whose topics cannot be read.
type away struct {
	world.Publisher
	mu    sync.Mutex
	at    []time.Duration // when they were to be; guarded by mu
	began time.Time
}

func (a *away) Due(context.Context, world.DueQuery) (world.Due, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = append(a.at, time.Since(a.began))
	return world.Due{}, world.ErrStorage
}

// TestCourierAway: who cannot spread tries again, later each time, and at least every half minute.
func TestCourierAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &away{began: time.Now()}
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
		defer stop()
		(&Courier{Spread: &spread.Spreader{Topics: a}, Notifier: world.Unimplemented{}, Log: silent, Work: func(*world.Subscription) *Work { return nil }}).Run(ctx)
		var want []time.Duration
		for _, s := range []int{0, 1, 3, 7, 15, 31, 61, 91} {
			want = append(want, time.Duration(s)*time.Second)
		}
		if !slices.Equal(a.at, want) {
			t.Errorf("tried at %v, want %v", a.at, want)
		}
	})
}

// TestCourierStaff: each subscription with a queue of its own is worked on while it stands, as it is now; one that
// fills a program's queue is the program's.
func TestCourierStaff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		s := spread.Of(w)
		var mu sync.Mutex
		var said []string
		say := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, fmt.Sprintf(format, args...))
		}
		c := &Courier{Spread: s, Notifier: w, Log: silent, Work: func(s *world.Subscription) *Work {
			say("begin %s %s", s.Name, s.Pattern)
			if s.Name == "other" {
				return nil
			}
			return &Work{End: func() { say("end %s %s", s.Name, s.Pattern) }, Do: func(_ context.Context, m *world.Message) world.Settlement {
				say("%s %s", s.Name, m.Payload)
				return world.Settlement{Receipt: m.Receipt, Kind: world.Ack}
			}}
		}}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.Run(ctx)
		}()
		then := func(want ...string) {
			t.Helper()
			time.Sleep(2 * idle)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if slices.Sort(said); !slices.Equal(said, want) {
				t.Errorf("got %q, want %q", said, want)
			}
			said = nil
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		subscribe := func(name, pattern string) {
			t.Helper()
			_, err := Subscribe(t.Context(), s, world.Subscription{Name: name, Pattern: pattern, Workflow: &world.StartTarget{Name: "w"}})
			must(err)
		}
		publish := func(topic, payload string) {
			t.Helper()
			_, err := s.Topics.Publish(t.Context(), []world.Publication{{Topic: topic, Payload: []byte(payload)}})
			must(err)
		}
		must(w.Messages().DeclareQueue(t.Context(), world.MessageQueue{Name: "mine"}))
		must(s.Subscribe(t.Context(), world.Subscription{Name: "filled", Pattern: "#", Queue: "mine"}))
		subscribe("own", "a")
		subscribe("other", "a")
		then("begin other a", "begin own a")
		publish("a", "1")
		then("own 1")
		subscribe("own", "b")                             // changed
		then("begin other a", "begin own b", "end own a") // one that nobody works on is asked for at each change
		publish("a", "2")
		publish("b", "3")
		then("own 3")
		must(s.Unsubscribe(t.Context(), "own"))
		then("begin other a", "end own b")
		subscribe("own", "c")
		then("begin other a", "begin own c")
		stop()
		<-ended
		then("end own c")
	})
}

// book is a log that is read while it is written.
type book struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

func (b *book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *book) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestCourierSaysWhatNobodySpreads: once in a while, of what has been due for long; others go out.
func TestCourierSaysWhatNobodySpreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		s := spread.Of(w)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(w.Messages().DeclareQueue(t.Context(), world.MessageQueue{Name: "q"}))
		must(s.Subscribe(t.Context(), world.Subscription{Name: "s", Pattern: "#", Queue: "q"}))
		var said book
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		c := &Courier{Spread: s, Notifier: w, Log: slog.New(slog.NewTextHandler(&said, nil)), Work: func(*world.Subscription) *Work { return nil }}
		go func() { defer close(ended); c.Run(ctx) }()
		dark, err := s.Topics.Publish(t.Context(), []world.Publication{{Topic: "a", Payload: []byte("1"), Encrypted: "k1"}})
		must(err)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if said.String() != "" {
			t.Errorf("said at once: %s", said.String())
		}
		time.Sleep(15 * time.Minute)
		_, err = s.Topics.Publish(t.Context(), []world.Publication{{Topic: "a", Payload: []byte("2")}})
		must(err)
		synctest.Wait()
		if n := strings.Count(said.String(), dark[0].ID); n != 2 {
			t.Errorf("said %d times, want 2: %s", n, said.String())
		}
		if all, err := w.Messages().Queues(t.Context(), "q"); err != nil || all[0].Counts[world.MessageReady] != 1 {
			t.Errorf("the queue has %v, %v", all, err)
		}
		stop()
		<-ended
	})
}

// TestSecretsAreGivenPlain: a secret as stores keep it is nobody's to give.
func TestSecretsAreGivenPlain(t *testing.T) {
	to := &world.PostTarget{URL: "https://example.com", Secrets: []world.Secret{world.EncryptedSecret("k1", "x")}}
	_, err := Subscribe(t.Context(), spread.Of(memory.New()), world.Subscription{Name: "s", Pattern: "#", Endpoint: to})
	if !errors.Is(err, world.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
