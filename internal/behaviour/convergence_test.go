package behaviour_test

// This file holds that every order of events comes to the same in the live run and in its replay, and that what others do meanwhile (signals,
// cancels, repeated sends, lost leases, lost answers) comes once, or not at all.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// bench is one memory world in a bubble, with a run whose ID is "r".
type bench struct {
	*testing.T
	below *memory.World
	stops []func()
}

const benchRun = "r"

// inBubble runs a test in virtual time and ends its workers.
func inBubble(t *testing.T, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, below: memory.New()}
		test(b)
		for _, stop := range b.stops {
			stop()
		}
	})
}

// worker starts a worker behind failpoints.
func (b *bench) worker(w world.World, cfg stepwell.Config) (app *stepwell.App, stop func()) {
	app, err := stepwell.New(w, cfg)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := app.Run(ctx); err != nil && !errors.Is(err, world.ErrClosed) {
			b.Errorf("Run: got %v, want no error", err)
		}
	})
	synctest.Wait()
	stop = func() { cancel(); running.Wait() }
	b.stops = append(b.stops, stop)
	return app, stop
}

// client is an App that nothing happens to.
func (b *bench) client() *stepwell.App {
	app, err := stepwell.New(b.below, stepwell.Config{})
	if err != nil {
		b.Fatal(err)
	}
	return app
}

// over waits for the end of the run.
func (b *bench) over() stepwell.RunInfo {
	b.Helper()
	for range 600 {
		info, err := b.client().Get(context.Background(), benchRun)
		if err != nil {
			b.Fatal(err)
		}
		if info.Status.Terminal() {
			return info
		}
		<-time.After(time.Second)
	}
	info, _ := b.client().Get(context.Background(), benchRun)
	b.Fatalf("the run is not over after ten minutes: %+v", info.Queue)
	return info
}

func (b *bench) log() (events []world.Event) {
	b.Helper()
	for e, err := range b.client().Events(context.Background(), benchRun, stepwell.EventFilter{}) {
		if err != nil {
			b.Fatal(err)
		}
		events = append(events, e)
	}
	checkLog(b.Errorf, benchRun, events)
	return events
}

func (b *bench) dump(events []world.Event) {
	for _, e := range events {
		b.Log(e.Seq, e.Commit, e.Type, e.ID, e.Name, e.Attempt, e.Outcome, string(e.Payload), e.Error)
	}
}

// sameReplayed holds the live end of the run against that of a replay, and replays each prefix of whole commits.
func (b *bench) sameReplayed(where string, wf stepwell.Definition) {
	b.Helper()
	events := b.log()
	end := events[len(events)-1]
	for i := range events {
		if i > 0 && events[i].Commit != events[i-1].Commit {
			goesOn := slices.ContainsFunc(events[i:], func(e world.Event) bool { return e.Result() })
			if out, err := replayLog(wf, benchRun, events[:i]); err != nil || out != nil && goesOn {
				b.Errorf("%s: replay of the first %d events: got %+v, %v, want no end yet", where, i, out, err)
			}
		}
	}
	out, err := replayLog(wf, benchRun, events)
	switch {
	case err != nil || out == nil:
		b.Errorf("%s: replay: got %+v, %v, want the end that the live run had", where, out, err)
	case string(out.Output) != string(end.Payload) && end.Type == world.RunCompleted:
		b.Errorf("%s: replay came to %s, the live run to %s", where, out.Output, end.Payload)
	case fmt.Sprint(out.Err) != fmt.Sprint(end.Error):
		b.Errorf("%s: replay failed with %v, the live run with %v", where, out.Err, end.Error)
	}
	if b.Failed() {
		b.dump(events)
	}
}

// ordersOf lists the permutations of n numbers.
func ordersOf(n int) (all [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for _, p := range ordersOf(n - 1) {
		for at := range n {
			all = append(all, slices.Insert(slices.Clone(p), at, n-1))
		}
	}
	return all
}

// TestSelectAtEveryOrder: five steps run against each other; the losers end late, in every order. What the
// code sees, live, is what a replay sees.
func TestSelectAtEveryOrder(t *testing.T) {
	orders := ordersOf(5)
	if got, want := len(orders), 120; got != want {
		t.Fatalf("%d orders, want %d", got, want)
	}
	for _, order := range orders {
		wf := stepwell.Define("race", func(ctx stepwell.Context, _ int) (string, error) {
			var seen []string
			var fs []*stepwell.Future[int]
			for i := range order {
				fs = append(fs, stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
					v, err := stepwell.Step(ctx, fmt.Sprint("step-", i), func(context.Context) (int, error) {
						<-time.After(time.Duration(order[i]) * 100 * time.Millisecond)
						return i, nil
					})
					seen = append(seen, fmt.Sprint(v))
					return v, err
				}))
			}
			all := make([]stepwell.Awaitable, len(fs))
			for i, f := range fs {
				all[i] = f
			}
			first, err := stepwell.Select(ctx, all...)
			if err != nil {
				return "", err
			}
			if err := stepwell.Do(ctx, "meanwhile", func(context.Context) error { <-time.After(150 * time.Millisecond); return nil }); err != nil {
				return "", err
			}
			seen = append(seen, "meanwhile")
			if _, err := stepwell.All(ctx, fs...); err != nil {
				return "", err
			}
			return fmt.Sprint(first, seen, ctx.Now().UnixMicro(), ctx.Rand().IntN(1000)), nil
		})
		inBubble(t, func(b *bench) {
			app, _ := b.worker(b.below, stepwell.Config{Definitions: []stepwell.Definition{wf}})
			run, err := wf.Start(t.Context(), app, 0, stepwell.RunID(benchRun))
			if err != nil {
				b.Fatal(err)
			}
			got, err := run.Result(context.Background())
			winner := slices.Index(order, 0)
			if err != nil || !strings.HasPrefix(got, fmt.Sprintf("%d [%d ", winner, winner)) {
				b.Errorf("order %v: got %q, %v, want the winner %d", order, got, err, winner)
			}
			b.sameReplayed(fmt.Sprint("order ", order), wf)
		})
		if t.Failed() {
			return
		}
	}
}

var benchEvent = stepwell.Event[string]("s")

// busyFlow has steps, side by side too, waits, a failing step, and a coroutine that waits for an event; what it returns tells where the
// event, or a cancel, came.
func busyFlow() *stepwell.Workflow[int, string] {
	return stepwell.Define("busy", func(ctx stepwell.Context, _ int) (string, error) {
		var story []string
		step := func(ctx stepwell.Context, name string) error {
			err := stepwell.Do(ctx, name, func(context.Context) error {
				<-time.After(time.Duration(name[0]-'a'+1) * 10 * time.Millisecond) // never two at once
				return nil
			})
			story = append(story, fmt.Sprintf("%s %v", name, err))
			return err
		}
		event := stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) {
			v, ok, err := benchEvent.Wait(ctx, stepwell.Timeout(2*time.Second))
			story = append(story, fmt.Sprintf("event %q %v %v", v, ok, err))
			return v, err
		})
		work := func() error {
			if err := step(ctx, "a"); err != nil {
				return err
			}
			if err := stepwell.Sleep(ctx, "nap", 100*time.Millisecond); err != nil {
				return err
			}
			b := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, step(ctx, "b") })
			c := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, step(ctx, "c") })
			if _, err := stepwell.All(ctx, b, c); err != nil {
				return err
			}
			fails := func(context.Context) error { return errors.New("fails") }
			err := stepwell.Do(ctx, "fails", fails, stepwell.Retry{Attempts: 2, Base: 10 * time.Millisecond, Jitter: -1})
			story = append(story, fmt.Sprint(err))
			if _, err := event.Get(ctx); err != nil {
				return err
			}
			return step(ctx, "d")
		}
		if err := work(); err != nil {
			undo := step(ctx.Uncancelled(), "undo")
			return "", fmt.Errorf("%w; %v; %v", err, undo, story)
		}
		return fmt.Sprint(story), nil
	})
}

// TestArrivalsAtEveryPosition: a signal, or a cancel, arrives before and after the k-th commit, for each k.
func TestArrivalsAtEveryPosition(t *testing.T) {
	send := map[string]world.Event{
		"signal": {Type: world.SignalReceived, Name: "s", Payload: []byte(`"hello"`)},
		"cancel": {Type: world.CancelRequested, By: "a test"},
	}
	for what, event := range send {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/after=%v", what, late), func(t *testing.T) {
				stories := map[string]bool{}
				k, cancels := 1, 0
				for arrived := true; arrived && !t.Failed(); k++ {
					arrived = false
					inBubble(t, func(b *bench) {
						wf := busyFlow()
						arrive := func() {
							_, err := b.below.Deliver(context.Background(), &world.Delivery{Run: benchRun, ID: "one", Events: []world.Event{event}})
							arrived = !errors.Is(err, world.ErrNotFound) && !errors.Is(err, world.ErrTerminal) || k == 1
						}
						f := faults.Fault{Before: arrive}
						if late {
							f = faults.Fault{After: arrive}
						}
						cfg := stepwell.Config{Definitions: []stepwell.Definition{wf}, Strict: k%2 == 0}
						app, _ := b.worker(faults.New(b.below, faults.At(faults.Commit, k, f)), cfg)
						if _, err := wf.Start(context.Background(), app, 0, stepwell.RunID(benchRun)); err != nil {
							b.Fatal(err)
						}
						info := b.over()
						seen := slices.ContainsFunc(b.log(), func(e world.Event) bool { return e.Type == world.CancelRequested })
						if want := (world.Cancelled); seen && info.Status != want {
							b.Errorf("commit %d: the run is %s, want %s", k, info.Status, want)
						}
						if seen {
							cancels++
						}
						if want := (world.Completed); what == "signal" && info.Status != want {
							b.Errorf("commit %d: the run is %s, %v, want %s", k, info.Status, info.Error, want)
						}
						stories[fmt.Sprint(string(info.Output), info.Error)] = true
						b.sameReplayed(fmt.Sprintf("%s at commit %d", what, k), wf)
					})
				}
				if k < 10 || len(stories) < 4 || what == "cancel" && cancels < k-5 {
					t.Errorf("%d commits, %d different ends, %d cancels: the arrivals changed little", k-1, len(stories), cancels)
				}
			})
		}
	}
}

// TestDeliveredOnce: a signal that is sent again and again with one delivery ID (while the first waits, is being committed, was appended, and
// across the death of the owner) is in the log once.
func TestDeliveredOnce(t *testing.T) {
	wf := stepwell.Define("twice", func(ctx stepwell.Context, _ int) (string, error) {
		first, ok, err := benchEvent.Wait(ctx)
		if err != nil {
			return "", err
		}
		if err := stepwell.Do(ctx, "between", func(context.Context) error { return nil }); err != nil {
			return "", err
		}
		second, again, err := benchEvent.Wait(ctx, stepwell.Timeout(30*time.Second))
		return fmt.Sprint(first, ok, second, again), err
	})
	for _, crash := range []string{"", "before", "after"} {
		t.Run("crash="+crash, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				sends := 0
				send := func() {
					sends++
					if err := benchEvent.Send(context.Background(), b.client(), benchRun, "x", stepwell.DeliveryID("d")); err != nil {
						b.Errorf("send: %v", err)
					}
				}
				var first *faults.World
				commits := 0
				plan := func(c faults.Call) (f faults.Fault) {
					if c.Op != faults.Commit || len(c.Commit.Mail) == 0 {
						return f
					}
					if commits++; commits > 3 {
						return f // each of them lets the signal come again, to be dropped by the next
					}
					dies := commits == 1
					return faults.Fault{Before: func() {
						send()
						if dies && crash == "before" {
							first.Kill()
						}
					}, After: func() {
						send()
						if dies && crash == "after" {
							first.Kill()
						}
					}}
				}
				cfg := stepwell.Config{Definitions: []stepwell.Definition{wf}}
				if _, err := wf.Start(context.Background(), b.client(), 0, stepwell.RunID(benchRun)); err != nil {
					b.Fatal(err)
				}
				send()
				send() // while the first waits
				first = faults.New(b.below, plan)
				_, stop := b.worker(first, cfg)
				if crash != "" {
					stop()
					b.worker(faults.New(b.below, plan), cfg)
				}
				<-time.After(15 * time.Second)
				send() // it was appended
				info := b.over()
				if got, want := string(info.Output), `"xtruefalse"`; strings.ReplaceAll(got, " ", "") != want {
					b.Errorf("got %s, want %s", got, want)
				}
				events := b.log()
				n := len(slices.DeleteFunc(slices.Clone(events), func(e world.Event) bool { return e.Type != world.SignalReceived }))
				if n != 1 || sends < 5 {
					b.Errorf("%d signals in the log of %d sends, want 1 of 5 or more", n, sends)
					b.dump(events)
				}
			})
		})
	}
}

// TestStaleOwnerCommitsNothing: a worker whose lease was ended behind its back learns it, its bodies' contexts end with ErrLeaseLost, and what
// they return is nowhere; of a closure as of a task.
func TestStaleOwnerCommitsNothing(t *testing.T) {
	for _, sort := range []string{"closure", "task"} {
		for _, deaf := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/deaf=%v", sort, deaf), func(t *testing.T) {
				inBubble(t, func(b *bench) {
					stale := make(chan struct{})
					causes := make(chan error, 2)
					defs := func() []stepwell.Definition {
						body := func(ctx context.Context, i int) (string, error) {
							if stepwell.Info(ctx).Attempt > 1 { // of the other worker, or of the old one under a new lease
								return "new", nil
							}
							<-ctx.Done()
							causes <- context.Cause(ctx)
							if deaf {
								<-stale
							}
							return "stale", nil
						}
						task := stepwell.DefineStep("task", body)
						wf := stepwell.Define("wf", func(ctx stepwell.Context, _ int) ([]string, error) {
							if sort == "closure" {
								s, err := stepwell.Step(ctx, "closure", func(c context.Context) (string, error) { return body(c, 0) })
								return []string{s}, err
							}
							return stepwell.All(ctx, task.Start(ctx, 0), task.Start(ctx, 1)) // one of them in the queue
						})
						return []stepwell.Definition{wf, task}
					}
					old := faults.New(b.below, nil)
					app, _ := b.worker(old, stepwell.Config{Definitions: defs()})
					if _, err := app.Start(context.Background(), "wf", []byte("0"), stepwell.RunID(benchRun)); err != nil {
						b.Fatal(err)
					}
					synctest.Wait()
					_, stop := b.worker(b.below, stepwell.Config{Definitions: defs()})
					if err := old.Evict(context.Background()); err != nil {
						b.Fatal(err)
					}
					info := b.over()
					bodies := map[string]int{"closure": 1, "task": 2}[sort]
					for range bodies {
						if got := <-causes; !errors.Is(got, stepwell.ErrLeaseLost) {
							b.Errorf("cause: got %v, want %v", got, stepwell.ErrLeaseLost)
						}
					}
					close(stale)
					<-time.After(time.Minute)
					stop()
					if strings.Contains(string(info.Output), "stale") {
						b.Errorf("got %s, want nothing stale", info.Output)
					}
					for _, e := range b.log() {
						if e.Type == world.StepCompleted && string(e.Payload) != `"new"` {
							b.Errorf("event %d: %s is in the log", e.Seq, e.Payload)
						}
					}
				})
			})
		}
	}
}

// TestUnknownOutcomes: the answer to each commit is lost, written or not; nothing is lost and nothing is there twice.
func TestUnknownOutcomes(t *testing.T) {
	story := func(t *testing.T, plan func() faults.Schedule) (types []string, output string) {
		inBubble(t, func(b *bench) {
			wf := busyFlow()
			app, _ := b.worker(faults.New(b.below, plan()), stepwell.Config{Definitions: []stepwell.Definition{wf}})
			if _, err := wf.Start(context.Background(), app, 0, stepwell.RunID(benchRun)); err != nil {
				b.Fatal(err)
			}
			if err := benchEvent.Send(context.Background(), b.client(), benchRun, "x"); err != nil {
				b.Fatal(err)
			}
			output = string(b.over().Output)
			for _, e := range b.log() {
				types = append(types, fmt.Sprint(e.Type, e.Name, e.Attempt))
			}
			b.sameReplayed("unknown outcomes", wf)
		})
		slices.Sort(types) // what is side by side may end in another order
		return types, output
	}
	want, output := story(t, func() faults.Schedule { return nil })
	for _, lost := range []int{1, 2, 3} { // answers of each commit
		for _, written := range []bool{false, true} {
			t.Run(fmt.Sprintf("lost=%d/written=%v", lost, written), func(t *testing.T) {
				got, result := story(t, func() faults.Schedule {
					tries := map[[16]byte]int{}
					return func(c faults.Call) (f faults.Fault) {
						if c.Op != faults.Commit {
							return f
						}
						tries[c.Commit.ID]++
						if tries[c.Commit.ID] <= lost {
							return faults.Fault{Err: world.ErrUnknownOutcome, Lost: written}
						}
						return f
					}
				})
				if !slices.Equal(got, want) || result != output {
					t.Errorf("got %q and events\n%q, want %q and\n%q", result, got, output, want)
				}
			})
		}
	}
}
