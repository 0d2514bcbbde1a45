package limits_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// handling counts messages that are worked on, by tenant.
type handling struct {
	mu       sync.Mutex
	at, most map[string]int
	begun    int
}

func (h *handling) handle(long time.Duration) func(context.Context, *queue.Message[job]) error {
	h.at, h.most = map[string]int{}, map[string]int{}
	add := func(tenant string, n int) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.at[tenant] += n
		h.most[tenant] = max(h.most[tenant], h.at[tenant])
		h.begun += max(n, 0)
	}
	return func(_ context.Context, m *queue.Message[job]) error {
		add(m.Payload.Tenant, 1)
		<-time.After(long)
		add(m.Payload.Tenant, -1)
		return nil
	}
}

func (h *handling) so(f func()) { h.mu.Lock(); defer h.mu.Unlock(); f() }

// TestMessagesOfAKey: so many messages of a key are handled at once, by two programs of which each could take all, and
// a key does not wait for another.
func TestMessagesOfAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h handling
		w := memory.New()
		jobs := queue.Define[job]("jobs", queue.Limits(stepwell.Limit{AtOnce: 2, Key: stepwell.KeyOf(tenantOf)}))
		handler := jobs.Handle(h.handle(time.Minute), queue.Parallel(20))
		run(t, w, stepwell.Config{Definitions: []stepwell.Definition{handler}})
		app := run(t, w, stepwell.Config{Definitions: []stepwell.Definition{handler}})
		for n := range 6 {
			for _, tenant := range []string{"ann", "bob", "cid"} {
				if _, err := jobs.Send(t.Context(), app, job{tenant, n}); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(3*time.Minute + 10*time.Second)
		h.so(func() {
			if fmt.Sprint(h.most) != "map[ann:2 bob:2 cid:2]" || h.begun != 18 || h.at["ann"] != 0 {
				t.Errorf("at once %v, and %d in three minutes; want 2 of each, and 18", h.most, h.begun)
			}
		})
	})
}

// TestMessagesUnderARate: within one in a hundred of what the rate says are received in a minute.
func TestMessagesUnderARate(t *testing.T) {
	for _, perSecond := range []int{1, 100} {
		synctest.Test(t, func(t *testing.T) {
			var h handling
			w := memory.New()
			jobs := queue.Define[job]("jobs", queue.Limits(stepwell.Limit{Rate: perSecond, Per: time.Second, By: "tenant"}))
			sender, err := stepwell.New(w, stepwell.Config{})
			if err != nil {
				t.Fatal(err)
			}
			all := make([]job, perSecond)
			for i := range all {
				all[i] = job{"ann", i}
			}
			for range 70 {
				if _, err := jobs.SendAll(t.Context(), sender, all); err != nil {
					t.Fatal(err)
				}
			}
			handler := jobs.Handle(h.handle(3*time.Millisecond), queue.Parallel(20))
			for range 2 {
				run(t, w, stepwell.Config{Definitions: []stepwell.Definition{handler}})
			}
			time.Sleep(time.Minute)
			h.so(func() {
				if want := 60 * perSecond; h.begun < want-want/100 || h.begun > want+1+want/100 {
					t.Errorf("%d a second: %d in a minute, want %d", perSecond, h.begun, want)
				}
			})
		})
	}
}

// TestQueueLimitsAreSaid: what a limit of a queue cannot be is refused where it is defined, and a key that cannot be
// told where the message is sent.
func TestQueueLimitsAreSaid(t *testing.T) {
	fine := func(context.Context, *queue.Message[job]) error { return nil }
	for want, opts := range map[string][]stepwell.Limit{
		"UntilEnd":                  {stepwell.Limit{AtOnce: 1, UntilEnd: true}},
		"Refuse":                    {stepwell.Limit{Rate: 1, Per: time.Second, Refuse: true}},
		"want 1 to":                 {stepwell.Limit{AtOnce: -1}},
		"the input is":              {stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf(func(n int) string { return "" })}},
		"two limits have this name": {stepwell.Limit{AtOnce: 1}, stepwell.Limit{Rate: 1, Per: time.Second}},
		"not both":                  {stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf(tenantOf), By: "tenant"}},
		"but exists as":             {stepwell.Limit{Rate: 1, Per: time.Second, Name: "shared"}},
		"want names with dots":      {stepwell.Limit{AtOnce: 1, By: "a..b"}},
		"name of a limit":           {stepwell.Limit{AtOnce: 1, Name: "no name"}},
		"the most is one in a micr": {stepwell.Limit{Rate: 1_000_000, Per: time.Millisecond}},
		"the function of the key":   {stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf[job](nil)}},
	} {
		var w work
		_, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{
			w.workflow(0, stepwell.Limit{AtOnce: 1, Name: "shared"}), queue.Define[job]("jobs", queue.Limits(opts...)).Handle(fine),
		}})
		if !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("got %v, want a word of %q", err, want)
		}
	}
	w := memory.New()
	app, err := stepwell.New(w, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	long := job{strings.Repeat("a", world.MaxLimitKey+1), 0}
	if _, err := queue.Define[job]("jobs", queue.Limits(stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf(tenantOf)})).Send(t.Context(), app, long); !errors.Is(err, stepwell.ErrInvalid) {
		t.Errorf("a long key: got %v, want ErrInvalid", err)
	}
	// A program without the code knows the limit, and cannot tell the key.
	if _, err := queue.Define[job]("jobs").Send(t.Context(), app, job{"ann", 1}); !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(fmt.Sprint(err), "By") {
		t.Errorf("no code: got %v, want ErrInvalid with what to do", err)
	}
	if err := queue.Define[job]("jobs", queue.Limits(stepwell.Limit{AtOnce: 1, By: "tenant"})).Declare(t.Context(), w.Messages()); err != nil {
		t.Fatal(err)
	}
	if _, err := queue.Define[job]("jobs").SendAll(t.Context(), app, []job{{"ann", 1}, {"ann", 2}}); err != nil {
		t.Fatal(err)
	}
	got, err := w.Messages().ReceiveMessages(t.Context(), world.ReceiveQuery{Queue: "jobs", Limit: 5})
	if err != nil || len(got.Messages) != 1 {
		t.Errorf("received %d messages of a key, %v; want one", len(got.Messages), err)
	}
}
