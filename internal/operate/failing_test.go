package operate_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// TestFailedSinceAndCause: a list is filtered by when runs failed, not by when they were created, and by what failures
// are grouped by.
func TestFailedSinceAndCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		post := stepwell.DefineStep("post", func(context.Context, int) (int, error) { return 0, errors.New("the post is closed") }, stepwell.Retry{Attempts: 5, Base: 6 * time.Hour})
		job := stepwell.Define("job", func(ctx stepwell.Context, how string) (int, error) {
			what, after, _ := strings.Cut(how, " ")
			if d, err := time.ParseDuration(after); err != nil {
				return 0, err
			} else if err := stepwell.Sleep(ctx, "first", d); err != nil {
				return 0, err
			}
			switch what {
			case "block":
				panic("column 7 is not a date") //stepwell:allow panics what the test is of
			case "retry":
				return stepwell.Step(ctx, "charge", func(context.Context) (int, error) {
					return 0, errors.New("the bank is away")
				}, stepwell.Retry{Attempts: 5, Base: 6 * time.Hour})
			case "queued":
				return post.Run(ctx, 1)
			case "fail":
				return 0, fmt.Errorf("order %d: no stock", len(after))
			}
			return 1, nil
		})
		app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{job, post}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- app.Run(ctx) }()
		defer func() { cancel(); <-ended }()
		for _, how := range []string{"fail 1s", "block 1s", "retry 1s", "queued 1s", "done 1s", "fail 2h", "block 2h", "retry 2h", "queued 2h", "done 2h", "done 90h"} { // the deploy is after an hour
			if _, err := job.Start(ctx, app, how, stepwell.RunID(strings.ReplaceAll(how, " ", "-"))); err != nil {
				t.Fatal(err)
			}
		}
		deploy := time.Now().Add(time.Hour)
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		list := func(f stepwell.ListFilter) string {
			t.Helper()
			var ids []string
			for r, err := range app.List(ctx, f) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, r.ID)
			}
			slices.Sort(ids)
			return strings.Join(ids, " ")
		}
		for _, c := range []struct {
			of   stepwell.ListFilter
			want string
		}{
			{stepwell.ListFilter{FailedSince: deploy}, "block-2h fail-2h queued-2h retry-2h"},
			{stepwell.ListFilter{FailedSince: deploy.Add(-2 * time.Hour)}, "block-1s block-2h fail-1s fail-2h queued-1s queued-2h retry-1s retry-2h"},
			{stepwell.ListFilter{FailedSince: deploy.Add(2 * time.Hour)}, ""},
			{stepwell.ListFilter{FailedSince: deploy, Status: []world.Status{world.Failed}}, "fail-2h"},
			{stepwell.ListFilter{FailedSince: deploy, Status: []world.Status{world.Running}}, "block-2h queued-2h retry-2h"},
			{stepwell.ListFilter{FailedSince: deploy, Status: []world.Status{world.Completed}}, ""},
			{stepwell.ListFilter{FailedSince: deploy, Since: deploy}, ""}, // they were created before
			{stepwell.ListFilter{Cause: "0123456789ab"}, ""},
		} {
			if got := list(c.of); got != c.want {
				t.Errorf("%+v: got %q, want %q", c.of, got, c.want)
			}
		}
		all, err := operate.FailuresOf(ctx, app, stepwell.ListFilter{})
		if err != nil || len(all.Causes) != 4 {
			t.Fatalf("got %d causes, want 4: %+v: %v", len(all.Causes), all, err)
		}
		for _, is := range all.Causes {
			runs := slices.Sorted(slices.Values(is.Runs))
			if got, want := list(stepwell.ListFilter{Cause: is.ID}), strings.Join(runs, " "); len(runs) != 2 || got != want {
				t.Errorf("of the cause %q: got %q, want %q", is.Message, got, want)
			}
			if got := list(stepwell.ListFilter{Cause: is.ID, FailedSince: deploy}); !strings.HasSuffix(got, "-2h") || strings.Contains(got, " ") {
				t.Errorf("of the cause %q since the deploy: %q", is.Message, got)
			}
		}
		since, err := operate.FailuresOf(ctx, app, stepwell.ListFilter{FailedSince: deploy})
		if err != nil || since.Failed != 1 || since.Blocked != 1 || since.Retrying != 2 {
			t.Errorf("since the deploy: %+v: %v; want one of each, and two retries", since, err)
		}
		if _, err := app.Page(ctx, stepwell.ListFilter{Cause: "no bank"}, "", 10); !errors.Is(err, stepwell.ErrInvalid) {
			t.Errorf("a text for a cause: %v, want ErrInvalid", err)
		}
		if _, err := app.Retry(ctx, "fail-2h"); err != nil {
			t.Fatal(err)
		}
		for _, is := range all.Causes {
			if got := list(stepwell.ListFilter{Cause: is.ID}); strings.Contains(got, "fail-2h") {
				t.Errorf("a run that was retried has a cause: %s", got)
			}
		}
	})
}
