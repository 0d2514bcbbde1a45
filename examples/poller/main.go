// Poller looks for news at a feed, for ever. A run that never ends would have a log that never ends, and would take longer and longer
// to replay: so every few rounds it goes on as a new segment of the same run, with nothing but what it needs to know. Its ID stays,
// and so does what was sent to it and not yet read.
//
//	go run ./examples/poller
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	_ "github.com/stepwell/stepwell/world/memory"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// Feed is what is polled, and how far it is read: all that a segment hands to the next.
type Feed struct {
	URL    string        `json:"url"`
	Every  time.Duration `json:"every"`
	Cursor int           `json:"cursor"`
}

// Stop ends the polling.
var Stop = stepwell.Event[string]("stop")

// rounds is how often a segment looks.
const rounds = 3

// Poll is the workflow. It returns how many items there were.
var Poll = stepwell.Define("poll-feed", func(ctx stepwell.Context, f Feed) (int, error) {
	for range rounds {
		next, err := stepwell.Step(ctx, "fetch", func(ctx context.Context) (int, error) {
			return fetch(ctx, f.URL, f.Cursor)
		}, stepwell.Retry{Attempts: stepwell.Unlimited})
		if err != nil {
			return f.Cursor, err
		}
		f.Cursor = next
		if _, stopped, err := Stop.Wait(ctx, stepwell.Timeout(f.Every)); err != nil || stopped {
			return f.Cursor, err
		}
	}
	return f.Cursor, stepwell.ContinueAsNew(ctx, f) // from the beginning, with today's version of this function
})

// fetch stands for a request: each time there is one item more.
func fetch(_ context.Context, url string, cursor int) (int, error) {
	if cursor++; cursor <= 7 {
		fmt.Printf("%s: item %d\n", url, cursor)
		return cursor, nil
	}
	once.Do(func() { close(enough) })
	return cursor - 1, nil
}

var (
	enough = make(chan struct{}) // closed when the feed has shown all that it has
	once   sync.Once
)

var db = flag.String("db", "memory:", "where runs are kept: memory:, sqlite:PATH or postgres://...")

func main() {
	flag.Parse()
	stepwell.Main(stepwell.Config{Database: *db, Definitions: []stepwell.Definition{Poll}}, func(ctx context.Context, app *stepwell.App) error {
		run, err := Poll.Start(ctx, app, Feed{URL: "news", Every: 5 * time.Millisecond})
		if err != nil {
			return err
		}
		<-enough
		if err := Stop.Send(ctx, app, run.ID(), "that is all"); err != nil {
			return err
		}
		items, err := run.Result(ctx) // of the last segment
		if err != nil {
			return err
		}
		fmt.Printf("%d items, one run, several segments: %t\n", items, segments(ctx, app, run.ID()) > 2)
		return nil
	})
}

// segments counts those of a run.
func segments(ctx context.Context, app *stepwell.App, run string) int {
	n := 1
	for _, err := range app.Events(ctx, run, stepwell.EventFilter{Types: []world.EventType{world.RunContinued}}) {
		if err != nil {
			log.Fatal(err)
		}
		n++
	}
	return n
}
