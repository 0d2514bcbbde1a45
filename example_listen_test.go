package stepwell_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/topic"
	"github.com/stepwell/stepwell/world/memory"
)

// A wait gets what is published, without a word of which run waits: here also what was published just before.
func ExampleListen() {
	type payment struct {
		Order string `json:"order"`
	}
	paid := stepwell.Event[payment]("order.paid")
	ship := stepwell.Define("ship", func(ctx stepwell.Context, order string) (bool, error) {
		_, ok, err := paid.Wait(ctx, stepwell.Match{"order": order}, stepwell.Since(time.Minute), stepwell.Timeout(time.Hour))
		if err != nil || !ok {
			return false, err
		}
		_, again, err := paid.Wait(ctx, stepwell.Match{"order": order}, stepwell.Listen(), stepwell.Timeout(2*time.Millisecond))
		return !again, err // what was published before it began is not for this one
	})
	app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{ship}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- app.Run(ctx) }()
	if _, err := topic.Of[payment]("order.paid").Publish(ctx, app, payment{"o-7"}); err != nil {
		panic(err)
	}
	run, err := ship.Start(ctx, app, "o-7")
	if err != nil {
		panic(err)
	}
	fmt.Println(run.Result(ctx))
	stop()
	fmt.Println(<-ended)
	// Output:
	// true <nil>
	// <nil>
}
