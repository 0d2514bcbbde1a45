package behaviour_test

// What was decided of a payload stands: what was taken stays taken, and who was told of one that was set aside was told, whatever a later deploy asks for.

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// hookReader receives two payloads of a hook, with nothing between them: the log says nothing behind the first but that it was taken.
func hookReader[T any](before func(ctx stepwell.Context, round int) error) *stepwell.Workflow[int, string] {
	return stepwell.Define("taker", func(ctx stepwell.Context, round int) (string, error) {
		h, err := stepwell.NewHook[T](ctx, stepwell.Token("taker"))
		if err != nil {
			return "", err
		}
		if before != nil {
			if err := before(ctx, round); err != nil {
				return "", err
			}
		}
		a, _, err := h.Wait(ctx)
		if err != nil {
			return "", err
		}
		b, _, err := h.Wait(ctx)
		return fmt.Sprint(a, b), err
	})
}

func (r *rig) tellHook(wk *worker, token string, payloads ...string) {
	r.Helper()
	for _, p := range payloads {
		if err := wk.SendHook(r.ctx, token, json.RawMessage(p)); err != nil {
			r.Fatal(err)
		}
	}
}

func TestAHooksPayloadThatWasTakenStandsAlone(t *testing.T) {
	rest := func(ctx stepwell.Context, _ int) error { return stepwell.Sleep(ctx, "rest", time.Minute) }
	again := func(ctx stepwell.Context, round int) error {
		if err := stepwell.Sleep(ctx, "rest", time.Minute); err != nil || round > 0 {
			return err
		}
		return stepwell.ContinueAsNew(ctx, 1)
	}
	for _, c := range []struct {
		name   string
		before func(ctx stepwell.Context, round int) error
		naps   int
	}{{"as it comes", nil, 0}, {"after it lay unread", rest, 1}, {"carried into another segment", again, 2}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(r *rig) {
				whole, texts := hookReader[int](c.before), hookReader[string](c.before)
				wk := r.begin(whole)
				run := start(r, wk, whole, 0)
				until(r, "the hook", func() bool { return r.count(run.ID(), world.HookCreated, "") == 1 })
				r.tellHook(wk, "taker", "5")
				until(r, "it to wait for the second", func() bool {
					return r.count(run.ID(), world.HookReceived, "") == 1 && len(r.events(run.ID(), world.WaitCompleted)) == c.naps
				})
				r.pass(time.Second)
				wk.stop(r)

				wk = r.begin(texts)
				r.nudge(wk, run.ID())
				if b := r.blocked(run.ID()); b.Code != world.CodeDecode || !strings.Contains(b.Message, `hook "hook"`) {
					r.Errorf("blocked = %s: %s, want DECODE and the hook", b.Code, b.Message)
				}
				if n := len(asides(r, run.ID())); n != 0 {
					r.Errorf("set aside: %d payloads, want none", n)
				}
				wk.stop(r)

				wk = r.begin(whole)
				r.tellHook(wk, "taker", "6")
				want(r, run, "5 6")
				r.replays(run.ID(), whole)
			})
		})
	}
}

// nudge sends an event that nobody waits for.
func (r *rig) nudge(wk *worker, run string) {
	r.Helper()
	if err := wk.Signal(r.ctx, run, "nudge", json.RawMessage(`1`)); err != nil {
		r.Fatal(err)
	}
}

// What no receive has reached is not decided: it is today's type that judges it.
func TestAHooksPayloadThatLiesUnreadIsNotDecided(t *testing.T) {
	everyWay(t, func(r *rig) {
		rest := func(ctx stepwell.Context, _ int) error { return stepwell.Sleep(ctx, "rest", 10*time.Minute) }
		whole, texts := hookReader[int](rest), hookReader[string](rest)
		wk := r.begin(whole)
		run := start(r, wk, whole, 0)
		until(r, "the sleep", func() bool { return r.count(run.ID(), world.WaitCreated, "rest") == 1 })
		r.tellHook(wk, "taker", `5`, `"a"`)
		until(r, "both to be in the log", func() bool { return r.count(run.ID(), world.HookReceived, "") == 2 })
		wk.stop(r)
		wk = r.begin(texts)
		r.pass(10 * time.Minute)
		r.tellHook(wk, "taker", `"b"`)
		want(r, run, "ab")
		if n := len(asides(r, run.ID())); n != 1 {
			r.Errorf("set aside: %d payloads, want the one that is no text", n)
		}
		r.replays(run.ID(), texts)
	})
}

// tellOption is what PayloadErrors is.
type tellOption interface {
	stepwell.EventOption
	stepwell.HookOption
}

// hearer waits for an event and then for a hook's payload, and says what it was told of.
func hearer(opts ...tellOption) *stepwell.Workflow[struct{}, string] {
	event := stepwell.Event[int]("number")
	return stepwell.Define("hearer", func(ctx stepwell.Context, _ struct{}) (string, error) {
		h, err := stepwell.NewHook[int](ctx, append([]stepwell.HookOption{stepwell.Token("hearer")}, each[stepwell.HookOption](opts)...)...)
		if err != nil {
			return "", err
		}
		say := func(v int, err error) (string, error) {
			if bad, is := errors.AsType[*stepwell.PayloadError](err); is {
				return fmt.Sprint("told of ", strings.Fields(bad.Of)[0], "; "), nil
			}
			return fmt.Sprint(v, "; "), err
		}
		v, _, err := event.Wait(ctx, each[stepwell.EventOption](opts)...)
		a, err := say(v, err)
		if err != nil {
			return "", err
		}
		v, _, err = h.Wait(ctx)
		b, err := say(v, err)
		if err != nil {
			return "", err
		}
		return a + b, stepwell.Sleep(ctx, "end", 10*time.Minute)
	})
}

func each[O any](opts []tellOption) (all []O) {
	for _, o := range opts {
		all = append(all, any(o).(O))
	}
	return all
}

// Whether the code was told is recorded: a deploy that asks for it, or no longer does, changes nothing of what is past.
func TestWhoWasToldOfAPayloadWasTold(t *testing.T) {
	silent, told := hearer(), hearer(stepwell.PayloadErrors())
	for _, c := range []struct {
		name       string
		then, now  *stepwell.Workflow[struct{}, string]
		bad, right int // payloads, of each
		out        string
	}{{"no longer asked", told, silent, 1, 0, "told of event; told of hook; "}, {"asked since", silent, told, 1, 1, "7; 7; "}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(r *rig) {
				wk := r.begin(c.then)
				run := start(r, wk, c.then, struct{}{})
				until(r, "the hook", func() bool { return r.count(run.ID(), world.WaitCreated, "number") == 1 })
				for _, p := range append([]string{`"x"`}, []string{`7`}[:c.right]...) {
					if err := wk.Signal(r.ctx, run.ID(), "number", json.RawMessage(p)); err != nil {
						r.Fatal(err)
					}
					r.tellHook(wk, "hearer", p)
				}
				until(r, "the last sleep", func() bool { return r.count(run.ID(), world.WaitCreated, "end") == 1 })
				wk.stop(r)
				r.begin(c.now)
				want(r, run, c.out)
				if n := len(asides(r, run.ID())); n != 2 {
					r.Errorf("set aside: %d payloads, want 2", n)
				}
				r.replays(run.ID(), c.then)
				r.replays(run.ID(), c.now)
			})
		})
	}
}
