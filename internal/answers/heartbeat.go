package answers

// Heartbeats on each store.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

var sharedHeartbeats = map[string]func(*answers){
	"heartbeats: the next attempt reads what the one before said last": answerProgress,
}

// answerProgress is of a step in place and of a queued one: what was said is durable at once where that is asked for, goes with the end of an attempt that fails,
// and is read by the next, on another worker too.
func answerProgress(r *answers) {
	said := make(chan string)
	body := func(ctx context.Context) (string, error) {
		at, ok, err := stepwell.Progress[int](ctx)
		switch {
		case err != nil:
			return "", err
		case !ok:
			if err := stepwell.HeartbeatNow(ctx, 1); err != nil {
				return "", err
			}
			said <- stepwell.Info(ctx).Run
			<-ctx.Done()
			return "", errors.Join(stepwell.Heartbeat(ctx, 2), context.Cause(ctx))
		case at < 3: // 2 where its end was waited for
			if err := stepwell.Heartbeat(ctx, 3); err != nil {
				return "", err
			}
			return "", errLuck
		}
		return fmt.Sprint("from ", at), nil
	}
	task := stepwell.DefineStep("a-read", func(ctx context.Context, _ int) (string, error) { return body(ctx) }, quick)
	wf := stepwell.Define("a-pages", func(ctx stepwell.Context, queued bool) (string, error) {
		if !queued {
			return stepwell.Step(ctx, "read", body, quick)
		}
		beside := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
			return stepwell.Step(ctx, "beside", func(context.Context) (int, error) { return 0, nil })
		})
		read := task.Start(ctx, 0)
		if _, err := beside.Get(ctx); err != nil {
			return "", err
		}
		return read.Get(ctx)
	})
	for _, queued := range []bool{false, true} {
		first := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf, task}, Drain: time.Millisecond})
		run := begun(r, first.App, wf, queued)
		<-said
		story, err := first.Story(r.ctx, run.ID(), false)
		r.must(err)
		var p *world.Progress
		for _, en := range story.Journal.Entries {
			if en.Progress != nil {
				p = en.Progress
			}
		}
		if p == nil || string(p.Value) != "1" || p.Attempt != 1 {
			r.Errorf("queued %t: progress = %+v, want 1 of attempt 1", queued, p)
		}
		first.stop()
		second := r.begin(wf, task)
		gives(r, run, "from 3")
		r.replays(run.ID(), wf, task)
		second.stop()
	}
}
