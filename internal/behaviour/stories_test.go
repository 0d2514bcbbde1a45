package behaviour_test

// Workflows that between them use all that a log can hold. Their logs are kept in testdata/histories for ever, and they are forked at every
// event. They may not be changed: what they ask for is what those files hold.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// diary notes which bodies of steps ran, by run and name.
type diary struct {
	mu  sync.Mutex
	ran map[string][]string // guarded by mu
}

func (d *diary) note(ctx context.Context, name string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ran == nil {
		d.ran = map[string][]string{}
	}
	run := stepwell.Info(ctx).Run
	d.ran[run] = append(d.ran[run], name)
	n := 0
	for _, s := range d.ran[run] {
		if s == name {
			n++
		}
	}
	return n
}

func (d *diary) of(run string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.ran[run]...)
}

// story is a workflow with what the outside world does to its run.
type story struct {
	name  string
	start func(r *rig, app *worker, d *diary) string
	defs  func(d *diary) []stepwell.Definition
	live  func(r *rig, app *worker, run string) // until the run is over: what is in its log already is not done again
}

var errNoStock = errors.New("out of stock")

// noted is a closure step that notes that it ran.
func noted[T any](ctx stepwell.Context, d *diary, name string, v T) (T, error) {
	return stepwell.Step(ctx, name, func(c context.Context) (T, error) { d.note(c, name); return v, nil })
}

var stories = []story{
	{
		name: "order",
		defs: func(d *diary) []stepwell.Definition {
			ship := shipStory(d)
			type paid struct {
				Order string `json:"order"`
			}
			event := stepwell.Event[paid]("paid")
			order := stepwell.Define("story-order", func(ctx stepwell.Context, id string) (string, error) {
				stock, err := noted(ctx, d, "reserve", map[string]int{"left": 3})
				if err != nil {
					return "", err
				}
				charge, err := stepwell.Step(ctx, "charge", func(c context.Context) (string, error) {
					if d.note(c, "charge") == 1 {
						return "", errors.New("the bank is busy")
					}
					return "charge-of-" + id, nil
				}, stepwell.Retry{Base: time.Second, Jitter: -1})
				if err != nil {
					return "", err
				}
				if err := stepwell.Sleep(ctx, "cool-down", 2*time.Second); err != nil {
					return "", err
				}
				p, ok, err := event.Wait(ctx, stepwell.Match{"order": id}, stepwell.Timeout(time.Hour))
				if err != nil {
					return "", err
				}
				_, late, err := event.Wait(ctx, stepwell.Match{"order": "none"}, stepwell.Timeout(3*time.Second))
				if err != nil {
					return "", err
				}
				parcel, err := ship.Child().Run(ctx, p.Order)
				if err != nil {
					return "", err
				}
				err = stepwell.Do(ctx, "thank", func(c context.Context) error {
					d.note(c, "thank")
					return stepwell.Fatal(errors.New("no such mailbox"))
				})
				return fmt.Sprint(stock["left"], charge, ok, late, parcel, err != nil, ctx.NewID()[10:], ctx.Rand().IntN(1000)), nil
			})
			return []stepwell.Definition{order, ship}
		},
		start: startStory("story-order", `"7"`),
		live: func(r *rig, app *worker, run string) {
			for _, order := range []string{"6", "7"} {
				send(r, app, run, "paid", `{"order":"`+order+`"}`)
			}
		},
	},
	{
		name: "fan",
		defs: func(d *diary) []stepwell.Definition {
			count := stepwell.DefineStep("story-count", func(c context.Context, word string) (int, error) {
				d.note(c, "count "+word)
				return len(word), nil
			})
			fan := stepwell.Define("story-fan", func(ctx stepwell.Context, words []string) (string, error) {
				patched := stepwell.Patched(ctx, "story-patch")
				counts, err := stepwell.Map(ctx, words, 2, func(ctx stepwell.Context, word string) (int, error) {
					if len(word) > 4 {
						if err := stepwell.Sleep(ctx, "long-word", time.Second); err != nil {
							return 0, err
						}
					}
					return count.Run(ctx, word)
				})
				if err != nil {
					return "", err
				}
				slow := stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) {
					return "slow", stepwell.Sleep(ctx, "slow", time.Hour)
				})
				fast := stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) { return noted(ctx, d, "fast", "fast") })
				first, err := stepwell.Race(ctx, slow, fast)
				if err != nil {
					return "", err
				}
				when, err := noted(ctx, d, "stamp", ctx.Now().UnixMilli() > 0)
				return fmt.Sprint(patched, counts, first, when, ctx.Rand().IntN(1000)), err
			})
			return []stepwell.Definition{fan, count}
		},
		start: startStory("story-fan", `["one","two","three","four","seven"]`),
		live:  func(*rig, *worker, string) {},
	},
	{
		name: "door",
		defs: func(d *diary) []stepwell.Definition {
			door := stepwell.Define("story-door", func(ctx stepwell.Context, _ string) (string, error) {
				bell, err := stepwell.NewHook[string](ctx, stepwell.Metadata("a bell"))
				if err != nil {
					return "", err
				}
				first, _, err := bell.Wait(ctx)
				if err != nil {
					return "", err
				}
				if _, err := noted(ctx, d, "open", 1); err != nil {
					return "", err
				}
				second, _, err := bell.Wait(ctx)
				if err != nil {
					return "", err
				}
				if err := bell.Dispose(ctx); err != nil {
					return "", err
				}
				_, err = noted(ctx, d, "close", 1)
				return first + second, err
			})
			return []stepwell.Definition{door}
		},
		start: startStory("story-door", `""`),
		live: func(r *rig, app *worker, run string) {
			for had := r.count(run, world.HookReceived, ""); had < 2 && !r.get(run).Status.Terminal(); had++ {
				var hooks []world.HookRow
				until(r, "the hook", func() bool {
					hooks, _ = app.Hooks(r.ctx, run, "")
					return len(hooks) > 0 || r.get(run).Status.Terminal()
				})
				if len(hooks) == 0 {
					return
				}
				if err := app.SendHook(r.ctx, hooks[0].Token, json.RawMessage(fmt.Sprintf(`"ring %d "`, had+1))); err != nil {
					r.Fatal(err)
				}
				synctest.Wait()
			}
		},
	},
	{
		name: "failing",
		defs: func(d *diary) []stepwell.Definition {
			failing := stepwell.Define("story-failing", func(ctx stepwell.Context, _ string) (int, error) {
				if _, err := noted(ctx, d, "pick", 1); err != nil {
					return 0, err
				}
				err := stepwell.Do(ctx, "pack", func(c context.Context) error {
					d.note(c, "pack")
					return stepwell.Fatal(fmt.Errorf("pack: %w", errNoStock))
				})
				if err == nil {
					return noted(ctx, d, "send", 2)
				}
				_, undo := noted(ctx, d, "put-back", 1)
				return 0, errors.Join(err, undo)
			})
			return []stepwell.Definition{failing}
		},
		start: startStory("story-failing", `""`),
		live:  func(*rig, *worker, string) {},
	},
	{
		name: "cancelled",
		defs: func(d *diary) []stepwell.Definition {
			tidy := stepwell.Define("story-cancelled", func(ctx stepwell.Context, _ string) (string, error) {
				if err := stepwell.Sleep(ctx, "long", 24*time.Hour); !errors.Is(err, stepwell.ErrCancelled) {
					return "slept", err
				}
				return noted(ctx.Uncancelled(), d, "tidy", "tidied")
			})
			return []stepwell.Definition{tidy}
		},
		start: startStory("story-cancelled", `""`),
		live: func(r *rig, app *worker, run string) {
			if r.count(run, world.CancelRequested, "") == 0 {
				if err := app.Pause(r.ctx, run, "to see"); err != nil && !errors.Is(err, stepwell.ErrTerminal) {
					r.Fatal(err)
				}
				_ = app.Resume(r.ctx, run)
				_ = app.Cancel(r.ctx, run, "enough")
			}
		},
	},
}

// shipStory is the child of the order.
func shipStory(d *diary) *stepwell.Workflow[string, string] {
	return stepwell.Define("story-ship", func(ctx stepwell.Context, order string) (string, error) {
		return noted(ctx, d, "label", "parcel-"+order)
	})
}

func startStory(workflow, input string) func(*rig, *worker, *diary) string {
	return func(r *rig, app *worker, _ *diary) string {
		run, err := app.Start(r.ctx, workflow, json.RawMessage(input), stepwell.RunID("story-"+strings.TrimPrefix(workflow, "story-")))
		if err != nil {
			r.Fatal(err)
		}
		synctest.Wait()
		return run.ID()
	}
}

// send sends a signal, unless the run had it before it was forked, or is over.
func send(r *rig, app *worker, run, name, payload string) {
	r.Helper()
	for _, e := range r.events(run, world.SignalReceived) {
		if e.Name == name && string(e.Payload) == payload {
			return
		}
	}
	if err := app.Signal(r.ctx, run, name, json.RawMessage(payload)); err != nil && !errors.Is(err, stepwell.ErrTerminal) {
		r.Fatal(err)
	}
	synctest.Wait()
}

// tell lives a story to its end.
func (s *story) tell(r *rig, app *worker, d *diary) (run string) {
	r.Helper()
	run = s.start(r, app, d)
	s.live(r, app, run)
	s.over(r, run)
	return run
}

// over waits until the run is.
func (s *story) over(r *rig, run string) stepwell.RunInfo {
	r.Helper()
	until(r, "the end of run "+run, func() bool {
		info := r.get(run)
		if info.Queue != nil && info.Queue.Blocked != nil {
			r.dump(run)
			r.Fatalf("run %s is blocked: %s", run, info.Queue.Blocked.Message)
		}
		if !info.Status.Terminal() {
			r.pass(time.Second)
		}
		return r.get(run).Status.Terminal()
	})
	return r.get(run)
}
