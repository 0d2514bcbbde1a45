package ui_test

// This file tests the buttons that end waits for time.

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/server"
)

// TestRetryNow: the button is there as long as a step waits for its next attempt; many runs are woken at once; a delayed run has one as well.
func TestRetryNow(t *testing.T) {
	t.Parallel()
	var back atomic.Bool
	till := stepwell.Define("till", func(ctx stepwell.Context, n int) (int, error) {
		return stepwell.Step(ctx, "charge", func(context.Context) (int, error) {
			if !back.Load() {
				return 0, errors.New("the bank is away")
			}
			return n, nil
		}, stepwell.Retry{Attempts: 3, Base: time.Hour, Jitter: -1})
	})
	s := newSite(t, server.Options{}, till)
	for _, id := range []string{"t-1", "t-2", "t-3"} {
		if _, err := till.Start(t.Context(), s.App, 1, stepwell.RunID(id)); err != nil {
			t.Fatal(err)
		}
		s.Until(id, stepwell.WhyRetry)
	}
	if _, err := till.Start(t.Context(), s.App, 1, stepwell.RunID("t-4"), stepwell.Delay(time.Hour)); err != nil {
		t.Fatal(err)
	}
	s.want("/ui/runs/t-1", "Retry now")
	s.want("/ui/runs/t-4", "Start now")
	did := func(p *page, want string) {
		t.Helper()
		if got := p.at.Query().Get("did"); p.status != 200 || got != want {
			t.Errorf("got %d, did %q; want %q: %.600s", p.status, got, want, p.body)
		}
	}
	did(s.post("/ui/runs/t-1/act/sleeps"), "nowake")
	back.Store(true)
	did(s.post("/ui/runs/t-1/act/retries"), "retries")
	s.Until("t-1", stepwell.WhyOver)
	s.post("/ui/runs/act", "act", "retries", "all", "yes", "query", "workflow=till", "sure", "yes")
	s.Until("t-2", stepwell.WhyOver)
	s.Until("t-3", stepwell.WhyOver)
	s.Until("t-4", stepwell.WhyDelayed)
	did(s.post("/ui/runs/t-4/act/starts"), "starts")
	s.Until("t-4", stepwell.WhyOver)
}
