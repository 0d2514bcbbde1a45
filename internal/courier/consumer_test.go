package courier

// This file holds what a consumer does while its store is away, or has no room.

import (
	"bytes"
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

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// flaky is a store of messages whose calls fail as a test says.
type flaky struct {
	world.Messenger
	fail func(call string) error // nil error: the call is made

	mu    sync.Mutex
	calls []string // with the time since the beginning; guarded by mu
	began time.Time
}

// errLost is that of a call that was made, and whose answer was lost.
var errLost = errors.New("the answer was lost")

func (f *flaky) call(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf("%s %s", name, time.Since(f.began)))
	return f.fail(name)
}

func (f *flaky) ReceiveMessages(ctx context.Context, q world.ReceiveQuery) (world.Received, error) {
	if err := f.call(fmt.Sprint("receive ", q.Limit)); err != nil {
		return world.Received{}, err
	}
	return f.Messenger.ReceiveMessages(ctx, q)
}

func (f *flaky) SettleMessages(ctx context.Context, all []world.Settlement) ([]bool, error) {
	if all[0].Kind != world.Extend {
		err := f.call(string(all[0].Kind))
		if errors.Is(err, errLost) {
			_, _ = f.Messenger.SettleMessages(ctx, all)
		}
		if err != nil {
			return nil, err
		}
	}
	return f.Messenger.SettleMessages(ctx, all)
}

// consumed runs a consumer of a queue with one message for a while, and returns what it called and how often it worked.
func consumed(t *testing.T, fail func(call string) error, change func(c *Consumer), d time.Duration) (calls []string, worked int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		keep := memory.New().Messages()
		visibility := 10 * time.Second
		if err := keep.DeclareQueue(t.Context(), world.MessageQueue{Name: "q", Visibility: visibility}); err != nil {
			t.Fatal(err)
		}
		if _, err := keep.SendMessages(t.Context(), []world.Message{{Queue: "q", Payload: []byte("1")}}); err != nil {
			t.Fatal(err)
		}
		f := &flaky{Messenger: keep, fail: fail, began: time.Now()}
		c := &Consumer{
			Queue: "q", Visibility: visibility, Keep: f, Notifier: world.Unimplemented{}, Log: silent, Parallel: 4, Idle: time.Hour,
			Declare: func(_ context.Context, again bool) error { return f.call(fmt.Sprint("declare ", again)) },
			Work: func(_ context.Context, m *world.Message) world.Settlement {
				worked++
				return world.Settlement{Receipt: m.Receipt, Kind: world.Ack}
			},
		}
		if change != nil {
			change(c)
		}
		ctx, stop := context.WithTimeout(t.Context(), d)
		defer stop()
		c.Run(ctx)
		calls = f.calls
	})
	return calls, worked
}

// failing fails the first n calls of a name.
func failing(name string, n int, err error) func(string) error {
	return func(call string) error {
		if call == name && n > 0 {
			n--
			return err
		}
		return nil
	}
}

// late is a store whose receives are answered late; whoever has given one up by then is not told what it took out.
type late struct{ world.Messenger }

func (l late) ReceiveMessages(ctx context.Context, q world.ReceiveQuery) (world.Received, error) {
	got, err := l.Messenger.ReceiveMessages(context.WithoutCancel(ctx), q)
	select {
	case <-time.After(500 * time.Millisecond):
		return got, err
	case <-ctx.Done():
		return world.Received{}, context.Cause(ctx)
	}
}

// TestConsumerStopsInAReceive: what a receive takes out that is on its way when the program stops is given back at
// once.
func TestConsumerStopsInAReceive(t *testing.T) {
	calls, worked := consumed(t, func(string) error { return nil }, func(c *Consumer) { c.Keep = late{c.Keep} }, 100*time.Millisecond)
	if want := []string{"declare false 0s", "receive 4 0s", "unread 500ms"}; !slices.Equal(calls, want) || worked > 0 {
		t.Errorf("got %q, and %d were worked on; want %q", calls, worked, want)
	}
}

// TestConsumerWaits: what it tries again, and when.
func TestConsumerWaits(t *testing.T) {
	for name, test := range map[string]struct {
		fail   func(call string) error
		change func(c *Consumer)
		want   []string
		worked int
	}{
		"all is well":                 {failing("", 0, nil), nil, []string{"declare false 0s", "receive 4 0s", "ack 0s", "receive 4 0s"}, 1},
		"the queue cannot be made":    {failing("declare false", 2, world.ErrStorage), nil, []string{"declare false 0s", "declare false 1s", "declare false 2s", "receive 4 2s", "ack 2s", "receive 4 2s"}, 1},
		"nothing is received":         {failing("receive 4", 2, world.ErrStorage), nil, []string{"declare false 0s", "receive 4 0s", "receive 4 1s", "receive 4 2s", "ack 2s", "receive 4 2s"}, 1},
		"somebody dropped the queue":  {failing("receive 4", 1, world.ErrNotFound), nil, []string{"declare false 0s", "receive 4 0s", "declare true 0s", "receive 4 0s", "ack 0s", "receive 4 0s"}, 1},
		"the end is not written":      {failing("ack", 3, world.ErrStorage), nil, []string{"declare false 0s", "receive 4 0s", "ack 0s", "ack 1s", "ack 2s", "ack 3s"}, 1},
		"there is no room for a time": {failing("", 0, nil), roomless(7 * time.Second), []string{"declare false 0s", "receive 2 7s", "ack 7s", "receive 2 7s"}, 1},
	} {
		calls, worked := consumed(t, test.fail, test.change, 9*time.Second)
		for _, want := range test.want { // what it receives beside is up to who ends first
			if !slices.Contains(calls, want) {
				t.Errorf("%s: got %q, want %q too", name, calls, want)
			}
		}
		if worked != test.worked {
			t.Errorf("%s: worked %d times, want %d", name, worked, test.worked)
		}
		if n := len(calls); n > len(test.want)+1 {
			t.Errorf("%s: %d calls: %q", name, n, calls)
		}
	}
}

// roomless has no room at first, and then for two.
func roomless(d time.Duration) func(c *Consumer) {
	return func(c *Consumer) {
		first := true
		c.Room = func(int) (int, time.Duration) {
			if first {
				first = false
				return 0, d
			}
			return 2, 0
		}
	}
}

// TestConsumerGivesUpTheEnd: an end that cannot be written for as long as the message is this program's is given up;
// then the message is received again.
func TestConsumerGivesUpTheEnd(t *testing.T) {
	calls, worked := consumed(t, failing("ack", 11, world.ErrStorage), nil, 25*time.Second)
	again := slices.Contains(calls, "receive 3 10s") || slices.Contains(calls, "receive 4 10s")
	if worked != 2 || !slices.Contains(calls, "ack 9s") || !again {
		t.Errorf("worked %d times: %q", worked, calls)
	}
}

// TestDrainOfOneAlone: who works on a message alone is told when the drain is over, as all others are.
func TestDrainOfOneAlone(t *testing.T) {
	for crashes := range suspicious {
		synctest.Test(t, func(t *testing.T) {
			keep := memory.New().Messages()
			visibility := 10 * time.Second
			if err := keep.DeclareQueue(t.Context(), world.MessageQueue{Name: "q", Visibility: visibility}); err != nil {
				t.Fatal(err)
			}
			if _, err := keep.SendMessages(t.Context(), []world.Message{{Queue: "q", Payload: []byte("1")}}); err != nil {
				t.Fatal(err)
			}
			for range crashes { // of who received it
				if _, err := keep.ReceiveMessages(t.Context(), world.ReceiveQuery{Queue: "q", Limit: 1}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(visibility)
			}
			c := &Consumer{
				Queue: "q", Visibility: visibility, Keep: keep, Notifier: world.Unimplemented{}, Log: silent, Parallel: 4, Drain: 2 * time.Second,
				Declare: func(context.Context, bool) error { return nil },
				Work: func(ctx context.Context, m *world.Message) world.Settlement {
					select {
					case <-ctx.Done():
					case <-time.After(time.Minute):
					}
					if cause := context.Cause(ctx); m.Receives != crashes+1 || !errors.Is(cause, engine.ErrDraining) {
						t.Errorf("receive %d ended with %v, want receive %d to be drained", m.Receives, cause, crashes+1)
					}
					return Unread(m, 0)
				},
			}
			began := time.Now()
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			c.Run(ctx)
			if took := time.Since(began); took < 3*time.Second || took > 4*time.Second {
				t.Errorf("after %d crashes: it returned %s after its start, want 3s", crashes, took)
			}
		})
	}
}

// TestAnEndWhoseAnswerWasLost: it was written, so nobody is told that the message is worked on again.
func TestAnEndWhoseAnswerWasLost(t *testing.T) {
	var said bytes.Buffer
	lost := false
	_, worked := consumed(t, func(call string) error {
		if call == string(world.Ack) && !lost {
			lost = true
			return errLost
		}
		return nil
	}, func(c *Consumer) { c.Log = slog.New(slog.NewTextHandler(&said, nil)) }, time.Minute)
	if worked != 1 {
		t.Errorf("it was worked on %d times, want once", worked)
	}
	if text := said.String(); strings.Contains(text, "this program's") || !strings.Contains(text, "was written before, when the answer was lost") {
		t.Errorf("it was said: %s", text)
	}
}

// TestAStoreThatIsAwayForAnHour: it is said, and not 3,600 times.
func TestAStoreThatIsAwayForAnHour(t *testing.T) {
	var said bytes.Buffer
	consumed(t, func(call string) error {
		if strings.HasPrefix(call, "receive") {
			return errors.New("no connection")
		}
		return nil
	}, func(c *Consumer) { c.Log = slog.New(slog.NewTextHandler(&said, nil)) }, time.Hour)
	text := said.String()
	if n := strings.Count(text, "nothing is received\" error="); n < 60 || n > 10*61 {
		t.Errorf("it was said %d times in an hour, want ten times a minute at most", n)
	}
	if !strings.Contains(text, "left_out=") {
		t.Error("nobody says how many lines were left out")
	}
}
