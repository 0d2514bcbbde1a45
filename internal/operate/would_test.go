package operate_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// TestWouldIsWhatTheActDoes: what is said beforehand of each run is what becomes of it, by the same reasons.
func TestWouldIsWhatTheActDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := stepwell.Define("shop", func(ctx stepwell.Context, how string) (int, error) {
			switch how {
			case "waits":
				_, _, err := stepwell.Event[int]("go").Wait(ctx)
				return 0, err
			case "undoes":
				if err := stepwell.Do(ctx, "charge", func(context.Context) error { return nil }); err != nil {
					return 0, err
				}
				stepwell.AddUndo(ctx, "refund", func(context.Context, any) error { return nil }, nil)
			case "completes":
				return 1, nil
			}
			return stepwell.Step(ctx, "ship", func(context.Context) (int, error) { return 0, stepwell.Fatal(errors.New("the post is closed")) })
		})
		app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{shop}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- app.Run(ctx) }()
		defer func() { cancel(); <-ended }()
		for _, act := range operate.All {
			for _, how := range []string{"waits", "undoes", "completes", "fails", "cancelled"} {
				for i := range 2 {
					in := how
					if how == "cancelled" {
						in = "waits"
					}
					id := fmt.Sprintf("%s-%s-%d", act.Name, how, i)
					if _, err := shop.Start(ctx, app, in, stepwell.RunID(id)); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					if how == "cancelled" {
						if err := app.Cancel(ctx, id, ""); err != nil {
							t.Fatal(err)
						}
						synctest.Wait()
					}
				}
			}
			f := stepwell.ListFilter{Prefix: act.Name + "-", Status: []world.Status{world.Running, world.Failed, world.Completed, world.Cancelled}}
			did := func(do stepwell.Act) (all map[string]string, why operate.Refusals) {
				all = map[string]string{}
				for r, err := range app.Bulk(ctx, f, do) {
					switch {
					case err != nil:
						t.Fatal(err)
					case r.Err == nil:
						all[r.Run.ID] = "done"
					case errors.Is(r.Err, operate.ErrAlready):
						all[r.Run.ID] = "already"
					default:
						all[r.Run.ID] = "refused"
						why.Add(r.Run.ID, "", r.Err.Error())
					}
				}
				return all, why
			}
			for round := range 2 { // the second finds what the first did
				words := operate.Words{Event: "go", Payload: []byte("1"), Delivery: fmt.Sprint("d", round)}
				would, reasons := did(act.Would(app, words))
				is, refusals := did(act.On(app, words))
				synctest.Wait()
				for id, got := range would {
					if is[id] != got {
						t.Errorf("%s, round %d: run %s: said to be %s, was %s", act.Name, round, id, got, is[id])
					}
				}
				if a, b := count(reasons), count(refusals); len(would) != len(is) || a != b || act.Name == "retry" && len(reasons) != len(refusals) {
					t.Errorf("%s, round %d: said of %d runs that %d would be refused: %+v; of %d were %d: %+v", act.Name, round, len(would), a, reasons, len(is), b, refusals)
				}
			}
		}
	})
}

func count(why operate.Refusals) (n int) {
	for _, r := range why {
		n += r.Count
	}
	return n
}

// TestRefusalsByReason: what differs by IDs and numbers is one reason, of however many runs.
func TestRefusalsByReason(t *testing.T) {
	var all operate.Refusals
	for i := range 240 {
		run := fmt.Sprintf("pay-%d-of-may", i)
		all.Add(run, "INVALID", "retry run "+run+": its undo functions have undone what it did")
		all.Add(run, "INVALID", fmt.Sprintf("it is of kind %c", 'a'+i%60))
	}
	if len(all) != 20 || all[0].Count != 240 || all[0].Run != "pay-0-of-may" || count(all) != 480 || all[19].Error != "other reasons" {
		t.Errorf("got %d reasons of %d refusals, the first %+v", len(all), count(all), all[0])
	}
}
