package answers

// Answers about many runs and many requests: 28 to 30.

import (
	"context"
	"errors"

	"github.com/stepwell/stepwell"
)

var answersOfMany = map[string]func(*answers){
	"answer 28: who has waited a minute counts one priority higher": answerAged,
	"answer 29: bulk operations report each run":                    answerBulk,
}

var sharedOfMany = map[string]func(*answers){
	"answer 30: unknown runs and runs that are over are told apart": answerUnknown,
}

func answerBulk(r *answers) {
	client := r.client()
	var ids []string
	for range 3 {
		run, err := client.Start(r.ctx, "a29-order", []byte("0"))
		r.must(err)
		ids = append(ids, run.ID())
	}
	r.must(client.ForceCancel(r.ctx, ids[1], ""))
	refused := map[string]bool{}
	for res, err := range client.Bulk(r.ctx, stepwell.ListFilter{Workflow: "a29-order"}, func(ctx context.Context, run stepwell.RunInfo) error {
		return client.Pause(ctx, run.ID, "recalled")
	}) {
		r.must(err)
		refused[res.Run.ID] = errors.Is(res.Err, stepwell.ErrTerminal)
	}
	if len(refused) != 3 || refused[ids[0]] || !refused[ids[1]] || refused[ids[2]] {
		r.Errorf("refused %v, want the second of %v", refused, ids)
	}
}

func answerUnknown(r *answers) {
	wf := echo("a30-short")
	wk := r.begin(wf)
	run := begun(r, wk.App, wf, 1)
	gives(r, run, 1)
	before := len(r.events(run.ID()))
	for name, id := range map[string]string{"unknown": "wrun_unknown", "ended": run.ID(), "empty": "", "malformed": "no such\x00run"} {
		want := stepwell.ErrNotFound
		if name == "ended" {
			want = stepwell.ErrTerminal
		}
		for what, err := range map[string]error{
			"send": counted.Send(r.ctx, wk.App, id, 1), "cancel": wk.Cancel(r.ctx, id, ""), "force": wk.ForceCancel(r.ctx, id, ""), "pause": wk.Pause(r.ctx, id, ""),
		} {
			if !errors.Is(err, want) && (name == "ended" || name == "unknown" || !errors.Is(err, stepwell.ErrInvalid)) {
				r.Errorf("%s to %s run: %v, want %v", what, name, err, want)
			}
		}
		if name == "ended" {
			continue
		}
		if _, err := wk.Get(r.ctx, id); !errors.Is(err, stepwell.ErrNotFound) {
			r.Errorf("get %s run: %v, want ErrNotFound", name, err)
		}
		if _, err := wf.Get(wk.App, id).Result(r.ctx); !errors.Is(err, stepwell.ErrNotFound) {
			r.Errorf("result of %s run: %v, want ErrNotFound", name, err)
		}
		for _, err := range wk.Events(r.ctx, id, stepwell.EventFilter{}) {
			if !errors.Is(err, stepwell.ErrNotFound) {
				r.Errorf("events of %s run: %v, want ErrNotFound", name, err)
			}
		}
	}
	if after := len(r.events(run.ID())); after != before {
		r.Errorf("events = %d, were %d", after, before)
	}
}

// The run of the lowest priority has waited more than a minute: it is served before those of the next priority that are as old as nothing.
func answerAged(r *answers) {
	served := make(chan int, 5)
	wf := stepwell.Define("a28-served", func(_ stepwell.Context, n int) (int, error) { served <- n; return n, nil })
	var runs []*stepwell.Run[int]
	for n := range 5 {
		runs = append(runs, begun(r, r.client(wf), wf, n, stepwell.Priority(max(n, 1))))
	}
	r.stage.Age(r.T, runs[0].ID())
	r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, MaxRuns: 1})
	for _, want := range []int{4, 3, 0, 2, 1} {
		if got := <-served; got != want {
			r.Errorf("served run %d, want %d", got, want)
		}
	}
	for n, run := range runs {
		gives(r, run, n)
	}
}
