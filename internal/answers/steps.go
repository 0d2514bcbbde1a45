package answers

// Answers about steps: 6 to 11.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

var sharedOfSteps = map[string]func(*answers){
	"answer 8: RetryAfter sets the delay, Fatal counts anywhere in the chain":    answerRetryAfter,
	"answer 8: Fatal and Permanent count anywhere in the chain":                  answerFinal,
	"answer 9: a result that cannot be kept fails the step at once":              answerResults,
	"answer 9: an error that is too large is cut and says so":                    answerLoud,
	"answer 9: what cannot be kept fails the step; a lower limit is for the new": answerLimits,
	"answer 11: context.Canceled that nobody meant is an ordinary error":         answerCanceled,
}

var answersOfSteps = map[string]func(*answers){
	"answer 6: attempts are three, counted, unlimited, or ended by a total time": answerAttempts,
	"answer 7: today's code rules an attempt that starts today":                  answerToday,
	"answer 10: a body that ignores its timeout is not overlapped":               answerDeafToTimeout,
	"answer 10: a body that ignores a cancel keeps its slot":                     answerDeafToCancel,
}

var quick = stepwell.Retry{Base: time.Millisecond}

func answerAttempts(r *answers) {
	wf := stepwell.Define("a06-tries", func(ctx stepwell.Context, how string) (string, error) {
		retry, fails := stepwell.Retry{Base: time.Millisecond, Cap: time.Millisecond}, 1000
		switch how {
		case "unlimited":
			retry.Attempts, fails = stepwell.Unlimited, 11
		case "total":
			retry.Attempts, retry.Total = stepwell.Unlimited, 50*time.Millisecond
		case "counted":
			retry.Attempts, retry.Total = 2, time.Hour
		case "twice":
			fails = 2
		}
		got := ""
		for range 2 { // each occurrence has its own budget
			n, err := stepwell.Step(ctx, "try", func(ctx context.Context) (int, error) {
				if n := stepwell.Info(ctx).Attempt; n > fails {
					return n, nil
				}
				return 0, errLuck
			}, retry)
			got += fmt.Sprint(n, err == nil, " ")
		}
		return got, nil
	})
	wk := r.begin(wf)
	for how, want := range map[string]string{"": "0 false 0 false ", "twice": "3 true 3 true ", "unlimited": "12 true 12 true ", "counted": "0 false 0 false ", "total": "0 false 0 false "} {
		run := begun(r, wk.App, wf, how)
		gives(r, run, want)
		if n, attempts := len(r.events(run.ID(), world.StepStarted)), map[string]int{"": 6, "twice": 6, "unlimited": 24, "counted": 4}[how]; attempts != 0 && n != attempts {
			r.dump(run.ID())
			r.Errorf("%q: %d attempts, want %d", how, n, attempts)
		}
	}
}

// deployedStep is a workflow whose step always fails, with the policy of one deploy: as a closure, in place, or queued.
func deployedStep(how string, attempts int, calls *atomic.Int32) (*stepwell.Workflow[int, string], stepwell.Definition) {
	retry := stepwell.Retry{Attempts: attempts, Backoff: stepwell.Fixed, Base: time.Duration(attempts) * 50 * time.Millisecond, Jitter: -1}
	fail := func(context.Context, int) (int, error) { calls.Add(1); return 0, errLuck }
	step := stepwell.DefineStep("a07-fail "+how, fail, retry)
	return stepwell.Define("a07-"+strings.ReplaceAll(how, " ", "-"), func(ctx stepwell.Context, _ int) (string, error) {
		var err error
		switch how {
		case "closure":
			_, err = stepwell.Step(ctx, "fail", func(c context.Context) (int, error) { return fail(c, 0) }, retry)
		case "in place":
			_, err = step.Run(ctx, 0)
		case "queued":
			stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, stepwell.Sleep(ctx, "beside", time.Hour) })
			f := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				return 0, stepwell.Do(ctx, "pass", func(context.Context) error { return nil })
			})
			g := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return step.Run(ctx, 0) })
			if _, err = f.Get(ctx); err == nil {
				_, err = g.Get(ctx)
			}
		}
		return fmt.Sprint(errors.Is(err, stepwell.ErrCancelled), err != nil), nil
	}), step
}

func answerToday(r *answers) {
	type deploy struct {
		how   string
		calls atomic.Int32
		run   *stepwell.Run[string]
	}
	deploys := []*deploy{{how: "closure"}, {how: "in place"}, {how: "queued"}}
	defs := func(attempts int) (list []stepwell.Definition, wfs []*stepwell.Workflow[int, string]) {
		for _, d := range deploys {
			wf, step := deployedStep(d.how, attempts, &d.calls)
			list, wfs = append(list, wf, step), append(wfs, wf)
		}
		return list, wfs
	}
	old, wfs := defs(10)
	wk := r.begin(old...)
	for i, d := range deploys {
		d.run = begun(r, wk.App, wfs[i], 0)
	}
	r.until("an attempt of each", func() bool {
		return deploys[0].calls.Load() > 0 && deploys[1].calls.Load() > 0 && deploys[2].calls.Load() > 0
	})
	wk.stop()
	today, _ := defs(4)
	r.begin(today...)
	for _, d := range deploys {
		gives(r, d.run, "false true")
		if n := d.calls.Load(); n != 4 {
			r.dump(d.run.ID())
			r.Errorf("%s: %d attempts, want 4: those made before count", d.how, n)
		}
	}
}

func answerRetryAfter(r *answers) {
	fatal := stepwell.Fatal(errLuck)
	faults := map[string]error{
		"later": stepwell.RetryAfter(errLuck, 10*time.Millisecond), "wrapped": fmt.Errorf("outer: %w", fatal),
		"joined": errors.Join(errLuck, fmt.Errorf("inner: %w", fatal)), "fatal later": stepwell.RetryAfter(fatal, time.Millisecond),
	}
	wf := stepwell.Define("a08-fails", func(ctx stepwell.Context, how string) (bool, error) {
		err := stepwell.Do(ctx, "fail", func(context.Context) error { return faults[how] }, stepwell.Retry{Attempts: 3, Base: time.Hour, Jitter: -1})
		return err != nil, nil
	})
	wk := r.begin(wf)
	for how := range faults {
		run, want := begun(r, wk.App, wf, how), 1
		if how == "later" {
			want = 3
		}
		gives(r, run, true)
		if n := len(r.events(run.ID(), world.StepStarted)); n != want {
			r.Errorf("%s: %d attempts, want %d", how, n, want)
		}
		r.replays(run.ID(), wf)
	}
}

// finality is an error type that says itself whether another attempt would help.
type finality bool

func (f finality) Error() string   { return fmt.Sprintf("permanent: %v", bool(f)) }
func (f finality) Permanent() bool { return bool(f) }

func answerFinal(r *answers) {
	fatal := stepwell.Fatal(errLuck)
	cases := []struct {
		name string
		err  error
		want int32
	}{
		{"fatal", fatal, 1},
		{"fatal, wrapped", fmt.Errorf("outer: %w", fatal), 1},
		{"fatal, joined", errors.Join(errLuck, fmt.Errorf("inner: %w", fatal)), 1},
		{"fatal inside RetryAfter", stepwell.RetryAfter(fatal, time.Second), 1},
		{"permanent type", finality(true), 1},
		{"permanent, joined", errors.Join(errLuck, finality(true)), 1},
		{"permanent behind one that is not", errors.Join(finality(false), finality(true)), 1},
		{"not permanent", finality(false), 3},
		{"ordinary", errLuck, 3},
	}
	calls := make([]atomic.Int32, len(cases))
	wf := stepwell.Define("a08-final", func(ctx stepwell.Context, i int) (bool, error) {
		err := stepwell.Do(ctx, "fail", func(context.Context) error { calls[i].Add(1); return cases[i].err }, quick)
		se, ok := errors.AsType[*stepwell.StepError](err)
		return ok && se.Permanent, nil
	})
	wk := r.begin(wf)
	for i, c := range cases {
		run := begun(r, wk.App, wf, i)
		gives(r, run, c.want == 1)
		if got := calls[i].Load(); got != c.want {
			r.Errorf("%s: attempts = %d, want %d", c.name, got, c.want)
		}
		r.replays(run.ID(), wf)
	}
}

func answerResults(r *answers) {
	var calls atomic.Int32
	long := strings.Repeat("x", 2000)
	task := stepwell.DefineStep("a09-registered", func(context.Context, int) (string, error) { calls.Add(1); return long, nil })
	wf := stepwell.Define("a09-results", func(ctx stepwell.Context, how string) (string, error) {
		var err error
		switch how {
		case "channel":
			_, err = stepwell.Step(ctx, "s", func(context.Context) (chan int, error) { calls.Add(1); return make(chan int), nil })
		case "cycle":
			type node struct{ Next *node }
			_, err = stepwell.Step(ctx, "s", func(context.Context) (*node, error) {
				calls.Add(1)
				n := new(node)
				n.Next = n
				return n, nil
			})
		case "large":
			_, err = stepwell.Step(ctx, "s", func(context.Context) (string, error) { calls.Add(1); return long, nil })
		case "large, registered":
			_, err = task.Run(ctx, 1)
		}
		se, ok := errors.AsType[*stepwell.StepError](err)
		if !ok {
			return "", fmt.Errorf("no StepError: %w", err)
		}
		return fmt.Sprintf("%s %v %v", se.Code, se.Permanent, errors.Is(err, stepwell.ErrTooLarge)), nil
	})
	wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf, task}, MaxPayload: 1000})
	for how, code := range map[string]string{
		"channel": "ENCODE true false", "cycle": "ENCODE true false", "large": "TOO_LARGE true true", "large, registered": "TOO_LARGE true true",
	} {
		calls.Store(0)
		run := begun(r, wk.App, wf, how)
		gives(r, run, code)
		if got := calls.Load(); got != 1 {
			r.Errorf("%s: attempts = %d, want 1", how, got)
		}
		r.replays(run.ID(), wf, task)
	}
}

func answerLoud(r *answers) {
	wf := stepwell.Define("a09-loud", func(ctx stepwell.Context, _ int) (string, error) {
		err := stepwell.Do(ctx, "shout", func(context.Context) error {
			return stepwell.Fatal(errors.New(strings.Repeat("a", 1<<20)))
		})
		se, _ := errors.AsType[*stepwell.StepError](err)
		return se.Message, nil
	})
	run := begun(r, r.begin(wf).App, wf, 0)
	got, err := run.Result(r.ctx)
	if err != nil || len(got) > 10_000 || !strings.HasSuffix(got, "… (cut from 1048576 bytes)") {
		r.Errorf("message has %d bytes and ends in %q, %v", len(got), got[max(0, len(got)-40):], err)
	}
	r.replays(run.ID(), wf)
}

func answerLimits(r *answers) {
	wf := stepwell.Define("a09-limits", func(ctx stepwell.Context, in string) (string, error) {
		body := func(context.Context) (string, error) { return in, nil }
		before, err := stepwell.Step(ctx, "before", body)
		if err != nil {
			return "", err
		}
		if _, _, err := counted.Wait(ctx); err != nil {
			return "", err
		}
		_, large := stepwell.Step(ctx, "after", body)
		_, channel := stepwell.Step(ctx, "channel", func(context.Context) (chan int, error) { return make(chan int), nil })
		se, _ := errors.AsType[*stepwell.StepError](channel)
		loud := stepwell.Do(ctx, "loud", func(context.Context) error { return stepwell.Fatal(errors.New(strings.Repeat("a", 1<<20))) })
		return fmt.Sprint(len(before), errors.Is(large, stepwell.ErrTooLarge), se.Code, strings.Contains(loud.Error(), "cut from 1048576 bytes")), nil
	})
	wk := r.begin(wf)
	run := begun(r, wk.App, wf, strings.Repeat("x", 2000))
	r.has(run.ID(), 1, world.WaitCreated)
	wk.stop()
	r.must(counted.Send(r.ctx, r.client(), run.ID(), 1))
	r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, MaxPayload: 1000})
	gives(r, run, "2000 trueENCODEtrue")
	if n := len(r.events(run.ID(), world.StepRetrying)); n != 0 {
		r.Errorf("%d retries, want none", n)
	}
	r.replays(run.ID(), wf)
}

func answerDeafToTimeout(r *answers) {
	var now, most, others atomic.Int32
	open := make(chan struct{})
	deaf := stepwell.Define("a10-deaf", func(ctx stepwell.Context, _ int) (int, error) {
		return stepwell.Step(ctx, "deaf", func(ctx context.Context) (int, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			if stepwell.Info(ctx).Attempt == 1 {
				<-open // without a look at ctx
				return 0, errLuck
			}
			return 2, nil
		}, stepwell.Timeout(50*time.Millisecond), stepwell.Retry{Base: time.Millisecond, Attempts: stepwell.Unlimited})
	})
	quick := stepwell.Define("a10-quick", func(ctx stepwell.Context, _ int) (int, error) {
		return stepwell.Step(ctx, "quick", func(context.Context) (int, error) { return int(others.Add(1)), nil })
	})
	wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{deaf, quick}, MaxSteps: 1})
	run := begun(r, wk.App, deaf, 0)
	r.until("the body", func() bool { return now.Load() == 1 })
	other := begun(r, wk.App, quick, 0)
	began := r.has(run.ID(), 1, world.StepCreated)[0].Time
	r.past(began.Add(100 * time.Millisecond)) // its timeout, and when the next attempt would have begun
	if n := others.Load(); n != 0 {
		r.Error("another step got the only slot")
	}
	close(open)
	gives(r, other, 1)
	gives(r, run, 2)
	if most.Load() != 1 {
		r.Errorf("%d attempts at once, want 1", most.Load())
	}
	if e := r.events(run.ID(), world.StepRetrying); len(e) == 0 || e[0].Error.Code != world.CodeTimeout {
		r.Errorf("retries = %v, want the first with code TIMEOUT", e)
	}
}

func answerDeafToCancel(r *answers) {
	var others atomic.Int32
	runs, open := make(chan struct{}, 1), make(chan struct{})
	deaf := stepwell.Define("a10-deaf-to-cancel", func(ctx stepwell.Context, _ int) (string, error) {
		return stepwell.Step(ctx, "deaf", func(context.Context) (string, error) { runs <- struct{}{}; <-open; return "late", nil })
	})
	quick := stepwell.Define("a10-next", func(ctx stepwell.Context, _ int) (int, error) {
		return stepwell.Step(ctx, "quick", func(context.Context) (int, error) { return int(others.Add(1)), nil })
	})
	wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{deaf, quick}, MaxSteps: 1, CancelGrace: 50 * time.Millisecond})
	run := begun(r, wk.App, deaf, 0)
	<-runs
	r.must(wk.Cancel(r.ctx, run.ID(), "enough"))
	if e := endsAs(r, run, world.Cancelled); !strings.Contains(e.Error(), "cancelled before it ended") {
		r.Errorf("error = %v, want that of the step", e)
	}
	other := begun(r, wk.App, quick, 0)
	r.has(other.ID(), 1, world.RunStarted)
	if n := others.Load(); n != 0 {
		r.Error("another step got the only slot")
	}
	close(open)
	gives(r, other, 1)
	if n := len(r.events(run.ID(), world.StepCompleted)); n != 0 {
		r.Error("the late result was recorded")
	}
}

func answerCanceled(r *answers) {
	var calls atomic.Int32
	wf := stepwell.Define("a11-canceled", func(ctx stepwell.Context, _ int) (string, error) {
		err := stepwell.Do(ctx, "call", func(context.Context) error { calls.Add(1); return fmt.Errorf("call: %w", context.Canceled) }, quick)
		return fmt.Sprint(errors.Is(err, context.Canceled), errors.Is(err, stepwell.ErrCancelled)), nil
	})
	run := begun(r, r.begin(wf).App, wf, 0)
	gives(r, run, "true false")
	if n := len(r.events(run.ID(), world.StepRetrying)); n != 2 {
		r.Errorf("%d retries, want 2", n)
	}
	if got := calls.Load(); got != 3 {
		r.Errorf("attempts = %d, want 3", got)
	}
	r.replays(run.ID(), wf)
}
