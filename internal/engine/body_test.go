package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// TestBodyBeginsUnderItsLease: a body whose goroutine comes to run late does not begin where its worker has joined anew meanwhile, or where the lease ran
// out and nobody confirms it.
func TestBodyBeginsUnderItsLease(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		worker string
		until  time.Duration
		parent context.Context
		want   bool
	}{
		"leased":                          {"wrkr_one", time.Hour, context.Background(), true},
		"leased by another":               {"wrkr_two", time.Hour, context.Background(), false},
		"run out, and the worker is over": {"wrkr_one", -time.Second, over, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Engine{bodyCtx: c.parent}
			e.lease.init()
			now := "wrkr_one"
			e.worker.Store(&now)
			e.lease.renew(time.Now(), c.until)
			for kind, b := range map[string]*body{"session": {}, "task": {task: &world.Task{Worker: c.worker}}} {
				var home *mailbox
				if b.task == nil {
					home = &mailbox{own: &title{worker: c.worker}}
				}
				b.sit(e, StepInfo{}, home)
				if got := b.begins(); got != c.want {
					t.Errorf("%s: begins %t, want %t", kind, got, c.want)
				}
			}
		})
	}
	if _, err := unbegun(over, nil); !errors.Is(err, world.ErrLeaseLost) {
		t.Errorf("a body that has not begun: %v, want ErrLeaseLost", err)
	}
}
