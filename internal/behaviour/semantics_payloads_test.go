package behaviour_test

// What comes from outside and does not fit never blocks a run: it is set aside, recorded, shown, and the wait goes on.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// consent refuses some data with a panic of its own.
type consent struct{ N int }

func (a *consent) UnmarshalJSON(b []byte) error {
	if string(b) == `{"boom":true}` {
		panic("boom")
	}
	type plain consent
	return json.Unmarshal(b, (*plain)(a))
}

// desk waits for two consents, of an event and of a hook, sleeps, and adds up what it got.
func desk[T any](n func(T) int, opts ...stepwell.EventOption) *stepwell.Workflow[struct{}, int] {
	approve := stepwell.Event[T]("approve")
	return stepwell.Define("desk", func(ctx stepwell.Context, _ struct{}) (int, error) {
		h, err := stepwell.NewHook[T](ctx, stepwell.Token("desk"))
		if err != nil {
			return 0, err
		}
		sum := 0
		for range 2 {
			a, _, err := approve.Wait(ctx, opts...)
			if err != nil {
				return 0, err
			}
			b, _, err := h.Wait(ctx)
			if err != nil {
				return 0, err
			}
			if sum += n(a) + n(b); sum%2 == 0 {
				if err := stepwell.Sleep(ctx, "rest", time.Minute); err != nil {
					return 0, err
				}
			}
		}
		return sum, stepwell.Sleep(ctx, "end", time.Minute)
	})
}

// asides are the records of payloads that were set aside.
func asides(r *rig, run string) (list []world.Event) {
	r.Helper()
	for _, e := range r.events(run, world.StepCreated) {
		if e.Kind == world.KindAside {
			list = append(list, e)
		}
	}
	return list
}

func TestAPayloadThatDoesNotFitIsSetAside(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := desk(func(a consent) int { return a.N })
		wk := r.begin(wf)
		run := start(r, wk, wf, struct{}{})
		until(r, "the hook", func() bool { return r.count(run.ID(), world.WaitCreated, "approve") == 1 })
		send := func(payloads ...string) {
			r.Helper()
			for _, p := range payloads {
				if err := wk.Signal(r.ctx, run.ID(), "approve", json.RawMessage(p)); err != nil {
					r.Fatal(err)
				}
				if err := wk.SendHook(r.ctx, "desk", json.RawMessage(p)); err != nil {
					r.Fatal(err)
				}
			}
		}
		send(`[1]`, `"x"`, `{"N":"one"}`)
		until(r, "three to be set aside", func() bool { return len(asides(r, run.ID())) == 3 })
		var why stepwell.Why
		until(r, "it to wait again", func() bool {
			var err error
			if why, err = wk.Why(r.ctx, run.ID()); err != nil {
				r.Fatal(err)
			}
			return why.Kind == stepwell.WhyEvent
		})
		if text := why.String(); why.Kind != stepwell.WhyEvent || len(why.Aside) != 3 || !strings.Contains(text, `event "approve" was set aside`) || !strings.Contains(text, "does not fit: want a whole number") {
			r.Errorf("why = %s: %s, want the event, and what was set aside and why", why.Kind, text)
		}
		until(r, "it to hibernate", func() bool { return r.get(run.ID()).Queue.Waiting != "" })
		if text := r.get(run.ID()).Queue.Waiting; text != `event "approve" (a payload was set aside)` {
			r.Errorf("lists say that it waits for %s, want what was set aside", text)
		}
		send(`{"N":1}`)
		until(r, "the second round", func() bool { return r.count(run.ID(), world.WaitCreated, "approve") == 2 })
		if why, err := wk.Why(r.ctx, run.ID()); err != nil || len(why.Aside) != 0 {
			r.Errorf("why = %s, %v, want nothing of what was set aside: what fits came", why, err)
		}
		send(`{"boom":true}`, `[]`)
		send(`{"N":2}`)
		until(r, "the last sleep", func() bool { return r.count(run.ID(), world.WaitCreated, "end") == 1 })
		wk.stop(r)

		all := desk(func(v any) int { // today's type takes all of it: the records stand
			n, _ := v.(map[string]any)["N"].(float64)
			return int(n)
		})
		r.begin(all)
		want(r, run, 6)
		list := asides(r, run.ID())
		if len(list) != 10 {
			r.Errorf("set aside: %d payloads, want 10", len(list))
		}
		brought := map[int64]world.Event{}
		for _, e := range r.events(run.ID()) {
			brought[e.Seq] = e
		}
		for _, e := range list {
			from := brought[e.From]
			hook := from.Type == world.HookReceived && from.ID == e.Peer
			if event := from.Type == world.SignalReceived && e.Peer == ""; !event && !hook || e.Error == nil || e.Error.Code != world.CodeDecode {
				r.Errorf("record %+v is of %+v", e, from)
			}
		}
		story, err := r.client().Story(r.ctx, run.ID(), true)
		if err != nil {
			r.Fatal(err)
		}
		if len(story.Journal.Aside) != 10 || len(story.Journal.Unread) != 0 {
			r.Errorf("journal: %d set aside, %d unread, want 10 and 0", len(story.Journal.Aside), len(story.Journal.Unread))
		}
		r.replays(run.ID(), wf)
		r.replays(run.ID(), all)
	})
}

// A type that is narrower by now: what was taken is the run's own, and blocks it, until the code that can hold it is back.
func TestAPayloadThatWasTakenStands(t *testing.T) {
	everyWay(t, func(r *rig) {
		wide, narrow := desk(func(v map[string]any) int { return len(v) }), desk(func([]string) int { return 1 })
		wk := r.begin(wide)
		run := start(r, wk, wide, struct{}{})
		for range 2 {
			if err := wk.Signal(r.ctx, run.ID(), "approve", json.RawMessage(`{"a":1}`)); err != nil {
				r.Fatal(err)
			}
			if err := wk.SendHook(r.ctx, "desk", json.RawMessage(`{"a":1}`)); err != nil {
				r.Fatal(err)
			}
		}
		until(r, "the sleep", func() bool { return r.count(run.ID(), world.WaitCreated, "rest") == 1 })
		wk.stop(r)
		wk = r.begin(narrow)
		if b := r.blocked(run.ID()); b.Code != world.CodeDecode || !strings.Contains(b.Message, `event "approve"`) {
			r.Errorf("blocked = %s: %s, want DECODE and the event", b.Code, b.Message)
		}
		wk.stop(r)
		r.begin(wide)
		want(r, run, 4)
		if n := len(asides(r, run.ID())); n != 0 {
			r.Errorf("set aside: %d payloads, want none", n)
		}
	})
}

func TestPayloadErrors(t *testing.T) {
	approve := stepwell.Event[int]("approve")
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("told", func(ctx stepwell.Context, _ struct{}) (string, error) {
			_, ok, err := approve.Wait(ctx, stepwell.PayloadErrors())
			bad, is := errors.AsType[*stepwell.PayloadError](err)
			if !is || ok {
				return "", fmt.Errorf("got %v, %w, want a PayloadError", ok, err)
			}
			out := fmt.Sprintln(bad)
			h, err := stepwell.NewHook[int](ctx, stepwell.Token("told"), stepwell.PayloadErrors())
			if err != nil {
				return "", err
			}
			for n, err := range h.All(ctx) {
				if bad, is := errors.AsType[*stepwell.PayloadError](err); is {
					out += fmt.Sprintln(bad)
					continue
				}
				if err != nil {
					return "", err
				}
				if err := stepwell.Sleep(ctx, "rest", time.Minute); err != nil || n == 2 {
					return out, err
				}
			}
			return out, errors.New("the hook came to an end")
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, struct{}{})
		if err := wk.Signal(r.ctx, run.ID(), "approve", json.RawMessage(`"x"`)); err != nil {
			r.Fatal(err)
		}
		until(r, "the hook", func() bool { return r.count(run.ID(), world.HookCreated, "") == 1 })
		for _, p := range []string{`1`, `"y"`, `2`} {
			if err := wk.SendHook(r.ctx, "told", json.RawMessage(p)); err != nil {
				r.Fatal(err)
			}
		}
		out, err := run.Result(r.ctx)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if err != nil || len(lines) != 2 || !strings.HasPrefix(lines[0], `the payload of event "approve", event `) || !strings.HasPrefix(lines[1], `the payload of hook "hook", event `) {
			r.dump(run.ID())
			r.Fatalf("result = %q, %v, want what did not fit of both", out, err)
		}
		if n := len(asides(r, run.ID())); n != 2 {
			r.Errorf("records: %d, want 2", n)
		}
		r.replays(run.ID(), wf)
	})
}

// What was set aside is not carried into the next segment, what nobody took is; a wait with a Match leaves events of other shapes to others.
func TestSetAsideAcrossSegments(t *testing.T) {
	type item struct {
		Kind string
		N    int
	}
	items := stepwell.Event[item]("item")
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("segments", func(ctx stepwell.Context, round int) (int, error) {
			a, _, err := items.Wait(ctx, stepwell.Match{"Kind": "a"})
			if err != nil {
				return 0, err
			}
			if round < 2 {
				return 0, stepwell.ContinueAsNew(ctx, round+1)
			}
			b, _, err := items.Wait(ctx, stepwell.Match{"Kind": "b"})
			return a.N + b.N, err
		}, stepwell.KeepSegments(1))
		wk := r.begin(wf)
		run := start(r, wk, wf, 0)
		for _, p := range []string{
			`{"Kind":"a","N":"bad"}`, `{"Kind":"b","N":"bad"}`, `"other"`, `{"Kind":"a","N":1}`, `{"Kind":"a","N":[]}`, `{"Kind":"a","N":2}`, `{"Kind":"b","N":10}`, `{"Kind":"a","N":3}`,
		} {
			if err := wk.Signal(r.ctx, run.ID(), "item", json.RawMessage(p)); err != nil {
				r.Fatal(err)
			}
		}
		want(r, run, 13)
		story, err := wk.Story(r.ctx, run.ID(), true)
		if err != nil {
			r.Fatal(err)
		}
		if u := story.Journal.Unread; len(u) == 0 || string(u[0].Payload) != `"other"` {
			r.Errorf("unread = %v, want the event of another shape", u)
		}
		if n := len(story.Journal.Aside); n != 3 {
			r.Errorf("set aside: %d, want 3", n)
		}
	})
}

// A worker that is killed before or after any of its commits changes nothing: each payload is set aside once.
func TestSetAsideUnderKills(t *testing.T) {
	for _, after := range []bool{false, true} {
		for k := 1; k <= 9; k++ {
			t.Run(fmt.Sprintf("%d/%v", k, after), func(t *testing.T) {
				t.Parallel()
				across(t, kinds[:1], modes[1:], func(r *rig) {
					wf := desk(func(a consent) int { return a.N })
					cfg := stepwell.Config{Definitions: []stepwell.Definition{wf}}
					r.mode(&cfg)
					m := r.beginMortal(cfg, k, after)
					client := r.client()
					run, err := client.Start(r.ctx, "desk", json.RawMessage(`{}`))
					if err != nil {
						r.Fatal(err)
					}
					var heir *mortal
					follow := func() { // the first that dies has an heir
						if m.died.Load() && heir == nil {
							m.stop()
							heir = r.beginMortal(cfg, 1000, false)
						}
					}
					until(r, "the hook", func() bool { follow(); return r.count(run.ID(), world.HookCreated, "") == 1 })
					for _, p := range []string{`[1]`, `{"N":1}`, `"x"`, `{"N":2}`} {
						if err := client.Signal(r.ctx, run.ID(), "approve", json.RawMessage(p)); err != nil {
							r.Fatal(err)
						}
						if err := client.SendHook(r.ctx, "desk", json.RawMessage(p)); err != nil {
							r.Fatal(err)
						}
					}
					for range 20 {
						if follow(); r.get(run.ID()).Status.Terminal() {
							break
						}
						r.pass(30 * time.Second)
					}
					out, err := run.Result(r.ctx)
					if err != nil || string(out) != "6" || len(asides(r, run.ID())) != 4 {
						r.dump(run.ID())
						r.Errorf("result = %s, %v, with %d set aside; want 6 with 4", out, err, len(asides(r, run.ID())))
					}
					if heir == nil {
						heir = m
					}
					heir.stop()
					r.replays(run.ID(), wf)
				})
			})
		}
	}
}

// A fork takes the records over, wherever it is cut.
func TestForkTakesWhatWasSetAside(t *testing.T) {
	onWorlds(t, func(r *rig) {
		wf := desk(func(a consent) int { return a.N })
		wk := r.begin(wf)
		run := start(r, wk, wf, struct{}{})
		until(r, "the hook", func() bool { return r.count(run.ID(), world.HookCreated, "") == 1 })
		for _, p := range []string{`[1]`, `{"N":1}`, `"x"`, `{"N":2}`} {
			if err := wk.Signal(r.ctx, run.ID(), "approve", json.RawMessage(p)); err != nil {
				r.Fatal(err)
			}
			if err := wk.SendHook(r.ctx, "desk", json.RawMessage(p)); err != nil {
				r.Fatal(err)
			}
		}
		want(r, run, 6)
		events := r.events(run.ID())
		for at := 2; at < len(events); at++ {
			fork, err := wk.Fork(r.ctx, run.ID(), stepwell.ForkOptions{At: int64(at)})
			if err != nil {
				r.Fatal(err)
			}
			r.pass(time.Second)
			if b := r.get(fork.ID()).Queue; b != nil && b.Blocked != nil {
				r.dump(fork.ID())
				r.Fatalf("the fork at event %d is blocked: %s", at, b.Blocked.Message)
			}
			before := 0
			for _, e := range events[:at] {
				if e.Kind == world.KindAside {
					before++
				}
			}
			if n := len(asides(r, fork.ID())); n < before {
				r.Errorf("the fork at event %d has %d records, want %d", at, n, before)
			}
			if err := wk.ForceCancel(r.ctx, fork.ID(), ""); err != nil && !errors.Is(err, stepwell.ErrTerminal) {
				r.Fatal(err)
			}
		}
	})
}

func TestAStartWhoseInputDoesNotFitFailsAtOnce(t *testing.T) {
	everywhere(t, func(r *rig) {
		began := 0
		wf := stepwell.Define("picky", func(stepwell.Context, struct{ N int }) (int, error) { began++; return 1, nil })
		parent := stepwell.Define("parent", func(ctx stepwell.Context, _ struct{}) (string, error) {
			_, err := stepwell.Define("picky", func(stepwell.Context, string) (int, error) { return 0, nil }).Child().Run(ctx, "x")
			se, _ := errors.AsType[*stepwell.StepError](err)
			if se == nil {
				return "", err
			}
			return se.Code, nil
		})
		wk := r.begin(wf, parent)
		client := r.client()                                                                                                  // it knows no types
		raw := stepwell.Define("picky", func(stepwell.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil }) // and says it is another
		started := func(input string) *stepwell.Run[json.RawMessage] {
			r.Helper()
			run, err := raw.Start(r.ctx, client, json.RawMessage(input), stepwell.Key("k"))
			if err != nil || run.Existed() {
				r.Fatalf("start = %v, existed %v, want a new run", err, run.Existed())
			}
			return run
		}
		run := started(`{"N":"one"}`)
		failed := wantErr(r, run, world.Failed)
		if failed.Code != world.CodeDecode || !strings.Contains(failed.Error(), "in field N") {
			r.Errorf("result = %s: %v, want DECODE and the place", failed.Code, failed)
		}
		if n := len(r.events(run.ID())); n != 2 || began != 0 {
			r.Errorf("%d events, begun %d times; want birth and end alone", n, began)
		}
		if row := r.get(run.ID()); row.Key != "" {
			r.Errorf("the run still has the key %q", row.Key)
		}
		advice, err := wk.RetryAdvice(r.ctx, run.ID())
		if err != nil || advice.Refused == "" || !advice.Input {
			r.Errorf("advice = %+v, %v, want no retry, and another input", advice, err)
		}
		if _, err := wk.Retry(r.ctx, run.ID()); !errors.Is(err, stepwell.ErrInvalid) {
			r.Errorf("retry = %v, want it refused", err)
		}
		if fork, err := wk.Fork(r.ctx, run.ID(), stepwell.ForkOptions{At: advice.Fork, Input: json.RawMessage(`{"N":1}`)}); err != nil {
			r.Errorf("fork with an input that fits: %v", err)
		} else {
			want(r, fork, json.RawMessage(`1`))
		}
		again := started(`{"N":1}`)
		if out, err := again.Result(r.ctx); err != nil || string(out) != "1" {
			r.Errorf("result = %s, %v, want 1", out, err)
		}
		if same, err := client.Start(r.ctx, "picky", json.RawMessage(`{"N":1}`), stepwell.Key("k")); err != nil || !same.Existed() {
			r.Errorf("start = %v, want the run that completed", err)
		}
		if _, err := wk.Start(r.ctx, "picky", json.RawMessage(`"x"`)); !errors.Is(err, stepwell.ErrInvalid) {
			r.Errorf("where the type is known: %v, want ErrInvalid", err)
		}
		want(r, start(r, wk, parent, struct{}{}), world.CodeDecode)
	})
}

// A registered step whose recorded input does not fit today's code waits for code that it fits, in place and as a task.
func TestARegisteredStepsInputHeals(t *testing.T) {
	shop := func(charge func(ctx stepwell.Context, id string) *stepwell.Future[string], n int) *stepwell.Workflow[struct{}, string] {
		return stepwell.Define("shop", func(ctx stepwell.Context, _ struct{}) (string, error) {
			var all []*stepwell.Future[string]
			for i := range n {
				all = append(all, charge(ctx, fmt.Sprint("order ", i)))
			}
			out, err := stepwell.All(ctx, all...)
			return strings.Join(out, ", "), err
		})
	}
	retry := stepwell.Retry{Base: time.Minute, Jitter: -1, Attempts: 2}
	for n, name := range []string{1: "in place", 2: "and a task"} {
		if n == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			across(t, append(kinds[:len(kinds):len(kinds)], encrypted), modes[:2], func(r *rig) {
				old := stepwell.DefineStep("charge", func(context.Context, string) (string, error) { return "", errors.New("not yet") }, retry)
				narrow := stepwell.DefineStep("charge", func(context.Context, struct{ ID int }) (string, error) { return "narrow", nil }, retry)
				mended := stepwell.DefineStep("charge", func(_ context.Context, in string) (string, error) { return "charged " + in, nil }, retry)
				wf := shop(func(ctx stepwell.Context, id string) *stepwell.Future[string] { return old.Start(ctx, id) }, n)
				wk := r.begin(wf, old)
				run := start(r, wk, wf, struct{}{})
				until(r, "the first attempt to fail", func() bool { return r.count(run.ID(), world.StepRetrying, "charge") >= 1 })
				r.pass(10 * time.Second)
				wk.stop(r)

				wk = r.begin(shop(func(ctx stepwell.Context, _ string) *stepwell.Future[string] {
					return narrow.Start(ctx, struct{ ID int }{1})
				}, n), narrow)
				if b := r.blocked(run.ID()); b.Code != world.CodeDecode || !strings.Contains(b.Message, `step "charge"`) {
					r.Errorf("blocked = %s: %s, want DECODE and the step", b.Code, b.Message)
				}
				r.pass(10 * time.Minute)
				if n := r.count(run.ID(), world.StepFailed, ""); n != 0 {
					r.Errorf("%d steps failed, want none", n)
				}
				wk.stop(r)

				r.begin(shop(func(ctx stepwell.Context, id string) *stepwell.Future[string] { return mended.Start(ctx, id) }, n), mended)
				out := "charged order 0"
				if n == 2 {
					out += ", charged order 1"
				}
				want(r, run, out)
			})
		})
	}
}
