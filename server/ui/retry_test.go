package ui_test

// The button that retries a failed run: it is there where a retry can be right, and what is pressed all the same is refused with the reason.

import (
	"context"
	"errors"
	"html"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/server"
)

// undone fails behind a step whose effect it undoes, if there is one.
var undone = stepwell.Define("undone", func(ctx stepwell.Context, effect bool) (string, error) {
	if effect {
		if err := stepwell.Do(ctx, "book", func(context.Context) error { return nil }); err != nil {
			return "", err
		}
		stepwell.AddUndo(ctx, "unbook", func(context.Context, any) error { return nil }, nil)
	}
	return "", stepwell.Do(ctx, "pay", func(context.Context) error { return stepwell.Fatal(errors.New("no money")) })
})

func TestRetryButton(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{}, undone)
	const act = "/act/retry"
	for id, effect := range map[string]bool{"wrun_plain": false, "wrun_undone": true} {
		if _, err := undone.Start(t.Context(), s.App, effect, stepwell.RunID(id)); err != nil {
			t.Fatal(err)
		}
		s.Until(id, stepwell.WhyOver)
		page := s.want("/ui/runs/"+id, "no money", "Restart…")
		if offered := strings.Contains(page.body, "/ui/runs/"+id+act); offered == effect {
			t.Errorf("run %s: a retry is offered: %v, want %v", id, offered, !effect)
		}
	}
	advice, err := s.App.RetryAdvice(t.Context(), "wrun_undone")
	if err != nil || advice.Refused == "" {
		t.Fatalf("advice: %+v, %v; want that a retry is refused", advice, err)
	}
	if p := s.post("/ui/runs/wrun_undone" + act); p.status != http.StatusBadRequest || !strings.Contains(html.UnescapeString(p.body), advice.Refused) {
		t.Errorf("a retry of what was undone: got %d, want 400 with the reason %q: %.400s", p.status, advice.Refused, p.body)
	}
	first := s.post("/ui/runs/wrun_plain" + act)
	if first.status != http.StatusOK || first.at.Path == "/ui/runs/wrun_plain" {
		t.Fatalf("a retry led to %s with %d, want the new run", first.at.Path, first.status)
	}
	second := strings.TrimPrefix(first.at.Path, "/ui/runs/")
	s.Until(second, stepwell.WhyOver)
	again := s.post("/ui/runs/wrun_plain" + act)
	third, err := s.App.Get(t.Context(), strings.TrimPrefix(again.at.Path, "/ui/runs/"))
	if err != nil || third.Origin == nil || third.Origin.Run != second {
		t.Errorf("the same again led to %s, %v; want a retry of the newest, %s", again.at.Path, err, second)
	}
}

var (
	bankIsOpen atomic.Bool
	paying     = stepwell.Define("paying", func(ctx stepwell.Context, in int) (int, error) {
		return stepwell.Step(ctx, "pay", func(context.Context) (int, error) {
			if !bankIsOpen.Load() {
				return 0, stepwell.Fatal(errors.New("the bank is closed"))
			}
			return in, nil
		})
	})
	buying = stepwell.Define("buying", func(ctx stepwell.Context, in int) (int, error) {
		return paying.Child().Run(ctx, in)
	})
)

// TestRetryTheChild: the page of a parent that failed with its child heals both, in two actions.
func TestRetryTheChild(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{}, paying, buying)
	if _, err := buying.Start(t.Context(), s.App, 7, stepwell.RunID("wrun_buyer")); err != nil {
		t.Fatal(err)
	}
	s.Until("wrun_buyer", stepwell.WhyOver)
	page := s.want("/ui/runs/wrun_buyer", "the bank is closed", ">Retry the child</button>")
	at := regexp.MustCompile(`/ui/runs/wrun_[0-9A-Z]+/act/retry`).FindString(page.body)
	if strings.Contains(page.body, "/ui/runs/wrun_buyer/act/retry") || at == "" {
		t.Fatalf("the page should retry the child, and not the run: %q", at)
	}
	bankIsOpen.Store(true)
	child := strings.TrimPrefix(s.post(at).at.Path, "/ui/runs/")
	s.Until(child, stepwell.WhyOver)
	if page := s.want("/ui/runs/wrun_buyer", `/ui/runs/wrun_buyer/act/retry`); strings.Contains(page.body, "Retry the child") {
		t.Error("a child that was healed is to be retried")
	}
	again := strings.TrimPrefix(s.post("/ui/runs/wrun_buyer/act/retry").at.Path, "/ui/runs/")
	s.Until(again, stepwell.WhyOver)
	if info, err := s.App.Get(t.Context(), again); err != nil || string(info.Output) != "7" {
		t.Errorf("the parent's retry came to %s: %v", info.Output, err)
	}
}
