package behaviour_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// A token made of the run's own ID, as docs/waiting.md recommends, of a run that continued as new: a fork's code asks for its own, and binds to the hook that was carried
// over, whether the fork has a token of its own, or the source's as that is over; and so does a fork of the fork.
func TestAForkBindsToATokenOfItsRunsID(t *testing.T) {
	everyWay(t, func(r *rig) {
		broken := true
		wf := stepwell.Define("named", func(ctx stepwell.Context, round int) (string, error) {
			h, err := stepwell.NewHook[string](ctx, stepwell.Token("approve-"+ctx.RunID()))
			if err != nil {
				return "", err
			}
			if round == 0 {
				return "", stepwell.ContinueAsNew(ctx, 1)
			}
			if err := stepwell.Do(ctx, "work", func(context.Context) error {
				if broken {
					return stepwell.Fatal(errors.New("broken"))
				}
				return nil
			}); err != nil {
				return "", err
			}
			v, _, err := h.Wait(ctx)
			return v, err
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, 0)
		wantErr(r, run, world.Failed)
		broken = false
		// ends sees a fork to its end, by its one hook.
		ends := func(id, token string) {
			r.Helper()
			until(r, "the fork to wait", func() bool {
				if q := r.get(id).Queue; q != nil && q.Blocked != nil {
					r.dump(id)
					r.Fatalf("blocked: %s", q.Blocked.Message)
				}
				return r.count(id, world.StepCompleted, "") == 1
			})
			hooks, err := wk.Hooks(r.ctx, id, "")
			if err != nil || len(hooks) != 1 || token != "" && hooks[0].Token != token {
				r.dump(id)
				r.Fatalf("hooks = %+v, %v, want one, with the token %q", hooks, err, token)
			}
		}
		finish := func(id string) {
			r.Helper()
			hooks, err := wk.Hooks(r.ctx, id, "")
			if err != nil {
				r.Fatal(err)
			}
			r.tellHook(wk, hooks[0].Token, `"yes"`)
			until(r, "the end", func() bool { return r.get(id).Status.Terminal() })
			if out := string(r.get(id).Output); out != `"yes"` {
				r.dump(id)
				r.Errorf("output = %s, want yes", out)
			}
			r.replays(id, wf)
		}
		retried, err := wk.Retry(r.ctx, run.ID())
		if err != nil {
			r.Fatal(err)
		}
		ends(retried.ID(), "approve-"+run.ID()) // the source is over: who knows its token can send on
		all := []string{retried.ID()}
		for range 2 { // a fork, and a fork of that
			fork, err := wk.Fork(r.ctx, all[len(all)-1], stepwell.ForkOptions{})
			if err != nil {
				r.Fatal(err)
			}
			ends(fork.ID(), "")
			all = append(all, fork.ID())
		}
		for _, id := range all {
			finish(id)
		}
		again, err := wk.Fork(r.ctx, all[1], stepwell.ForkOptions{At: int64(len(r.events(all[1]))) - 2}) // of one whose own token is kept
		if err != nil {
			r.Fatal(err)
		}
		ends(again.ID(), "")
		finish(again.ID())
	})
}
