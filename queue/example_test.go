package queue_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/world/memory"
)

type Mail struct {
	To   string `json:"to"`
	Text string `json:"text"`
}

var Mails = queue.Define[Mail]("mails", queue.MaxReceives(10))

// A program that handles the messages of a queue, and sends one.
func Example() {
	sent := make(chan string)
	app, err := stepwell.New(memory.New(), stepwell.Config{
		Logger: slog.New(slog.DiscardHandler),
		Definitions: []stepwell.Definition{
			Mails.Handle(func(_ context.Context, m *queue.Message[Mail]) error {
				sent <- m.Payload.Text + " to " + m.Payload.To
				return nil
			}),
		},
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- app.Run(ctx) }()
	if _, err := Mails.Send(ctx, app, Mail{To: "ann@example.com", Text: "hello"}, queue.Group("ann@example.com")); err != nil {
		panic(err)
	}
	fmt.Println(<-sent)
	stop()
	fmt.Println(<-ended)
	// Output:
	// hello to ann@example.com
	// <nil>
}

// Receive, Ack and Nack are for programs that take messages when they want to.
func ExampleQueue_Receive() {
	ctx := context.Background()
	app, err := stepwell.New(memory.New(), stepwell.Config{})
	if err != nil {
		panic(err)
	}
	if _, err := Mails.SendAll(ctx, app, []Mail{{To: "ann"}, {To: "bob"}}); err != nil {
		panic(err)
	}
	for range 2 {
		got, err := Mails.Receive(ctx, app, queue.Most(10))
		if err != nil {
			panic(err)
		}
		for _, m := range got {
			if m.Payload.To == "bob" && m.Receives == 1 {
				fmt.Println("later:", m.Payload.To, m.Nack(ctx, 0, "his box is full"))
				continue
			}
			fmt.Println("done:", m.Payload.To, m.Ack(ctx))
		}
	}
	// Output:
	// done: ann <nil>
	// later: bob <nil>
	// done: bob <nil>
}
