package answers

// Answers about what people and other programs send to a run, with a deadline.

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

var sharedToPeople = map[string]func(*answers){
	"a hook with a deadline: nobody came, somebody came, and what is there": answerHookDeadline,
	"a hook with a deadline is named for people":                            answerHookNamed,
}

// answerHookDeadline: a timeout is something the code branches on, the hook stays open, and a payload in time ends the wait and its timer.
func answerHookDeadline(r *answers) {
	wf := stepwell.Define("people-approve", func(ctx stepwell.Context, _ int) (string, error) {
		hook, err := stepwell.NewHook[string](ctx, stepwell.Named("approval"), stepwell.Token("people-"+ctx.RunID()))
		if err != nil {
			return "", err
		}
		var said []string
		for _, d := range []time.Duration{30 * time.Millisecond, time.Hour, time.Hour, 0, 0} {
			v, ok, err := hook.Wait(ctx, stepwell.Timeout(d))
			switch {
			case err != nil:
				return "", err
			case !ok:
				v = "nobody"
			}
			if said = append(said, v); v == "yes" { // the next is there when it is asked for
				if _, _, err := stepwell.Event[int]("go-on").Wait(ctx); err != nil {
					return "", err
				}
			}
		}
		if _, _, err := hook.Wait(ctx, stepwell.Timeout(-1)); !errors.Is(err, stepwell.ErrInvalid) {
			return "", errors.New("a negative timeout is not refused")
		}
		next := hook.Start(ctx, stepwell.Timeout(time.Hour))
		if err := hook.Dispose(ctx); err != nil {
			return "", err
		}
		if _, err := next.Get(ctx); !errors.Is(err, stepwell.ErrNotFound) {
			return "", errors.New("a hook that is disposed ends no receive")
		}
		return strings.Join(said, " "), nil
	})
	app := r.begin(wf)
	run, err := wf.Start(r.ctx, app.App, 0)
	r.must(err)
	token := "people-" + run.ID()
	r.has(run.ID(), 2, world.WaitCreated)
	r.must(app.SendHook(r.ctx, token, json.RawMessage(`"yes"`)))
	r.has(run.ID(), 3, world.WaitCreated)
	r.must(app.SendHook(r.ctx, token, json.RawMessage(`"again"`)))
	r.has(run.ID(), 2, world.HookReceived)
	r.must(app.Signal(r.ctx, run.ID(), "go-on", json.RawMessage(`1`)))
	got, err := run.Result(r.ctx)
	r.must(err)
	if want := "nobody yes again nobody nobody"; got != want {
		r.Errorf("received %q, want %q", got, want)
	}
	var waits []string
	for _, e := range r.events(run.ID(), world.WaitCreated, world.WaitCompleted) {
		if e.Type == world.WaitCreated {
			waits = append(waits, string(e.Kind)+" "+e.Name)
		} else {
			waits = append(waits, string(e.Outcome))
		}
	}
	want := []string{
		"receive approval", "due", "receive approval", "received", "event go-on", "received",
		"receive approval", "due", "receive approval", "due", "receive approval", "received",
	}
	if len(waits) == len(want)-2 { // the last was asked for and over in the turn that ended the run
		want = want[:len(want)-2]
	}
	if diff := cmp.Diff(want, waits); diff != "" {
		r.Errorf("waits (-want +got):\n%s", diff)
	}
	r.replays(run.ID(), wf)
}

// answerHookNamed: why and the list name the person's wait, not a timer, and until when it lasts.
func answerHookNamed(r *answers) {
	wf := stepwell.Define("people-named", func(ctx stepwell.Context, _ int) (string, error) {
		hook, err := stepwell.NewHook[string](ctx, stepwell.Named("approval"))
		if err != nil {
			return "", err
		}
		tired := stepwell.Timer(ctx, "tired", 2*time.Hour)
		next := hook.Start(ctx, stepwell.Timeout(72*time.Hour))
		if _, err := stepwell.Select(ctx, tired, next); err != nil {
			return "", err
		}
		r, err := next.Get(ctx)
		return r.Payload, err
	})
	app := r.begin(wf)
	run, err := wf.Start(r.ctx, app.App, 0)
	r.must(err)
	r.has(run.ID(), 2, world.WaitCreated)
	r.free(run.ID())
	why, err := app.Why(r.ctx, run.ID())
	r.must(err)
	hooks, err := app.Hooks(r.ctx, run.ID(), "")
	r.must(err)
	until := r.events(run.ID(), world.WaitCreated)[1].Until
	if why.Kind != stepwell.WhyHook || why.Token != hooks[0].Token || !why.Until.Equal(until) || why.More != 1 {
		r.Errorf("why = %+v, want of the hook with token %s, until %s, and one more", why, hooks[0].Token, until)
	}
	if text := why.String(); !strings.HasPrefix(text, `waiting for a payload at hook "approval" (token `) || !strings.Contains(text, " until ") || !strings.Contains(text, `sleep "tired" until`) {
		r.Errorf("why = %q", text)
	}
	info := r.get(run.ID())
	if want := `hook "approval" (it has a deadline) and 1 more`; info.Queue == nil || info.Queue.Waiting != want {
		r.Errorf("the list says %+v, want %q", info.Queue, want)
	}
	r.must(app.SendHook(r.ctx, hooks[0].Token, json.RawMessage(`"ok"`)))
	if got, err := run.Result(r.ctx); err != nil || got != "ok" {
		r.Errorf("Result = %q, %v", got, err)
	}
	r.replays(run.ID(), wf)
}
