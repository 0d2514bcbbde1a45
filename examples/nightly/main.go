// Nightly makes a report every night at half past two, in Berlin. So that nobody need wait for the night it makes those
// of two past nights by a backfill, and says when the next ones behind these were due: one of them in a night whose
// clock has no half past two. Each night has one report, however often the program is started, killed, or run beside
// itself.
//
//	go run ./examples/nightly
//	go run ./examples/nightly --db sqlite:nightly.db --stay
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/schedule"
	"github.com/stepwell/stepwell/world"
	_ "github.com/stepwell/stepwell/world/memory"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// Day is what a report is of.
type Day struct {
	Date string `json:"date"`
}

// Report counts what was sold on a day.
var Report = stepwell.Define("nightly-report", func(ctx stepwell.Context, day Day) (string, error) {
	sold, err := stepwell.Step(ctx, "count", func(context.Context) (int, error) { return len(day.Date) * 7, nil })
	if err != nil {
		return "", err
	}
	fire, _ := schedule.Of(ctx)
	return fmt.Sprintf("%s: %d sold; written by %s", day.Date, sold, fire.Name), nil
})

// Nightly has a report of each day start in the night behind it.
var Nightly = schedule.Computed("nightly", Report,
	func(at, _ time.Time) Day { return Day{at.AddDate(0, 0, -1).Format(time.DateOnly)} },
	schedule.Times("30 2 * * *"), schedule.Zone("Europe/Berlin"), schedule.Overlap(schedule.QueueAll))

func main() {
	db := flag.String("db", "memory:", "the database: memory:, sqlite:FILE, or a URL of PostgreSQL")
	asOf := flag.String("as-of", "2025-03-29T12:00:00Z", "make the reports of the two nights before this time")
	stay := flag.Bool("stay", false, "stay, and make a report every night, until interrupted")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	now, err := time.Parse(time.RFC3339, *asOf)
	if err == nil {
		err = run(ctx, *db, *stay, now, os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, db string, stay bool, now time.Time, out io.Writer) (err error) {
	w, err := stepwell.Open(ctx, db)
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, w.Close()) }()
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{Report, schedule.Set("reports", 1, Nightly)}})
	if err != nil {
		return err
	}
	return app.RunUntil(ctx, func(ctx context.Context) error {
		err := reports(ctx, app, now, out)
		if err == nil && stay {
			<-ctx.Done()
		}
		return err
	})
}

// reports makes those of the last two nights, and tells when the next are due.
func reports(ctx context.Context, app *stepwell.App, now time.Time, out io.Writer) error {
	for all, err := schedule.List(ctx, app, "", 1); len(all) == 0; all, err = schedule.List(ctx, app, "", 1) {
		if err != nil {
			return err
		}
		select { // it stands soon after the App runs
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, at := range Nightly.Next(now.Add(-48*time.Hour), 2) {
		if _, err := schedule.Backfill(ctx, app, Nightly.Name(), at, at); err != nil {
			return err
		}
		run := Report.Get(app, world.ScheduledID(Nightly.Name(), at))
		text, err := run.Result(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, text)
	}
	for _, at := range Nightly.Next(now, 3) {
		fmt.Fprintln(out, "next:", at.Format(time.RFC1123))
	}
	return nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
