package engine

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// told is a log that can be read while it is written.
type told struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (w *told) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

func (w *told) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// spin never yields, until it is told to.
func spin(stop *atomic.Bool) {
	for !stop.Load() {
	}
}

// TestABusyLoopIsReportedWithItsStack: the loop runs on a processor, as it does in life, while others wait in their coroutines.
func TestABusyLoopIsReportedWithItsStack(t *testing.T) {
	t.Parallel()
	var stop atomic.Bool
	log := &told{}
	w := memory.New()
	e, err := New(Config{
		World: w, Stall: 250 * time.Millisecond, Logger: slog.New(slog.NewJSONHandler(log, nil)),
		Workflows: []*Workflow{
			{Name: "spin", Version: 1, Check: fits, Body: func([]byte, string) replay.Body {
				return func(*replay.Ctx) replay.Outcome { spin(&stop); return replay.Outcome{Output: []byte("1")} }
			}},
			{Name: "calm", Version: 1, Check: fits, Body: func([]byte, string) replay.Body {
				return func(x *replay.Ctx) replay.Outcome { x.Wait(x.Sleep("nap", time.Hour)); return replay.Outcome{} }
			}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	for _, name := range []string{"calm", "spin"} {
		if _, err := e.createPlain(ctx, Birth{ID: name, Birth: world.Birth{Workflow: name, Seed: 1}, Input: []byte("1")}); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the report", func() bool { return strings.Contains(log.String(), "does not yield") })
	if s := log.String(); !strings.Contains(s, "engine.spin(") || !strings.Contains(s, `"run_id":"spin"`) || strings.Contains(s, `"run_id":"calm"`) {
		t.Errorf("the report names neither the loop nor its run alone: %s", s)
	}
	if _, ok := e.Stalled("spin"); !ok {
		t.Error("Stalled knows nothing of the run")
	}
	stop.Store(true)
	until(t, "the run to end", func() bool { r, err := w.Run(ctx, "spin"); return err == nil && r.Status == world.Completed })
	until(t, "the report to be taken back", func() bool { _, ok := e.Stalled("spin"); return !ok })
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run = %v", err)
	}
}

// until polls for what something else brings about.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}
