package behaviour_test

// This file holds what a fork's code is told of its hooks' tokens, and that any number of forks can begin at once.

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// doors opens a hook and tells of its token wherever code can: attribute, step, child, name, next hook's metadata.
func doors(d *diary, opts ...stepwell.HookOption) []stepwell.Definition {
	mail := stepwell.DefineStep("mail-it", func(c context.Context, token string) (string, error) {
		d.note(c, "mail-it")
		return "sent " + token, nil
	})
	child := stepwell.Define("doors-child", func(_ stepwell.Context, token string) (string, error) { return token, nil })
	wf := stepwell.Define("doors", func(ctx stepwell.Context, _ int) (string, error) {
		h, err := stepwell.NewHook[string](ctx, opts...)
		if err != nil {
			return "", err
		}
		if err := stepwell.SetAttribute(ctx, "door", "https://door/"+h.Token()); err != nil {
			return "", err
		}
		sent, err := mail.Run(ctx, h.Token())
		if err != nil {
			return "", err
		}
		if err := stepwell.SetAttribute(ctx, "sent", "mail "+sent); err != nil {
			return "", err
		}
		if _, err := child.Child().Run(ctx, h.Token()); err != nil {
			return "", err
		}
		if _, _, err := h.Wait(ctx); err != nil {
			return "", err
		}
		return h.Token(), nil
	})
	return []stepwell.Definition{wf, mail, child}
}

// TestAForkTellsOfItsOwnTokens: its code is given the token that the fork has, live and replayed, in strict mode too; the attribute and the child of the fork have that.
func TestAForkTellsOfItsOwnTokens(t *testing.T) {
	for how, opts := range map[string][]stepwell.HookOption{"unchosen": nil, "chosen": {stepwell.Token("door-7")}} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(r *rig) {
				d := &diary{}
				defs := doors(d, opts...)
				app := r.begin(defs...)
				run := start(r, app, defs[0].(*stepwell.Workflow[int, string]), 0).ID()
				until(r, "the wait for a payload", func() bool { return r.count(run, world.StepCompleted, "") == 2 })
				synctest.Wait()
				events := r.events(run)
				forks := []string{run}
				for at := 2; at <= len(events); at++ {
					forked, err := app.Fork(r.ctx, run, stepwell.ForkOptions{At: int64(at)})
					if err != nil {
						r.Fatal(err)
					}
					forks = append(forks, forked.ID())
					if at%2 == 0 { // what it did with its own token is in the log of its fork
						until(r, "the fork to go on, or to end", func() bool {
							return r.count(forked.ID(), world.StepCompleted, "") == 2 || r.get(forked.ID()).Status.Terminal()
						})
					}
					again, err := app.Fork(r.ctx, forked.ID(), stepwell.ForkOptions{}) // a fork of a fork
					if err != nil {
						r.Fatal(err)
					}
					forks = append(forks, again.ID())
				}
				conflicts := 0
				for i, id := range forks {
					until(r, "the fork's hook, or its end", func() bool {
						info := r.get(id)
						if info.Queue != nil && info.Queue.Blocked != nil {
							r.dump(id)
							r.Fatalf("fork %d is blocked: %s", i, info.Queue.Blocked.Message)
						}
						return r.count(id, world.StepCompleted, "") == 2 || info.Status.Terminal()
					})
					synctest.Wait()
					hooks, err := app.Hooks(r.ctx, id, "")
					if err != nil {
						r.Fatal(err)
					}
					if len(hooks) == 0 { // it was cut before its hook, and asks for a token that the source has
						conflicts++
						continue
					}
					token := hooks[0].Token
					if got := string(r.get(id).Attributes["door"]); got != fmt.Sprintf("%q", "https://door/"+token) {
						r.dump(id)
						r.Errorf("fork %d: the attribute is %s, its hook has the token %s", i, got, token)
					}
					if err := app.SendHook(r.ctx, token, []byte(`"ring"`)); err != nil {
						r.Fatal(err)
					}
					until(r, "the end", func() bool { return r.get(id).Status.Terminal() })
					if out := r.get(id).Output; string(out) != fmt.Sprintf("%q", token) {
						r.Errorf("fork %d came to %s, its token is %s", i, out, token)
					}
				}
				if how == "unchosen" && conflicts > 0 || conflicts > 4 {
					r.Errorf("%d forks have no hook", conflicts)
				}
				app.stop(r.T)
				for _, id := range forks {
					if r.get(id).Status == world.Completed {
						r.replays(id, defs...)
					}
				}
			})
		})
	}
}

// TestForksAtOnce: forks of a run that is over, and had open hooks, all succeed; one of them has its tokens.
func TestForksAtOnce(t *testing.T) {
	onWorlds(t, func(r *rig) {
		d := &diary{}
		defs := doors(d, stepwell.Token("door-7"))
		app := r.begin(defs...)
		run := start(r, app, defs[0].(*stepwell.Workflow[int, string]), 0).ID()
		until(r, "the wait for a payload", func() bool { return r.count(run, world.StepCompleted, "") == 2 })
		if err := app.ForceCancel(r.ctx, run, "to fork it"); err != nil {
			r.Fatal(err)
		}
		at := int64(len(r.events(run)) - 1)
		forks := make([]string, 8)
		var all sync.WaitGroup
		for i := range forks {
			all.Go(func() {
				forked, err := app.Fork(r.ctx, run, stepwell.ForkOptions{At: at})
				if err != nil {
					r.Errorf("fork %d: %v", i, err)
					return
				}
				forks[i] = forked.ID()
			})
		}
		all.Wait()
		tokens := map[string]bool{}
		for _, id := range forks {
			hooks, err := app.Hooks(r.ctx, id, "")
			if err != nil || len(hooks) != 1 {
				r.Fatalf("fork %s: hooks %+v, %v", id, hooks, err)
			}
			tokens[hooks[0].Token] = true
		}
		if len(tokens) != len(forks) || !tokens["door-7"] {
			r.Errorf("the forks have the tokens %v: want one each, and the source's among them", tokens)
		}
	})
}
