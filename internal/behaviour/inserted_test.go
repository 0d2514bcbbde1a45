package behaviour_test

// Operations that were put into the code before what a run has recorded, and that nothing waits for.

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/topic"
	"github.com/stepwell/stepwell/world"
)

var (
	insertedMails = queue.Define[string]("inserted-mails")
	insertedNews  = topic.Of[string]("inserted.news")
	insertedTask  = stepwell.DefineStep("task", func(ctx context.Context, n int) (int, error) { return n, nil })
	insertedKid   = stepwell.Define("kid", func(stepwell.Context, int) (int, error) { return 0, nil })
)

// insertions are by their names what a report calls them.
var insertions = map[string]func(ctx stepwell.Context) error{
	`step "new"`:                              func(ctx stepwell.Context) error { return stepwell.Do(ctx, "new", nothing) },
	`message for queue "inserted-mails"`:      func(ctx stepwell.Context) error { return insertedMails.SendFrom(ctx, "hello") },
	`publication under topic "inserted.news"`: func(ctx stepwell.Context) error { return insertedNews.PublishFrom(ctx, "hello") },
	`chunk of stream "new"`:                   func(ctx stepwell.Context) error { return stepwell.WriteStream(ctx, "new", 1) },
	`attribute "new"`:                         func(ctx stepwell.Context) error { return stepwell.SetAttribute(ctx, "new", 1) },
	`registered step "task"`:                  func(ctx stepwell.Context) error { insertedTask.Start(ctx, 1); return nil },
	`child run "kid"`:                         func(ctx stepwell.Context) error { insertedKid.Child(stepwell.Detached()).Start(ctx, 1); return nil },
	`wait for event "number"`:                 func(ctx stepwell.Context) error { numbers.Start(ctx); return nil },
	`sleep "new"`:                             func(ctx stepwell.Context) error { stepwell.Timer(ctx, "new", time.Hour); return nil },
}

// TestInsertedOperationsBlock: code that asks for something new before what is recorded does not match the log, whether it waits for that or
// not, and does none of it. Guarded with Patched, or behind all that is recorded, it is what the code asks for.
func TestInsertedOperationsBlock(t *testing.T) {
	for what, ask := range insertions {
		for _, place := range []string{"first", "between", "behind", "patched", "in a coroutine"} {
			t.Run(what+"/"+place, func(t *testing.T) {
				across(t, kinds[:1], modes, func(r *rig) { inserted(r, what, place, ask) })
			})
		}
	}
}

func inserted(r *rig, what, place string, ask func(ctx stepwell.Context) error) {
	code := func(now string) *stepwell.Workflow[struct{}, int] {
		at := func(ctx stepwell.Context, here string) error {
			if here != now || here == "patched" && !stepwell.Patched(ctx, "new") {
				return nil
			}
			return ask(ctx)
		}
		return stepwell.Define("inserted", func(ctx stepwell.Context, _ struct{}) (int, error) {
			if now == "in a coroutine" {
				stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, at(ctx, "in a coroutine") })
			}
			for _, here := range []string{"first", "patched"} {
				if err := at(ctx, here); err != nil {
					return 0, err
				}
			}
			if err := stepwell.Do(ctx, "a", nothing); err != nil {
				return 0, err
			}
			if err := at(ctx, "between"); err != nil {
				return 0, err
			}
			if err := stepwell.Sleep(ctx, "b", time.Minute); err != nil {
				return 0, err
			}
			if err := at(ctx, "behind"); err != nil {
				return 0, err
			}
			return 7, stepwell.Sleep(ctx, "c", time.Minute)
		})
	}
	others := []stepwell.Definition{insertedTask, insertedKid}
	old := r.beginWith(stepwell.Config{Definitions: append(others, code("never")), Build: "old"})
	run := start(r, old, code("never"), struct{}{})
	r.pass(10 * time.Second)
	old.stop(r)
	r.beginWith(stepwell.Config{Definitions: append(others, code(place)), Build: "new"})
	if place == "behind" || place == "patched" {
		want(r, run, 7)
		return
	}
	b := r.blocked(run.ID())
	asks := "the code asks  " + what
	if place == "in a coroutine" {
		asks += " in go[0]"
	}
	if b.Code != world.CodeDiverged || !strings.Contains(b.Message, asks) || !strings.Contains(b.Message, "inserted_test.go:") || !strings.Contains(b.Message, "recorded by build old") {
		r.Errorf("blocked as %s: %s\nwant DIVERGED and %q", b.Code, b.Message, asks)
	}
	r.pass(10 * time.Minute)
	if n := r.count(run.ID(), world.StepCreated, "") + r.count(run.ID(), world.AttrSet, "") + r.count(run.ID(), world.WaitCreated, ""); n != 2 {
		r.dump(run.ID())
		r.Errorf("%d creations in the log, want 2", n)
	}
}
