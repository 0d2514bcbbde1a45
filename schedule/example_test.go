package schedule_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/schedule"
	"github.com/stepwell/stepwell/world/memory"
)

type Report struct {
	Kind string `json:"kind"`
}

// A program says what runs when. The run knows which time it is.
func ExampleSet() {
	report := stepwell.Define("report", func(ctx stepwell.Context, in Report) (string, error) {
		fire, _ := schedule.Of(ctx)
		return in.Kind + " of the day before " + fire.At.Format(time.DateOnly), nil
	})
	nightly := schedule.New("nightly", report, Report{Kind: "all"},
		schedule.Times("0 3 * * *"), schedule.Zone("Europe/Berlin"), schedule.Jitter(10*time.Minute), schedule.CatchUp(36*time.Hour),
		schedule.Overlap(schedule.QueueOne), schedule.PauseOnFailure())
	inventory := schedule.Computed("inventory", report, func(at, previous time.Time) Report { return Report{Kind: at.Format("January")} },
		schedule.Times("@monthly"), schedule.From(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)), schedule.Until(time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC)), schedule.Runs(12))
	app, err := stepwell.New(memory.New(), stepwell.Config{
		Logger:      slog.New(slog.DiscardHandler),
		Definitions: []stepwell.Definition{report, schedule.Set("reports", 1, nightly, inventory)},
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- app.Run(ctx) }()
	for all, _ := schedule.List(ctx, app, "", 10); len(all) < 2; all, _ = schedule.List(ctx, app, "", 10) {
		<-time.After(time.Millisecond) // they stand soon after the App runs
	}
	for _, at := range nightly.Next(time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC), 2) { // the clocks change in between
		fmt.Println(nightly.Name(), at)
	}
	// The nights that were before there was a schedule.
	runs, err := schedule.Backfill(ctx, app, "nightly", time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC))
	if err != nil {
		panic(err)
	}
	fmt.Println(runs)
	if err := schedule.Pause(ctx, app, "nightly", "ann", "holidays"); err != nil {
		panic(err)
	}
	if err := schedule.Resume(ctx, app, "nightly"); err != nil {
		panic(err)
	}
	stop()
	if err := <-ended; err != nil {
		panic(err)
	}
	// Output:
	// nightly 2026-03-29 03:00:00 +0200 CEST
	// nightly 2026-03-30 03:00:00 +0200 CEST
	// [nightly@2026-03-01T02:00:00Z]
}

// A program that has no set makes a schedule, starts a run of it now, and ends it.
func ExamplePut() {
	report := stepwell.Define("report", func(stepwell.Context, Report) (string, error) { return "done", nil })
	app, err := stepwell.New(memory.New(), stepwell.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	if err := schedule.Put(ctx, app, schedule.New("hourly", report, Report{}, schedule.Times("@hourly")), "ann"); err != nil {
		panic(err)
	}
	run, err := schedule.Trigger(ctx, app, "hourly")
	if err != nil {
		panic(err)
	}
	info, err := app.Get(ctx, run)
	if err != nil {
		panic(err)
	}
	fmt.Println(info.Workflow, info.Status)
	if err := schedule.Delete(ctx, app, "hourly"); err != nil {
		panic(err)
	}
	fmt.Println(schedule.Put(ctx, app, schedule.New("never", report, Report{}, schedule.Times("0 0 30 2 *")), "ann"))
	// Output:
	// report pending
	// schedule never: invalid: "0 0 30 2 *" never comes
}
