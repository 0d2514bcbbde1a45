package queue_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

type Mail struct {
	To   string `json:"to"`
	Text string `json:"text"`
}

var Mails = queue.Define[Mail]("mails")

// A program that handles the messages of a queue, and sends one.
func ExampleQueue_Handle() {
	mails := queue.Define[Mail]("mails", queue.MaxReceives(10), queue.Visibility(time.Minute),
		queue.Limits(stepwell.Limit{AtOnce: 3, By: "to"}))
	sent := make(chan string)
	app, err := stepwell.New(memory.New(), stepwell.Config{
		Logger: slog.New(slog.DiscardHandler),
		Definitions: []stepwell.Definition{
			mails.Handle(func(_ context.Context, m *queue.Message[Mail]) error {
				sent <- m.Payload.Text + " to " + m.Payload.To + ", " + m.Headers["lang"]
				return nil
			}, queue.Parallel(4), queue.Retry(stepwell.Retry{Base: time.Second, Cap: time.Hour})),
		},
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- app.Run(ctx) }()
	if _, err := mails.Send(ctx, app, Mail{To: "ann@example.com", Text: "hello"},
		queue.Group("ann@example.com"), queue.DedupeID("welcome ann", time.Hour), queue.Headers(map[string]string{"lang": "en"})); err != nil {
		panic(err)
	}
	fmt.Println(mails.Name()+":", <-sent)
	stop()
	fmt.Println(<-ended)
	// Output:
	// mails: hello to ann@example.com, en
	// <nil>
}

// Receive is for programs that take messages when they want to.
func ExampleQueue_Receive() {
	ctx := context.Background()
	app, err := stepwell.New(memory.New(), stepwell.Config{})
	if err != nil {
		panic(err)
	}
	if _, err := Mails.SendAll(ctx, app, []Mail{{To: "ann"}, {To: "bob"}, {To: "nobody"}}, queue.Priority(3)); err != nil {
		panic(err)
	}
	if _, err := Mails.Send(ctx, app, Mail{To: "eve"}, queue.Delay(time.Hour)); err != nil {
		panic(err)
	}
	for range 2 {
		got, err := Mails.Receive(ctx, app, queue.Most(10), queue.Wait(time.Second), queue.For(5*time.Minute))
		if err != nil {
			panic(err)
		}
		for _, m := range got {
			switch {
			case m.Payload.To == "nobody":
				fmt.Println("a dead letter:", m.Payload.To, m.Bury(ctx, "no such address"))
			case m.Payload.To == "bob" && m.Receives == 1:
				fmt.Println("later:", m.Payload.To, m.Nack(ctx, 0, "his box is full"))
			default:
				fmt.Println("it takes longer:", m.Extend(ctx, time.Hour))
				fmt.Println("done:", m.Payload.To, m.Ack(ctx))
			}
		}
	}
	none, err := Mails.Receive(ctx, app, queue.Match(stepwell.Match{"to": "eve"}))
	fmt.Println("not before an hour:", len(none), err)
	// Output:
	// it takes longer: <nil>
	// done: ann <nil>
	// later: bob <nil>
	// a dead letter: nobody <nil>
	// it takes longer: <nil>
	// done: bob <nil>
	// not before an hour: 0 <nil>
}

// A server waits for messages of a store that it has opened.
func ExampleAwait() {
	w := memory.New()
	if err := Mails.Declare(context.Background(), w.Messages()); err != nil {
		panic(err)
	}
	got, err := queue.Await(context.Background(), w.Messages(), w, world.ReceiveQuery{Queue: "mails", Limit: 1}, 10*time.Millisecond)
	fmt.Println(len(got.Messages), err)
	// Output: 0 <nil>
}

// What a workflow sends is part of its own commit: it is sent once.
func ExampleQueue_SendFrom() {
	mails := queue.Define[Mail]("mails")
	welcome := stepwell.Define("welcome", func(ctx stepwell.Context, to string) (string, error) {
		return "welcomed", mails.SendFrom(ctx, Mail{To: to, Text: "hello"}, queue.Group(to))
	})
	app, err := stepwell.New(memory.New(), stepwell.Config{
		Definitions: []stepwell.Definition{welcome}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- app.Run(ctx) }()
	run, err := welcome.Start(ctx, app, "ann@example.com")
	if err != nil {
		panic(err)
	}
	fmt.Println(run.Result(ctx))
	got, err := mails.Receive(ctx, app)
	if err != nil {
		panic(err)
	}
	fmt.Println(got[0].Payload.Text, "to", got[0].Payload.To)
	stop()
	fmt.Println(<-ended)
	// Output:
	// welcomed <nil>
	// hello to ann@example.com
	// <nil>
}

// Each message starts a run, and is acknowledged in the same commit.
func ExampleStartsWorkflow() {
	mails := queue.Define[Mail]("mails")
	done := make(chan string)
	answer := stepwell.Define("answer", func(ctx stepwell.Context, m Mail) (string, error) {
		return "", stepwell.Do(ctx, "answer", func(context.Context) error { done <- "answered " + m.To; return nil })
	})
	app, err := stepwell.New(memory.New(), stepwell.Config{
		Definitions: []stepwell.Definition{
			answer,
			queue.StartsWorkflow(mails, answer, func(m *queue.Message[Mail]) string { return "mail-" + m.Payload.To }),
		},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- app.Run(ctx) }()
	if _, err := mails.Send(ctx, app, Mail{To: "ann"}); err != nil {
		panic(err)
	}
	fmt.Println(<-done)
	stop()
	fmt.Println(<-ended)
	// Output:
	// answered ann
	// <nil>
}
