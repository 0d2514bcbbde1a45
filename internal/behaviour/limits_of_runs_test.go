package behaviour_test

// What workflow code may hand over is fixed when its segment begins: a worker with other limits comes to the same.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/topic"
	"github.com/stepwell/stepwell/webhook"
	"github.com/stepwell/stepwell/world"
)

const (
	narrow = 1 << 10 // a MaxPayload that refuses large; the default takes it
	wide   = 0
)

var (
	large = strings.Repeat("x", 2*narrow)

	largeMails = queue.Define[string]("large-mails")
	largeNews  = topic.Of[string]("large.news")
	largeEvent = stepwell.Event[string]("large")
	largeKid   = stepwell.Define("large-kid", func(_ stepwell.Context, s string) (int, error) { return len(s), nil })
	largeTask  = stepwell.DefineStep("large-task", func(_ context.Context, s string) (int, error) { return len(s), nil })
	// largeTarget takes what is sent to it.
	largeTarget = stepwell.Define("large-target", func(ctx stepwell.Context, _ struct{}) (int, error) {
		for range 10 {
			if _, _, err := largeEvent.Wait(ctx); err != nil {
				return 0, err
			}
		}
		return 0, nil
	})
)

// handing is what the code of a run is given.
type handing struct {
	Target string // a run to send to
	Pad    string // of a segment that went on
}

// hands are the calls that hand a value over, which a configuration may limit.
var hands = map[string]func(ctx stepwell.Context, in handing) error{
	"registered step": func(ctx stepwell.Context, _ handing) error { _, err := largeTask.Run(ctx, large); return err },
	"child":           func(ctx stepwell.Context, _ handing) error { _, err := largeKid.Child().Run(ctx, large); return err },
	"detached child": func(ctx stepwell.Context, _ handing) error {
		_, err := largeKid.Child(stepwell.Detached()).Start(ctx, large).Get(ctx)
		return err
	},
	"SendTo":      func(ctx stepwell.Context, in handing) error { return largeEvent.SendTo(ctx, in.Target, large) },
	"WriteStream": func(ctx stepwell.Context, _ handing) error { return stepwell.WriteStream(ctx, "s", large) },
	"SendFrom":    func(ctx stepwell.Context, _ handing) error { return largeMails.SendFrom(ctx, large) },
	"PublishFrom": func(ctx stepwell.Context, _ handing) error { return largeNews.PublishFrom(ctx, large) },
	"NewHook": func(ctx stepwell.Context, _ handing) error {
		_, err := stepwell.NewHook[int](ctx, stepwell.Metadata(large))
		return err
	},
	"webhook": func(ctx stepwell.Context, _ handing) error {
		_, err := webhook.New(ctx, webhook.Metadata(large))
		return err
	},
	"RespondWith": func(ctx stepwell.Context, _ handing) error {
		_, err := webhook.New(ctx, webhook.RespondWith(webhook.Response{Body: []byte(large)}))
		return err
	},
	"Respond": func(ctx stepwell.Context, _ handing) error {
		return (&webhook.Request{Reply: world.WebhookAnswers + ctx.NewID()}).Respond(ctx, webhook.Response{Body: []byte(large)})
	},
	"ContinueAsNew": func(ctx stepwell.Context, _ handing) error { return stepwell.ContinueAsNew(ctx, handing{Pad: large}) },
}

// became is what became of a call.
func became(err error) string {
	switch {
	case err == nil:
		return "taken"
	case errors.Is(err, stepwell.ErrTooLarge):
		return "too large"
	}
	return err.Error()
}

// TestLimitsAreTheRuns: what a run was refused, or allowed, stays so where it is replayed by a worker with another limit, and what its
// code hands over there is held to the same. So it is in a fork. A restart begins anew, with the limit of its worker.
func TestLimitsAreTheRuns(t *testing.T) {
	for _, limits := range [][2]int{{narrow, wide}, {wide, narrow}} {
		for what, hand := range hands {
			t.Run(fmt.Sprintf("%d to %d/%s", limits[0], limits[1], what), func(t *testing.T) {
				plainly(t, func(r *rig) { heldToItsLimit(r, limits[0], limits[1], hand, what == "ContinueAsNew") })
			})
		}
	}
}

// heldToItsLimit hands a value over before and behind a change of the limit. What ends the segment, where it is taken, is handed over behind it alone.
func heldToItsLimit(r *rig, before, behind int, hand func(stepwell.Context, handing) error, ends bool) {
	taken := map[int]string{narrow: "too large", wide: "taken"}
	wf := stepwell.Define("held", func(ctx stepwell.Context, in handing) (string, error) {
		if in.Pad != "" {
			return "taken", nil
		}
		first := taken[before]
		if !ends || before == narrow {
			first = became(hand(ctx, in))
		}
		if err := stepwell.Sleep(ctx, "rest", 4*time.Minute); err != nil {
			return "", err
		}
		if second := became(hand(ctx, in)); second != first {
			first += ", then " + second
		}
		return first, stepwell.Sleep(ctx, "end", time.Second) // so that a hook is made
	})
	defs := []stepwell.Definition{wf, largeKid, largeTask, largeTarget}
	old := r.beginWith(stepwell.Config{Definitions: defs, MaxPayload: before})
	target := start(r, old, largeTarget, struct{}{})
	run := start(r, old, wf, handing{Target: target.ID()})
	r.pass(10 * time.Second)
	old.stop(r)
	now := r.beginWith(stepwell.Config{Definitions: defs, MaxPayload: behind, PublicURL: "https://hooks.example.com/" + strings.Repeat("p", 200)})
	fork, err := now.Fork(r.ctx, run.ID(), stepwell.ForkOptions{})
	if err != nil {
		r.Fatal(err)
	}
	want(r, run, taken[before])
	want(r, fork, []byte(`"`+taken[before]+`"`))
	if b := r.get(run.ID()).Queue; b != nil && b.Blocked != nil {
		r.Errorf("blocked: %+v", b.Blocked)
	}
	now.checks(r, run.ID())
	if ends { // begun anew it would hand the value over otherwise
		return
	}
	again, err := now.Restart(r.ctx, run.ID(), stepwell.RestartOptions{})
	if err != nil {
		r.Fatal(err)
	}
	want(r, again, []byte(`"`+taken[behind]+`"`))
}

// plainly runs a test on one of the worlds that are not encrypted, so that logs can be read from outside.
func plainly(t *testing.T, test func(r *rig)) {
	in(t, append(cells(kinds[:1], modes[1:]), cells(kinds[1:], modes[:1])...), test)
}

// checks holds a worker's code against the log of a run.
func (wk *worker) checks(r *rig, run string) {
	r.Helper()
	var b bytes.Buffer
	if err := wk.Export(r.ctx, run, &b); err != nil {
		r.Fatal(err)
	}
	for h, err := range stepwell.ReadHistories(&b) {
		if err == nil {
			err = wk.Check(r.ctx, h)
		}
		if err != nil {
			r.Errorf("check: %v", err)
		}
	}
}

// TestLimitOfAnOutput: a run ends with its output, or with TOO_LARGE, by the limit that it began with.
func TestLimitOfAnOutput(t *testing.T) {
	for _, limits := range [][2]int{{narrow, wide}, {wide, narrow}} {
		t.Run(fmt.Sprintf("%d to %d", limits[0], limits[1]), func(t *testing.T) {
			plainly(t, func(r *rig) {
				wf := stepwell.Define("output", func(ctx stepwell.Context, _ struct{}) (string, error) {
					return large, stepwell.Sleep(ctx, "rest", 4*time.Minute)
				})
				old := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, MaxPayload: limits[0]})
				run := start(r, old, wf, struct{}{})
				r.pass(time.Minute)
				old.stop(r)
				now := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, MaxPayload: limits[1]})
				if limits[0] == wide {
					want(r, run, large)
				} else if err := wantErr(r, run, world.Failed); !errors.Is(err, stepwell.ErrTooLarge) {
					r.Errorf("failed with %v, want ErrTooLarge", err)
				}
				now.checks(r, run.ID())
			})
		})
	}
}

// TestASegmentHasLimitsOfItsOwn: ContinueAsNew takes those of the worker that continues the run, and they stay: also where the segments before
// are gone, and in a copy of what is left.
func TestASegmentHasLimitsOfItsOwn(t *testing.T) {
	plainly(t, func(r *rig) {
		wf := stepwell.Define("rounds", func(ctx stepwell.Context, round int) ([]string, error) {
			got := []string{became(stepwell.WriteStream(ctx, "s", large))}
			if err := stepwell.Sleep(ctx, "rest", 4*time.Minute); err != nil {
				return nil, err
			}
			if got = append(got, became(stepwell.WriteStream(ctx, "s", large))); round == 2 {
				return got, nil
			}
			return nil, stepwell.ContinueAsNew(ctx, round+1)
		}, stepwell.KeepSegments(1))
		work := func(limit int, for_ time.Duration) *worker {
			wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, MaxPayload: limit, SweepInterval: time.Minute})
			r.pass(for_)
			return wk
		}
		wk := work(narrow, 0)
		run := start(r, wk, wf, 0)
		r.pass(2 * time.Minute)
		wk.stop(r)
		work(wide, 4*time.Minute).stop(r)                  // round 0 goes on as it began; its end begins round 1
		work(narrow, 4*time.Minute+10*time.Second).stop(r) // round 1 is taken as it began, and begins round 2
		began := r.events(run.ID(), world.RunStarted, world.RunContinued)
		if n := len(began); n == 0 || began[n-1].MaxPayload != narrow || began[n-1].MaxValue != narrow {
			r.dump(run.ID())
			r.Fatalf("segments begin with %+v; want the last with limits of %d", began, narrow)
		}
		wk = work(wide, 0)
		want(r, run, []string{"too large", "too large"})
		wk.checks(r, run.ID())
		page, err := r.world.Events(r.ctx, run.ID(), world.EventQuery{})
		if err != nil || page.Trimmed == 0 {
			r.Errorf("the log was not trimmed: %v", err)
		}
	})
}

// TestLimitsInTheLog: the log says limits that are not the defaults, and nothing else.
func TestLimitsInTheLog(t *testing.T) {
	wf := stepwell.Define("plain", func(stepwell.Context, struct{}) (int, error) { return 0, nil })
	for _, test := range []struct{ payload, value, wantPayload, wantValue int }{
		{0, 0, 0, 0}, {1 << 20, 64 << 20, 0, 0}, {1 << 20, 0, 0, 1 << 20}, {narrow, 0, narrow, narrow}, {narrow, 4 * narrow, narrow, 4 * narrow},
	} {
		plainly(t, func(r *rig) {
			wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, MaxPayload: test.payload, MaxValue: test.value})
			run := start(r, wk, wf, struct{}{})
			want(r, run, 0)
			if e := r.events(run.ID(), world.RunStarted)[0]; e.MaxPayload != test.wantPayload || e.MaxValue != test.wantValue {
				r.Errorf("%+v: the log says %d and %d", test, e.MaxPayload, e.MaxValue)
			}
		})
	}
}
