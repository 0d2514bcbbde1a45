package behaviour_test

// What is refused of hooks, children, waits and operators' acts: with a clear error, and with nothing changed.

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/world"
)

func TestRefusedInWorkflowCodeWritesNothing(t *testing.T) {
	everywhere(t, func(r *rig) {
		huge := strings.Repeat("x", 600)
		child := stepwell.Define("child", func(stepwell.Context, string) (string, error) { return "", nil })
		bad := stepwell.Define("not a name", func(stepwell.Context, string) (string, error) { return "", nil })
		ofChild := func(o stepwell.ChildOption) func(stepwell.Context) error {
			return func(ctx stepwell.Context) error { _, err := child.Child(o).Run(ctx, ""); return err }
		}
		hook := func(opts ...stepwell.HookOption) func(stepwell.Context) error {
			return func(ctx stepwell.Context) error { _, err := stepwell.NewHook[int](ctx, opts...); return err }
		}
		await := func(id string) func(stepwell.Context) error {
			return func(ctx stepwell.Context) error { _, err := stepwell.AwaitRun[int](ctx, id); return err }
		}
		ops := map[string]func(stepwell.Context) error{
			"empty token":             hook(stepwell.Token("")),
			"huge token":              hook(stepwell.Token(huge)),
			"token not printable":     hook(stepwell.Token("a\x00b")),
			"metadata not encodable":  hook(stepwell.Metadata(make(chan int))),
			"metadata too large":      hook(stepwell.Metadata(strings.Repeat("x", 3000))),
			"child ID":                ofChild(stepwell.RunID("no spaces")),
			"child ID huge":           ofChild(stepwell.RunID(huge)),
			"child retention":         ofChild(stepwell.Retention(-2)),
			"child priority":          ofChild(stepwell.Priority(5)),
			"child priority negative": ofChild(stepwell.Priority(-1)),
			"child version":           ofChild(stepwell.Version(-1)),
			"child input too large": func(ctx stepwell.Context) error {
				_, err := child.Child().Run(ctx, strings.Repeat("x", 3000))
				return err
			},
			"child name":       func(ctx stepwell.Context) error { _, err := bad.Child().Run(ctx, ""); return err },
			"await of nothing": await(""),
			"await huge":       await(huge),
			"await name":       await("no spaces"),
			"timer name":       func(ctx stepwell.Context) error { _, err := stepwell.Timer(ctx, "", time.Second).Get(ctx); return err },
			"event timeout": func(ctx stepwell.Context) error {
				_, err := numbers.Start(ctx, stepwell.Timeout(-time.Second)).Get(ctx)
				return err
			},
			"event match": func(ctx stepwell.Context) error {
				_, err := numbers.Start(ctx, stepwell.Match{"m": 1}).Get(ctx)
				return err
			},
			"event name": func(ctx stepwell.Context) error {
				_, err := stepwell.Event[int]("").Start(ctx).Get(ctx)
				return err
			},
			"select of nothing": func(ctx stepwell.Context) error { _, err := stepwell.Select(ctx); return err },
		}
		wf := stepwell.Define("refused", func(ctx stepwell.Context, which string) (string, error) {
			return fmt.Sprint(refused(ops[which](ctx))), nil
		})
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf, child}, MaxPayload: 2048})
		for name := range ops {
			run := start(r, wk, wf, name)
			got, err := run.Result(r.ctx)
			if err != nil || got != "true" {
				r.Errorf("%s: refused as invalid: %s, %v, want true", name, got, err)
			}
			if n := len(r.events(run.ID())); n != 3 {
				r.dump(run.ID())
				r.Errorf("%s: %d events, want birth, start and end", name, n)
			}
		}
	})
}

// refused reports whether an error says that a value or a name can never be accepted.
func refused(err error) bool {
	if e, ok := errors.AsType[*codec.Error](err); ok {
		return e.Code == world.CodeEncode || e.Code == world.CodeTooLarge
	}
	return errors.Is(err, stepwell.ErrInvalid)
}

func TestRefusedActsChangeNothing(t *testing.T) {
	everywhere(t, func(r *rig) {
		huge := strings.Repeat("x", 600)
		quick := stepwell.Define("quick", func(ctx stepwell.Context, _ struct{}) (int, error) { return 1, stepwell.Sleep(ctx, "nap", time.Second) })
		held := stepwell.Define("held", func(ctx stepwell.Context, _ struct{}) (int, error) {
			h, err := stepwell.NewHook[int](ctx, stepwell.Token("open"))
			if err != nil {
				return 0, err
			}
			v, _, err := h.Wait(ctx)
			return v, err
		})
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{quick, held}, MaxPayload: 2048})
		over, running := start(r, wk, quick, struct{}{}), start(r, wk, held, struct{}{})
		want(r, over, 1)
		r.hookOf(running.ID())
		app := wk.App
		acts := map[string]func(run string) error{
			"pause":  func(run string) error { return app.Pause(r.ctx, run, "") },
			"resume": func(run string) error { return app.Resume(r.ctx, run) },
			"cancel": func(run string) error { return app.Cancel(r.ctx, run, "") },
			"force":  func(run string) error { return app.ForceCancel(r.ctx, run, "") },
			"wake":   func(run string) error { _, err := app.Wake(r.ctx, run); return err },
			"signal": func(run string) error { return app.Signal(r.ctx, run, "s", []byte("1")) },
		}
		before := map[string][]world.Event{over.ID(): r.events(over.ID()), running.ID(): r.events(running.ID())}
		for name, act := range acts {
			for _, id := range []string{"unknown", "", "no spaces", huge} {
				if err := act(id); !errors.Is(err, stepwell.ErrNotFound) && !errors.Is(err, stepwell.ErrInvalid) {
					r.Errorf("%s of run %.20q: %v, want ErrNotFound or ErrInvalid", name, id, err)
				}
			}
			if err := act(over.ID()); !errors.Is(err, stepwell.ErrTerminal) {
				r.Errorf("%s of a run that is over: %v, want ErrTerminal", name, err)
			}
		}
		sends := map[string]struct {
			token, payload string
			opts           []stepwell.SendOption
			want           error
		}{
			"empty token":        {"", "1", nil, stepwell.ErrInvalid},
			"huge token":         {huge, "1", nil, stepwell.ErrInvalid},
			"unknown token":      {"nobody", "1", nil, stepwell.ErrNotFound},
			"not JSON":           {"open", "{", nil, stepwell.ErrInvalid},
			"trailing":           {"open", "1 2", nil, stepwell.ErrInvalid},
			"too large":          {"open", `"` + strings.Repeat("x", 3000) + `"`, nil, stepwell.ErrTooLarge},
			"empty delivery ID?": {"nobody", "1", []stepwell.SendOption{stepwell.DeliveryID("")}, stepwell.ErrNotFound},
			"huge delivery ID":   {"open", "1", []stepwell.SendOption{stepwell.DeliveryID(huge)}, stepwell.ErrInvalid},
		}
		for name, s := range sends {
			if err := app.SendHook(r.ctx, s.token, []byte(s.payload), s.opts...); !errors.Is(err, s.want) {
				r.Errorf("%s: %v, want %v", name, err, s.want)
			}
		}
		r.pass(2 * time.Second)
		for id, events := range before {
			if diff := cmp.Diff(len(events), len(r.events(id))); diff != "" {
				r.dump(id)
				r.Errorf("run %s changed: events: before -, after +:\n%s", id, diff)
			}
		}
		if q := r.get(running.ID()).Queue; q == nil || q.Mail != 0 || q.Paused {
			r.Errorf("queue of the run = %+v, want no mail, not paused", q)
		}
		r.sendHook("open", "7")
		want(r, running, 7)
	})
}

// Waits of absurd lengths neither overflow nor end at once.
func TestWaitsForEverDoNotOverflow(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("ages", func(ctx stepwell.Context, _ struct{}) (string, error) {
			timer, event := stepwell.Timer(ctx, "ages", math.MaxInt64), numbers.Start(ctx, stepwell.Timeout(math.MaxInt64))
			i, err := stepwell.Select(ctx, timer, event, stepwell.Timer(ctx, "minute", time.Minute))
			return fmt.Sprint(i), err
		})
		run := start(r, r.begin(wf), wf, struct{}{})
		want(r, run, "2")
		r.replays(run.ID(), wf)
	})
}
