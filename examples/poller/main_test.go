package main

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/forktest"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/world"
)

func Example() {
	main()
	// Output:
	// news: item 1
	// news: item 2
	// news: item 3
	// news: item 4
	// news: item 5
	// news: item 6
	// news: item 7
	// 7 items, one run, several segments: true
}

// polling is a run that has found an item each day, for some days.
func polling(t *testing.T, days int) (*stepwelltest.Env, *stepwelltest.Run[int]) {
	env := stepwelltest.New(t, Poll)
	stepwelltest.Fake(env, "fetch", func(context.Context) (int, error) {
		return int(time.Since(epoch)/(24*time.Hour)) + 1, nil // of its clock
	})
	run := stepwelltest.Start(env, Poll, Feed{URL: "news", Every: 24 * time.Hour})
	env.Advance(time.Duration(days)*24*time.Hour - time.Hour)
	return env, run
}

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func TestTwoMonthsOfPollingAreOneRun(t *testing.T) {
	_, run := polling(t, 60)
	stepwelltest.Send(run, Stop, "that is all")
	if got := run.MustComplete(); got != 60 {
		t.Errorf("got %d items, want 60", got)
	}
	segments := 1
	for _, e := range run.Events() {
		if e.Type == world.RunContinued {
			segments++
		}
	}
	if want := (60 + rounds - 1) / rounds; segments != want {
		t.Errorf("got %d segments, want %d", segments, want)
	}
}

func TestNoRoundIsLostOrDoneTwiceThoughTheWorkerIsKilled(t *testing.T) {
	env, run := polling(t, 4)
	stepwelltest.Send(run, Stop, "that is all")
	if got := run.MustComplete(); got != 4 {
		t.Errorf("got %d items, want 4", got)
	}
	run.WantEvents(world.RunContinued, world.SignalReceived, world.RunCompleted)
	env.CrashEverywhere()
}

func TestAForkPollsOnFromItsCursor(t *testing.T) {
	forktest.EveryEvent(t, forktest.Case{
		Config: stepwell.Config{Definitions: []stepwell.Definition{Poll}},
		Start:  forktest.Start(Poll, Feed{URL: "news", Every: 24 * time.Hour}),
		Live: func(l *forktest.Life, run string) error {
			if len(l.Events(run, world.SignalReceived)) > 0 {
				return nil // before the cut
			}
			l.Until("the last item", func() bool {
				return slices.ContainsFunc(l.Events(run, world.StepCompleted), func(e world.Event) bool { return string(e.Payload) == "7" })
			})
			return Stop.Send(l.Context, l.App, run, "that is all")
		},
	})
}
