package behaviour_test

// Hooks: payloads, tokens, metadata, binding again, disposing.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

type approval struct {
	By string `json:"by"`
	OK bool   `json:"ok"`
}

// hookOf waits until a run has an active hook and returns it.
func (r *rig) hookOf(run string) world.HookRow {
	r.Helper()
	var rows []world.HookRow
	until(r, "a hook", func() bool {
		var err error
		if rows, err = r.client().Hooks(r.ctx, run, ""); err != nil {
			r.Fatal(err)
		}
		return len(rows) > 0
	})
	return rows[0]
}

// sendHook sends a payload to a hook.
func (r *rig) sendHook(token, payload string) {
	r.Helper()
	if err := r.client().SendHook(r.ctx, token, json.RawMessage(payload)); err != nil {
		r.Fatal(err)
	}
}

func TestHookPayloadsAreTypedAndRangedOverUntilItIsDisposed(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("panel", func(ctx stepwell.Context, _ struct{}) (string, error) {
			h, err := stepwell.NewHook[approval](ctx)
			if err != nil {
				return "", err
			}
			var got []string
			for a, err := range h.All(ctx) {
				if err != nil {
					return fmt.Sprint(got, errors.Is(err, stepwell.ErrNotFound)), nil
				}
				got = append(got, fmt.Sprint(a.By, a.OK))
				if err := stepwell.Do(ctx, "note", func(context.Context) error { return nil }); err != nil {
					return "", err
				}
				if a.By == "last" {
					if err := h.Dispose(ctx); err != nil {
						return "", err
					}
				}
			}
			return "", errors.New("the range ended without an error")
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, struct{}{})
		h := r.hookOf(run.ID())
		for _, by := range []string{"ann", "bob", "last"} {
			r.sendHook(h.Token, fmt.Sprintf(`{"by":%q,"ok":true}`, by))
		}
		want(r, run, "[anntrue bobtrue lasttrue] true")
		if err := wk.SendHook(r.ctx, h.Token, []byte(`{}`)); !errors.Is(err, stepwell.ErrTerminal) {
			r.Errorf("send after the end: %v, want ErrTerminal", err)
		}
		r.replays(run.ID(), wf)
	})
}

// A payload that came before the dispose is received still, whatever was asked first.
func TestHookKeepsPayloadsThatCameBeforeItsDispose(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("kept", func(ctx stepwell.Context, _ struct{}) ([]int, error) {
			h, err := stepwell.NewHook[int](ctx, stepwell.Token("kept"))
			if err != nil {
				return nil, err
			}
			if err := stepwell.Sleep(ctx, "late", time.Minute); err != nil {
				return nil, err
			}
			if err := errors.Join(h.Dispose(ctx), h.Dispose(ctx)); err != nil {
				return nil, err
			}
			var got []int
			for v, err := range h.All(ctx) {
				if err != nil {
					break
				}
				got = append(got, v)
			}
			return got, stepwell.Sleep(ctx, "last", time.Second)
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, struct{}{})
		r.hookOf(run.ID())
		r.sendHook("kept", "1")
		r.sendHook("kept", "2")
		want(r, run, []int{1, 2})
		if got := r.count(run.ID(), world.HookDisposed, ""); got != 1 {
			r.Errorf("%d disposals, want 1", got)
		}
		r.replays(run.ID(), wf)
	})
}

func TestHookMetadataIsReadByTokenAndByRun(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("described", func(ctx stepwell.Context, token string) (int, error) {
			h, err := stepwell.NewHook[int](ctx, stepwell.Token(token), stepwell.Metadata(map[string]int{"order": 7}))
			if err != nil {
				return 0, err
			}
			v, _, err := h.Wait(ctx)
			return v, err
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, "order-7")
		r.hookOf(run.ID())
		for _, q := range [][2]string{{run.ID(), ""}, {"", "order-7"}, {run.ID(), "order-7"}, {"", ""}} {
			rows, err := r.client().Hooks(r.ctx, q[0], q[1])
			if err != nil || len(rows) != 1 || rows[0].Run != run.ID() || rows[0].Token != "order-7" || string(rows[0].Metadata) != `{"order":7}` {
				r.Errorf("Hooks(%q, %q) = %+v, %v, want the run's with its metadata", q[0], q[1], rows, err)
			}
		}
		for _, q := range [][2]string{{"another", ""}, {"", "another"}} {
			if rows, err := r.client().Hooks(r.ctx, q[0], q[1]); err != nil || len(rows) != 0 {
				r.Errorf("Hooks(%q, %q) = %+v, %v, want none", q[0], q[1], rows, err)
			}
		}
		r.sendHook("order-7", "3")
		want(r, run, 3)
		if rows, err := r.client().Hooks(r.ctx, "", "order-7"); err != nil || len(rows) != 0 {
			r.Errorf("after the end: %+v, %v, want none", rows, err)
		}
	})
}

func TestHookConflictNamesTheHolderAndTheTokenIsFreeAfterItsEnd(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("holder", func(ctx stepwell.Context, how string) (string, error) {
			h, err := stepwell.NewHook[string](ctx, stepwell.Token("desk"))
			if conflict, ok := errors.AsType[*stepwell.HookConflictError](err); ok {
				return "held by " + conflict.Holder + " " + conflict.Token, nil
			}
			if err != nil {
				return "", err
			}
			v, _, err := h.Wait(ctx)
			if err == nil && how == "dispose" {
				if err := h.Dispose(ctx); err != nil {
					return "", err
				}
				err = stepwell.Sleep(ctx, "stay", time.Minute)
			}
			return v, err
		})
		wk := r.begin(wf)
		for _, how := range []string{"end", "dispose", "cancel", "force"} {
			first := start(r, wk, wf, how)
			r.hookOf(first.ID())
			second := start(r, wk, wf, "end")
			want(r, second, "held by "+first.ID()+" desk")
			r.replays(second.ID(), wf)
			switch how {
			case "cancel":
				r.cancel(wk.App, first.ID())
				wantErr(r, first, world.Cancelled)
			case "force":
				if err := wk.ForceCancel(r.ctx, first.ID(), "now"); err != nil {
					r.Fatal(err)
				}
			default:
				r.sendHook("desk", `"x"`)
				until(r, "the token to be free", func() bool {
					rows, err := wk.Hooks(r.ctx, "", "desk")
					return err == nil && len(rows) == 0
				})
			}
			third := start(r, wk, wf, "end")
			r.hookOf(third.ID())
			r.sendHook("desk", `"third"`)
			want(r, third, "third")
			if how == "dispose" {
				want(r, first, "x")
				r.replays(first.ID(), wf)
			}
		}
	})
}

func TestHookTokenOfTheSameRunBindsToTheSameHook(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("binds", func(ctx stepwell.Context, _ struct{}) ([]int, error) {
			a, err := stepwell.NewHook[int](ctx, stepwell.Token("mine"))
			if err != nil {
				return nil, err
			}
			b, err := stepwell.NewHook[int](ctx, stepwell.Token("mine"))
			if err != nil {
				return nil, err
			}
			x, _, err := a.Wait(ctx)
			if err != nil {
				return nil, err
			}
			y, _, err := b.Wait(ctx)
			if err != nil {
				return nil, err
			}
			if err := a.Dispose(ctx); err != nil {
				return nil, err
			}
			c, err := stepwell.NewHook[int](ctx, stepwell.Token("mine")) // a new one
			if err != nil {
				return nil, err
			}
			z, _, err := c.Wait(ctx)
			return []int{x, y, z}, err
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, struct{}{})
		first := r.hookOf(run.ID())
		r.sendHook("mine", "1")
		r.sendHook("mine", "2")
		until(r, "the second hook", func() bool {
			rows, err := wk.Hooks(r.ctx, run.ID(), "mine")
			return err == nil && len(rows) == 1 && rows[0].ID != first.ID
		})
		r.sendHook("mine", "3")
		want(r, run, []int{1, 2, 3})
		if got := r.count(run.ID(), world.HookCreated, ""); got != 2 {
			r.Errorf("%d hooks, want 2", got)
		}
		r.replays(run.ID(), wf)
	})
}

func TestHookTokensThatNobodyChoseDifferAndStay(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("secret", func(ctx stepwell.Context, _ struct{}) ([]string, error) {
			a, err := stepwell.NewHook[int](ctx)
			if err != nil {
				return nil, err
			}
			b, err := stepwell.NewHook[int](ctx)
			if err != nil {
				return nil, err
			}
			return []string{a.Token(), b.Token()}, stepwell.Sleep(ctx, "nap", time.Second)
		})
		wk := r.begin(wf)
		seen := map[string]bool{}
		for range 5 {
			run := start(r, wk, wf, struct{}{})
			got, err := run.Result(r.ctx)
			if err != nil {
				r.Fatal(err)
			}
			var made []string
			for _, e := range r.events(run.ID(), world.HookCreated) {
				made = append(made, e.Token)
			}
			if diff := cmp.Diff(made, got); diff != "" {
				r.Errorf("tokens: log -, code +:\n%s", diff)
			}
			for _, token := range got {
				if seen[token] || len(token) < 26 || strings.Contains(run.ID(), token) {
					r.Errorf("token %q can be guessed, or came before", token)
				}
				seen[token] = true
			}
			r.replays(run.ID(), wf)
		}
	})
}

func TestHookLosersOfASelectLeaveThePayloadToTheNext(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("polite", func(ctx stepwell.Context, _ struct{}) (string, error) {
			h, err := stepwell.NewHook[string](ctx, stepwell.Token("polite"))
			if err != nil {
				return "", err
			}
			part, cancel := stepwell.WithCancel(ctx)
			next, timer := h.Start(part), stepwell.Timer(part, "soon", time.Second)
			i, err := stepwell.Select(ctx, next, timer)
			if err != nil {
				return "", err
			}
			cancel()
			_, gone := next.Get(ctx)
			v, _, err := h.Wait(ctx)
			return fmt.Sprintln(i, errors.Is(gone, stepwell.ErrCancelled), v), err
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, struct{}{})
		r.pass(5 * time.Second)
		r.sendHook("polite", `"late"`)
		ctx, cancel := context.WithTimeout(r.ctx, time.Minute)
		defer cancel()
		if got, err := run.Result(ctx); err != nil || got != "1 true late\n" {
			r.dump(run.ID())
			r.Fatalf("result = %q, %v, want 1 true late", got, err)
		}
		r.replays(run.ID(), wf)
	})
}
