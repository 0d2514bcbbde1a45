package server

// Heartbeats and steps that nobody begins, of workers that have a server in the place of a database; and what the API shows of them.

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote"
)

// TestRemoteHeartbeats: of a step in place and of a queued one.
func TestRemoteHeartbeats(t *testing.T) {
	t.Parallel()
	for _, kind := range sample.OneKey(t, kinds) {
		open := kinds[kind]
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			said, goOn := make(chan struct{}), make(chan struct{})
			body := func(ctx context.Context) (int, error) {
				page, ok, err := stepwell.Progress[int](ctx)
				if err != nil || ok {
					return page, err
				}
				if err := stepwell.HeartbeatNow(ctx, 41); err != nil {
					return 0, err
				}
				said <- struct{}{}
				<-goOn
				return 0, errors.New("the line is cut")
			}
			retry := stepwell.Retry{Base: time.Millisecond}
			queued := stepwell.DefineStep("queued", func(ctx context.Context, _ int) (int, error) { return body(ctx) }, retry)
			nobody := stepwell.DefineStep("nobody", func(context.Context, int) (int, error) { return 0, nil }, stepwell.QueueTimeout(10*time.Millisecond))
			wf := stepwell.Define("pages", func(ctx stepwell.Context, _ int) (int, error) {
				place := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return stepwell.Step(ctx, "place", body, retry) })
				far := queued.Start(ctx, 0)
				if _, err := nobody.Run(ctx, 0); !errors.Is(err, stepwell.ErrNotStarted) {
					return 0, errors.Join(errors.New("a step that nobody has"), err)
				}
				a, err := place.Get(ctx)
				if err != nil {
					return 0, err
				}
				b, err := far.Get(ctx)
				return a + b, err
			})
			url := serveWorld(t, open(t), Options{Keys: testKeys(t)})
			work(t, openRemote(t, url, remote.Options{Key: workerSecret}), wf, queued)
			client, err := stepwell.New(openRemote(t, url, remote.Options{Key: operatorSecret}), stepwell.Config{})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			run, err := wf.Start(ctx, client, 0)
			if err != nil {
				t.Fatal(err)
			}
			<-said
			<-said
			story, err := client.Story(ctx, run.ID(), false)
			if err != nil {
				t.Fatal(err)
			}
			shown := 0
			for _, en := range story.Journal.Entries {
				if p := en.Progress; p != nil && string(p.Value) == "41" && p.Attempt == 1 {
					shown++
				}
			}
			if shown != 2 {
				t.Errorf("the journal shows the progress of %d steps, want 2", shown)
			}
			close(goOn)
			if got, err := run.Result(ctx); got != 82 || err != nil {
				t.Errorf("result = %d, %v, want 82", got, err)
			}
			for e, err := range client.Events(ctx, run.ID(), stepwell.EventFilter{Types: []world.EventType{world.StepFailed}}) {
				if err != nil || e.Error.Code != world.CodeNotStarted || !strings.Contains(e.Error.Message, "deploy one that does") {
					t.Errorf("step_failed = %+v, %v", e.Error, err)
				}
			}
		})
	}
}
