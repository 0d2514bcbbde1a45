package answers

// What a definition says holds for children of what is only declared, and for whom it does not hold.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

var sharedDeclared = map[string]func(*answers){
	"a definition holds for children of what is declared": answerDeclaredChild,
	"a start before any worker has no limits":             answerUnheardLimits,
}

type parcel struct {
	City string `json:"city"`
}

// birthOf is how a run was created.
func (r *answers) birthOf(run string) *world.Birth {
	r.Helper()
	list := r.events(run, world.RunCreated)
	if len(list) != 1 {
		r.Fatalf("run %s has %d births", run, len(list))
	}
	return list[0].Birth
}

// answerDeclaredChild: version, retention, timeout, attributes and limits are those that live workers say, where the
// child is not told otherwise; what was chosen is in the child's log, and a replay asks nobody. A child that nobody can
// tell the limit's key of is an error of the step.
func answerDeclaredChild(r *answers) {
	const day = 24 * time.Hour
	send := func(version int, opts ...stepwell.WorkflowOption) stepwell.Definition {
		return stepwell.Define("declared-send", func(_ stepwell.Context, p parcel) (string, error) {
			return fmt.Sprint(p.City, " ", version), nil
		}, append(opts, stepwell.Version(version), stepwell.Retention(time.Duration(version)*day), stepwell.Timeout(time.Duration(version)*time.Hour))...)
	}
	secret := stepwell.Define("declared-secret", func(stepwell.Context, parcel) (string, error) { return "", nil },
		stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf(func(p parcel) string { return p.City })})
	r.begin(send(1), send(2, stepwell.Attributes(map[string]any{"team": "post", "tier": 1}), stepwell.Limit{AtOnce: 3, By: "city", Name: "declared-city"}), secret)

	sends, hides := stepwell.Declare[parcel, string]("declared-send"), stepwell.Declare[parcel, string]("declared-secret")
	asked := stepwell.Define("declared-parent", func(ctx stepwell.Context, p parcel) (string, error) {
		said := []string{}
		for _, c := range []*stepwell.ChildCall[parcel, string]{
			sends.Child(stepwell.RunID(ctx.RunID() + "-plain")),
			sends.Child(stepwell.RunID(ctx.RunID()+"-told"), stepwell.Retention(9*day), stepwell.Timeout(stepwell.Forever), stepwell.Attributes(map[string]any{"tier": 2})),
			sends.Child(stepwell.RunID(ctx.RunID()+"-old"), stepwell.Version(1)),
		} {
			s, err := c.Run(ctx, p)
			if err != nil {
				return "", err
			}
			said = append(said, s)
		}
		_, err := hides.Child().Run(ctx, p)
		var failed *stepwell.StepError
		if !errors.As(err, &failed) || !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), "By") {
			return "", fmt.Errorf("a child whose limit's key nobody can tell: %w", err)
		}
		return strings.Join(said, ", "), stepwell.Sleep(ctx, "rest", time.Millisecond) // so that it is replayed, where it is
	})
	app := r.begin(asked)
	client := r.client()
	r.until("it is known what live workers say", func() bool {
		run, err := client.Start(r.ctx, "declared-send", json.RawMessage(`{"city":"Bonn"}`))
		r.must(err)
		return r.get(run.ID()).Version == 2
	})
	run := begun(r, app.App, asked, parcel{"Ulm"})
	gives(r, run, "Ulm 2, Ulm 2, Ulm 1")
	r.replays(run.ID(), asked)

	post, own := json.RawMessage(`"post"`), map[string]json.RawMessage{"team": json.RawMessage(`"post"`), "tier": json.RawMessage(`1`)}
	places := []world.Place{{Limit: "declared-city", Key: "Ulm", Number: 3}}
	for name, want := range map[string]world.Birth{
		"plain": {Version: 2, Retention: 2 * day, Timeout: 2 * time.Hour, Attributes: own, Places: places},
		"told":  {Version: 2, Retention: 9 * day, Attributes: map[string]json.RawMessage{"team": post, "tier": json.RawMessage(`2`)}, Places: places},
		"old":   {Version: 1, Retention: day, Timeout: time.Hour},
	} {
		b := r.birthOf(run.ID() + "-" + name)
		got := world.Birth{Version: b.Version, Retention: b.Retention, Timeout: b.Timeout, Attributes: b.Attributes, Places: b.Places}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Errorf("the child %s (-want +got):\n%s", name, diff)
		}
	}
}

// answerUnheardLimits: who starts a run before any worker has said what its definition says starts one without limits,
// which it stays; what was said once is kept, also when that worker is gone.
func answerUnheardLimits(r *answers) {
	client := r.client()
	start := func(input string) string {
		r.Helper()
		run, err := client.Start(r.ctx, "unheard-import", json.RawMessage(input))
		r.must(err)
		return run.ID()
	}
	early := []string{start(`"early"`), start(`"early"`)}
	var both sync.WaitGroup
	both.Add(len(early))
	imports := stepwell.Define("unheard-import", func(ctx stepwell.Context, when string) (string, error) {
		return when, stepwell.Do(ctx, "meet", func(context.Context) error {
			if when == "early" {
				both.Done()
				both.Wait() // at once, though only one may be
			}
			return nil
		})
	}, stepwell.Limit{AtOnce: 1})
	app := r.begin(imports)
	for _, id := range early {
		if got := r.birthOf(id).Places; got != nil {
			r.Errorf("a run that was started before any worker had joined needs %v", got)
		}
		r.until("a run that was started early is over", func() bool { return r.status(id) == world.Completed })
	}
	limited := func(how string) {
		r.Helper()
		r.until(how, func() bool { return len(r.birthOf(start(`"late"`)).Places) == 1 })
	}
	limited("it is known what the worker says")
	app.stop()
	limited("it is known what the worker said")
}
