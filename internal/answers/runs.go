package answers

// Answers about runs that belong together, segments and forks: 20 to 26.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

var sharedOfRuns = map[string]func(*answers){
	"answer 20: a taken ID is an error, and a start without one is a new run": answerExistsByStart,
	"answer 20: a taken ID is an error, and a stranger is not adopted":        answerExists,
	"answer 22: a key gives the existing run in whatever state it is":         answerKey,
}

var answersOfRuns = map[string]func(*answers){
	"answer 21: attached children are cancelled however the parent ends":       answerAttached,
	"answer 23: a continuation keeps ID, key, priority, hooks and the unread":  answerContinue,
	"answer 24: a fork keeps deadlines and leaves the rest to its source":      answerFork,
	"answer 25: an undo that fails is tried again, and the others run as well": answerUndo,
	"answer 26: Patched is decided and recorded once a segment":                answerPatched,
}

func echo(name string, opts ...stepwell.WorkflowOption) *stepwell.Workflow[int, int] {
	return stepwell.Define(name, func(_ stepwell.Context, n int) (int, error) { return n, nil }, opts...)
}

func answerExistsByStart(r *answers) {
	wf, other := echo("a20-one"), echo("a20-two")
	client := r.client(wf, other)
	chosen := begun(r, client, wf, 1, stepwell.RunID("a20-chosen"))
	wk := r.begin(wf, other)
	for state, app := range map[string]*stepwell.App{"by a client": client, "by the worker": wk.App} {
		for name, w := range map[string]*stepwell.Workflow[int, int]{"the same workflow": wf, "another": other} {
			run, err := w.Start(r.ctx, app, 7, stepwell.RunID("a20-chosen"))
			if !errors.Is(err, stepwell.ErrRunExists) || run != nil {
				r.Errorf("start of %s, %s: got %v, %v; want ErrRunExists", name, state, run, err)
			}
		}
	}
	gives(r, chosen, 1)
	before := r.get("a20-chosen")
	if _, err := wf.Start(r.ctx, wk.App, 7, stepwell.RunID("a20-chosen")); !errors.Is(err, stepwell.ErrRunExists) {
		r.Errorf("start when the run is over: %v, want ErrRunExists", err)
	}
	if diff := cmp.Diff(before, r.get("a20-chosen")); diff != "" {
		r.Errorf("the run that has the ID changed (-before +after):\n%s", diff)
	}
	seen := map[string]bool{"a20-chosen": true}
	for _, app := range []*stepwell.App{client, wk.App, client, wk.App} {
		run, err := wf.Start(r.ctx, app, 1)
		if err != nil || seen[run.ID()] || run.Existed() {
			r.Fatalf("start without an ID: %v; want a new run", err)
		}
		seen[run.ID()] = true
		gives(r, run, 1)
	}
}

func answerExists(r *answers) {
	nap := stepwell.Define("a20-nap", func(ctx stepwell.Context, d time.Duration) (int, error) {
		if d > 0 {
			return 0, stepwell.Sleep(ctx, "short", d)
		}
		n, _, err := counted.Wait(ctx)
		return n, err
	})
	wf := stepwell.Define("a20-chooses", func(ctx stepwell.Context, id string) ([]bool, error) {
		var got []bool
		for _, id := range []string{id, id, ctx.RunID()} { // of a stranger, and of its own child
			_, err := nap.Child(stepwell.RunID(id)).Run(ctx, time.Millisecond)
			got = append(got, errors.Is(err, stepwell.ErrRunExists))
		}
		return got, nil
	})
	wk := r.begin(wf, nap)
	stranger := begun(r, wk.App, nap, 0, stepwell.RunID("a20-stranger"))
	if _, err := nap.Start(r.ctx, r.client(nap), 0, stepwell.RunID("a20-stranger")); !errors.Is(err, stepwell.ErrRunExists) {
		r.Errorf("start of a taken ID: %v, want ErrRunExists", err)
	}
	r.has(stranger.ID(), 1, world.WaitCreated)
	for id, ends := range map[string][]bool{"a20-stranger": {true, true, true}, "a20-my-own": {false, true, true}} {
		run := begun(r, wk.App, wf, id)
		gives(r, run, ends)
		r.replays(run.ID(), wf, nap)
	}
	if got := r.get(stranger.ID()); got.Parent != nil || got.Status != world.Running {
		r.Errorf("the stranger: parent %v, %s; want none, running", got.Parent, got.Status)
	}
	if got := r.get("a20-my-own").Parent; got == nil || got.Run == "" {
		r.Errorf("the child's parent = %v, want its starter", got)
	}
	r.must(counted.Send(r.ctx, wk.App, stranger.ID(), 4))
	gives(r, stranger, 4)
}

func answerAttached(r *answers) {
	nap := stepwell.Define("a21-nap", func(ctx stepwell.Context, _ int) (int, error) { return 0, stepwell.Sleep(ctx, "long", time.Hour) })
	middle := stepwell.Define("a21-middle", func(ctx stepwell.Context, _ int) (int, error) {
		return nap.Child(stepwell.RunID(ctx.RunID()+".grandchild")).Run(ctx, 0)
	})
	wf := stepwell.Define("a21-ends", func(ctx stepwell.Context, how string) (string, error) {
		middle.Child(stepwell.RunID(how+".attached")).Start(ctx, 0)
		nap.Child(stepwell.RunID(how+".detached"), stepwell.Detached()).Start(ctx, 0)
		_, _, err := counted.Wait(ctx)
		if how == "a21-failed" {
			err = errLuck
		}
		return "", err
	})
	wk := r.begin(wf, nap, middle)
	for how, status := range map[string]world.Status{
		"a21-completed": world.Completed, "a21-failed": world.Failed, "a21-cancelled": world.Cancelled, "a21-forced": world.Cancelled,
	} {
		run := begun(r, wk.App, wf, how)
		for _, id := range []string{how + ".attached.grandchild", how + ".detached"} {
			r.until("the children", func() bool { _, err := r.world.Run(r.ctx, id); return err == nil })
		}
		switch how {
		case "a21-cancelled":
			r.must(wk.Cancel(r.ctx, run.ID(), ""))
		case "a21-forced":
			r.must(wk.ForceCancel(r.ctx, run.ID(), ""))
		default:
			r.must(counted.Send(r.ctx, wk.App, run.ID(), 1))
		}
		if status == world.Completed {
			gives(r, run, "")
		} else {
			endsAs(r, run, status)
		}
		endsAs(r, middle.Get(wk.App, how+".attached"), world.Cancelled)
		endsAs(r, nap.Get(wk.App, how+".attached.grandchild"), world.Cancelled)
		if got := r.status(how + ".detached"); got.Terminal() {
			r.Errorf("%s: the detached child is %s, want it to go on", how, got)
		}
	}
}

func answerKey(r *answers) {
	wf, v2, other := echo("a22-keyed"), echo("a22-keyed", stepwell.Version(2)), echo("a22-other")
	key := stepwell.Key("user-42")
	client := r.client(wf, v2)
	pending := begun(r, client, wf, 100, key)
	if pending.Existed() {
		r.Fatal("the first run existed before")
	}
	check := func(when string, w *stepwell.Workflow[int, int], app *stepwell.App, in int) {
		r.Helper()
		again, err := w.Start(r.ctx, app, in, key)
		if err != nil || again.ID() != pending.ID() || !again.Existed() {
			r.Errorf("%s: Start = run %s, existed %v, %v; want the existing run %s", when, again.ID(), again.Existed(), err, pending.ID())
		}
	}
	check("pending, other input", wf, client, 5)
	check("pending, other version", v2, client, 5)
	check("pending, another client", wf, r.client(wf), 5)
	wk := r.begin(wf, other, v2)
	gives(r, pending, 100)
	check("completed, by the worker", wf, wk.App, 100)
	check("completed, other version", v2, wk.App, 100)
	elsewhere := begun(r, wk.App, other, 6, key)
	if elsewhere.Existed() || elsewhere.ID() == pending.ID() {
		r.Errorf("another workflow with the same key: existed %v, want a run of its own", elsewhere.Existed())
	}
	gives(r, elsewhere, 6)
	n := 0
	for _, err := range client.List(r.ctx, stepwell.ListFilter{Workflow: wf.Name()}) {
		r.must(err)
		n++
	}
	if n != 1 {
		r.Errorf("runs = %d, want 1", n)
	}
}

func answerContinue(r *answers) {
	said := stepwell.Event[string]("said")
	wf := stepwell.Define("a23-keeper", func(ctx stepwell.Context, left int) (string, error) {
		hook, err := stepwell.NewHook[string](ctx, stepwell.Token("a23-door"))
		if err != nil {
			return "", err
		}
		if left > 0 {
			if _, _, err := counted.Wait(ctx); err != nil {
				return "", err
			}
			return "", stepwell.ContinueAsNew(ctx, left-1)
		}
		a, _, err := said.Wait(ctx)
		if err != nil {
			return "", err
		}
		b, _, err := hook.Wait(ctx)
		return ctx.RunID() + a + b, err
	})
	wk := r.begin(wf)
	run := begun(r, wk.App, wf, 2, stepwell.RunID("a23-kept"), stepwell.Key("a23"), stepwell.Priority(4), stepwell.Retention(time.Hour))
	r.has(run.ID(), 1, world.WaitCreated)
	r.must(said.Send(r.ctx, wk.App, run.ID(), " unread"))
	r.must(wk.SendHook(r.ctx, "a23-door", json.RawMessage(`" hooked"`)))
	for range 2 {
		r.must(counted.Send(r.ctx, wk.App, run.ID(), 1))
	}
	gives(r, run, "a23-kept unread hooked")
	row, err := r.world.Run(r.ctx, run.ID())
	if err != nil || row.Key != "a23" || row.Priority != 3 || row.Retention != time.Hour {
		r.Errorf("key %q, priority %d, retention %s, %v; want a23, 3, 1h", row.Key, row.Priority, row.Retention, err)
	}
	if n := len(r.events(run.ID(), world.RunContinued)); n != 2 {
		r.Errorf("%d continuations, want 2", n)
	}
}

func answerFork(r *answers) {
	said := stepwell.Event[string]("said")
	nap := stepwell.Define("a24-nap", func(stepwell.Context, int) (int, error) { return 1, nil })
	wf := stepwell.Define("a24-forked", func(ctx stepwell.Context, d time.Duration) (string, error) {
		if _, err := stepwell.NewHook[string](ctx, stepwell.Token("a24-"+d.String())); err != nil {
			return "", err
		}
		child := nap.Child().Start(ctx, 0)
		got, ok, err := said.Wait(ctx, stepwell.Timeout(d))
		if err != nil {
			return "", err
		}
		n, err := child.Get(ctx)
		return fmt.Sprint(got, ok, n), err
	})
	wk, client := r.begin(wf, nap), r.client()
	long, short := begun(r, wk.App, wf, time.Hour), begun(r, wk.App, wf, 100*time.Millisecond)
	asked, soon := r.has(long.ID(), 1, world.WaitCreated)[0], r.has(short.ID(), 1, world.WaitCreated)[0]
	wk.stop()
	r.must(said.Send(r.ctx, client, long.ID(), "yours"))
	_, err := client.Fork(r.ctx, long.ID(), stepwell.ForkOptions{ID: "a24-fork", At: asked.Seq})
	r.must(err)
	if got := r.events("a24-fork", world.WaitCreated); len(got) != 1 || !got[0].Until.Equal(asked.Until) {
		r.Errorf("the fork waits %v, want until %s as its source", got, asked.Until)
	}
	ours, err := client.Hooks(r.ctx, "a24-fork", "")
	r.must(err)
	theirs, err := client.Hooks(r.ctx, long.ID(), "")
	r.must(err)
	if len(ours) != 1 || len(theirs) != 1 || theirs[0].Token != "a24-1h0m0s" || ours[0].Token == "a24-1h0m0s" {
		r.Errorf("hooks %+v and %+v, want one each, and the token the source's", ours, theirs)
	}
	r.past(soon.Until)
	_, err = client.Fork(r.ctx, short.ID(), stepwell.ForkOptions{ID: "a24-overdue", At: soon.Seq})
	r.must(err)
	r.begin(wf, nap)
	gives(r, long, "yourstrue 1")
	gives(r, short, "false 1")
	gives(r, wf.Get(client, "a24-overdue"), "false 1")
	r.must(said.Send(r.ctx, client, "a24-fork", "mine")) // or it would wait: the source's is not its own
	gives(r, wf.Get(client, "a24-fork"), "minetrue 1")
}

func answerUndo(r *answers) {
	var undone, tries atomic.Int32
	wf := stepwell.Define("a25-broken", func(ctx stepwell.Context, _ int) (int, error) {
		stepwell.AddUndo(ctx, "first", func(context.Context, any) error { undone.Add(1); return nil }, nil)
		stepwell.AddUndo(ctx, "stubborn", func(context.Context, any) error {
			if tries.Add(1) < 6 {
				return errLuck
			}
			return nil
		}, nil, stepwell.Retry{Base: time.Millisecond, Cap: time.Millisecond})
		stepwell.AddUndo(ctx, "limited", func(context.Context, any) error { return errors.New("stuck") }, nil, stepwell.Retry{Attempts: 2, Base: time.Millisecond})
		return 0, errors.New("what began it")
	})
	e := endsAs(r, begun(r, r.begin(wf).App, wf, 0), world.Failed)
	for _, part := range []string{"what began it", `undo "limited" failed`, "stuck"} {
		if !strings.Contains(e.Error(), part) {
			r.Errorf("error = %v, want %q in it", e, part)
		}
	}
	if undone.Load() != 1 || tries.Load() != 6 {
		r.Errorf("the other undos: %d and %d attempts, want 1 and 6", undone.Load(), tries.Load())
	}
}

func answerPatched(r *answers) {
	type tour struct {
		Left int
		Got  string
	}
	code := func(patched bool) *stepwell.Workflow[tour, string] {
		return stepwell.Define("a26-asks", func(ctx stepwell.Context, in tour) (string, error) {
			for range 3 {
				if patched {
					in.Got += fmt.Sprint(stepwell.Patched(ctx, "change"), " ")
				}
				if _, _, err := counted.Wait(ctx); err != nil {
					return "", err
				}
			}
			if in.Left--; in.Left > 0 {
				return "", stepwell.ContinueAsNew(ctx, in)
			}
			return in.Got, nil
		})
	}
	before, after := code(false), code(true)
	wk := r.begin(before)
	run := begun(r, wk.App, before, tour{Left: 2})
	r.has(run.ID(), 1, world.WaitCreated)
	wk.stop()
	wk = r.begin(after)
	for n := range 6 {
		r.has(run.ID(), n+1, world.WaitCreated) // or a segment that ends in one turn records nothing
		r.must(counted.Send(r.ctx, wk.App, run.ID(), n))
	}
	gives(r, run, "false false false true true true ")
	if got := r.types(run.ID(), world.StepCreated); len(got) != 1 {
		r.Errorf("the decision is recorded %d times, want once: in the segment that is new to it", len(got))
	}
}
