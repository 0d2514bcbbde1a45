package answers

// Answers about time and order: 1 to 5.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

var answersInTime = map[string]func(*answers){
	"answer 1: a wait times out by its deadline, whoever is there":             answerDeadline,
	"answer 1: overdue things are appended in the order of their times":        answerOverdue,
	"answer 2: a payload that no wait took stays for the next that matches":    answerUntaken,
	"answer 3: a timeout while no worker is there counts, and no step follows": answerTimeout,
	"answer 4: an Await of what holds writes nothing":                          answerAwait,
	"answer 5: sleeps of nothing and times in the past are due at once":        answerNothing,
	"answer 5: a clock that steps back moves no event back, ends no lease":     answerClock,
}

func answerDeadline(r *answers) {
	wf := stepwell.Define("a01-wait", func(ctx stepwell.Context, d time.Duration) (string, error) {
		n, ok, err := counted.Wait(ctx, stepwell.Timeout(d))
		return fmt.Sprint(n, ok), err
	})
	wk := r.begin(wf)
	long, short := begun(r, wk.App, wf, time.Hour), begun(r, wk.App, wf, 100*time.Millisecond)
	r.has(long.ID(), 1, world.WaitCreated)
	asked := r.has(short.ID(), 1, world.WaitCreated)[0]
	wk.stop()
	r.past(asked.Until)
	for _, run := range []string{long.ID(), short.ID()} {
		if err := counted.Send(r.ctx, r.client(), run, 7); err != nil && !errors.Is(err, stepwell.ErrTerminal) {
			r.Fatal(err)
		}
	}
	r.begin(wf)
	gives(r, long, "7 true")
	gives(r, short, "0 false")
}

// overdueThings waits for a sleep, a child and two numbers, and says what came in which order.
func overdueThings(name string, child *stepwell.Workflow[int, int]) *stepwell.Workflow[string, string] {
	return stepwell.Define(name, func(ctx stepwell.Context, id string) (string, error) {
		var seen []string
		see := func(what string, f func(ctx stepwell.Context) error) *stepwell.Future[int] {
			return stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				err := f(ctx)
				seen = append(seen, what)
				return 0, err
			})
		}
		a := see("nap", func(ctx stepwell.Context) error { return stepwell.Sleep(ctx, "nap", 100*time.Millisecond) })
		b := see("child", func(ctx stepwell.Context) error {
			_, err := child.Child(stepwell.RunID(id)).Run(ctx, 0)
			return err
		})
		for range 2 {
			n, _, err := counted.Wait(ctx)
			if err != nil {
				return "", err
			}
			seen = append(seen, fmt.Sprint(n))
		}
		_, err := stepwell.All(ctx, a, b)
		return fmt.Sprint(seen), err
	})
}

// nap waits until both waits and the child of overdueThings are there, and gives the sleep.
func (r *answers) nap(run string) (nap world.Event) {
	r.Helper()
	r.has(run, 1, world.StepCreated)
	for _, e := range r.has(run, 2, world.WaitCreated) {
		if e.Name == "nap" {
			nap = e
		}
	}
	return nap
}

// comeInOrder lets the sleep fall due, then sends a number, then ends the child, then sends another.
func (r *answers) comeInOrder(run, id string, nap world.Event, child *stepwell.Workflow[int, int]) {
	r.Helper()
	client := r.client()
	r.past(nap.Until)
	r.must(counted.Send(r.ctx, client, run, 9))
	r.has(id, 1, world.WaitCreated)
	r.must(counted.Send(r.ctx, client, id, 1))
	gives(r, child.Get(client, id), 1)
	r.must(counted.Send(r.ctx, client, run, 15))
}

func answerOverdue(r *answers) {
	child := stepwell.Define("a01-child", func(ctx stepwell.Context, _ int) (int, error) { n, _, err := counted.Wait(ctx); return n, err })
	wf := overdueThings("a01-order", child)
	wk := r.begin(wf, child)
	run := begun(r, wk.App, wf, "a01-the-child")
	nap := r.nap(run.ID())
	wk.stop()
	r.begin(child)
	r.comeInOrder(run.ID(), "a01-the-child", nap, child)
	r.begin(wf)
	gives(r, run, "[nap 9 child 15]")
}

func answerUntaken(r *answers) {
	type numbered struct {
		N int `json:"n"`
	}
	event := stepwell.Event[numbered]("numbered")
	wf := stepwell.Define("a02-pick", func(ctx stepwell.Context, _ int) (got []int, err error) {
		for _, match := range []stepwell.Match{{"n": 2}, {}, {"n": 3}, {}} {
			n, _, err := event.Wait(ctx, match)
			if err != nil {
				return nil, err
			}
			got = append(got, n.N)
		}
		return got, nil
	})
	client := r.client(wf)
	early := begun(r, client, wf, 0)
	for n := range 4 {
		r.must(event.Send(r.ctx, client, early.ID(), numbered{n + 1}))
	}
	wk := r.begin(wf)
	gives(r, early, []int{2, 1, 3, 4})
	waits := begun(r, wk.App, wf, 0)
	r.has(waits.ID(), 1, world.WaitCreated)
	for n := range 4 {
		r.must(event.Send(r.ctx, client, waits.ID(), numbered{n + 1}))
	}
	gives(r, waits, []int{2, 1, 3, 4})
}

func answerTimeout(r *answers) {
	const limit = 4 * time.Second // time for the wait to be there before, on a machine under load too
	wf := stepwell.Define("a03-left-alone", func(ctx stepwell.Context, _ int) (int, error) {
		_, _, err := counted.Wait(ctx)
		if e := stepwell.Do(ctx, "after", func(context.Context) error { r.Error("a step after the deadline"); return nil }); !errors.Is(e, stepwell.ErrCancelled) {
			return 0, fmt.Errorf("a step after the deadline: %w", e)
		}
		return 0, errors.Join(err, stepwell.Do(ctx.Uncancelled(), "clean up", func(context.Context) error { return nil }))
	}, stepwell.Timeout(limit))
	wk := r.begin(wf)
	run := begun(r, wk.App, wf, 0)
	r.has(run.ID(), 1, world.WaitCreated)
	wk.stop()
	r.past(r.events(run.ID(), world.RunStarted)[0].Time.Add(limit))
	before := r.status(run.ID())
	if err := counted.Send(r.ctx, r.client(), run.ID(), 1); before == world.Running && err != nil { // comes too late
		r.Fatal(err)
	}
	r.begin(wf)
	if e := endsAs(r, run, world.Failed); e.Code != world.CodeTimeout {
		r.Errorf("failed with %s, want %s", e.Code, world.CodeTimeout)
	}
	if got := r.types(run.ID(), world.StepCreated); !slices.Equal(got, []string{"step_created clean up"}) {
		r.dump(run.ID())
		r.Errorf("steps %v, want the clean-up alone", got)
	}
}

func answerAwait(r *answers) {
	wf := stepwell.Define("a04-await", func(ctx stepwell.Context, _ int) (bool, error) {
		n := 0
		if _, err := stepwell.Await(ctx, func() bool { return n == 0 }); err != nil {
			return false, err
		}
		_, _, err := counted.Wait(ctx)
		n++
		held, awaited := stepwell.Await(ctx, func() bool { return n == 1 })
		return held && n == 1, errors.Join(err, awaited)
	})
	wk := r.begin(wf)
	run := begun(r, wk.App, wf, 0)
	r.has(run.ID(), 1, world.WaitCreated)
	r.must(counted.Send(r.ctx, wk.App, run.ID(), 1))
	gives(r, run, true)
	if got := len(r.events(run.ID(), world.WaitCreated)); got != 1 {
		r.dump(run.ID())
		r.Errorf("%d waits recorded, want that for the number", got)
	}
}

func answerNothing(r *answers) {
	wf := stepwell.Define("a05-nothing", func(ctx stepwell.Context, _ int) (bool, error) {
		for _, err := range []error{
			stepwell.Sleep(ctx, "zero", 0), stepwell.Sleep(ctx, "negative", -time.Hour),
			stepwell.SleepUntil(ctx, "past", ctx.Now().Add(-time.Hour)), stepwell.SleepUntil(ctx, "year one", time.Time{}),
		} {
			if err != nil {
				return false, err
			}
		}
		_, ok, err := counted.Wait(ctx, stepwell.Timeout(0))
		return ok, err
	})
	wk := r.begin(wf)
	run := begun(r, wk.App, wf, 0)
	gives(r, run, false)
	row, err := r.world.Run(r.ctx, run.ID())
	if err != nil || row.Claims != 1 {
		r.Errorf("claims = %d, %v, want 1", row.Claims, err)
	}
}

func answerClock(r *answers) {
	var back atomic.Int64
	wf := stepwell.Define("a05-steps", func(ctx stepwell.Context, _ int) (int, error) {
		for i := range 5 {
			if err := stepwell.Do(ctx, "step", func(context.Context) error {
				if i == 2 {
					back.Store(int64(time.Hour))
				}
				return nil
			}); err != nil {
				return 0, err
			}
		}
		n, _, err := counted.Wait(ctx)
		return n, err
	})
	mine := *r
	mine.world = r.stage.Clock(r.T, func() time.Time { return time.Now().Add(-time.Duration(back.Load())) })
	wk := mine.begin(wf)
	run := begun(r, wk.App, wf, 0)
	r.has(run.ID(), 1, world.WaitCreated)
	r.must(counted.Send(r.ctx, r.client(), run.ID(), 5))
	gives(r, run, 5)
	events := r.events(run.ID())
	if !slices.IsSortedFunc(events, func(a, b world.Event) int { return a.Time.Compare(b.Time) }) {
		r.dump(run.ID())
		r.Error("an event is earlier than the one before it")
	}
	if diff := cmp.Diff(5, len(r.events(run.ID(), world.StepCompleted))); diff != "" {
		r.Errorf("steps: want -, got +:\n%s", diff)
	}
}
