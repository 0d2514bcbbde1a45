package topic_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/topic"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/postgres"
)

type Payment struct {
	Order string `json:"order"`
	Land  string `json:"land"`
}

var Paid = topic.Of[Payment]("order.paid")

// One publication starts a run, and is put into a queue.
func ExampleTopic_Publish() {
	paid := topic.Of[Payment]("order.paid")
	done := make(chan string)
	ship := stepwell.Define("ship", func(ctx stepwell.Context, p Payment) (string, error) {
		return "shipped " + p.Order, nil
	})
	books := queue.Define[Payment]("books")
	app, err := stepwell.New(memory.New(), stepwell.Config{
		Logger: slog.New(slog.DiscardHandler),
		Definitions: []stepwell.Definition{
			ship,
			books.Handle(func(_ context.Context, m *queue.Message[Payment]) error {
				done <- "booked " + m.Payload.Order + ", " + m.Headers["stepwell-topic"] + ", " + m.Headers["clerk"]
				return nil
			}),
			topic.ToQueue("book", "order.*", books, topic.Where(stepwell.Match{"land": "de"}), topic.Ordered(), topic.Revision(2)),
			topic.ToWorkflow("ship", "order.paid", ship, topic.KeyFrom("ship-{payload.order}"), topic.AttributeFrom("order", "{payload.order}")),
		},
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- app.Run(ctx) }()
	for all, _ := topic.Subscriptions(ctx, app); len(all) < 2; all, _ = topic.Subscriptions(ctx, app) {
		<-time.After(time.Millisecond) // they stand soon after the App runs
	}
	_, err = paid.Publish(ctx, app, Payment{"o-7", "de"}, topic.DeliveryID("pay-7"), topic.Source("till-1"), topic.Headers(map[string]string{"clerk": "ann"}))
	if err != nil {
		panic(err)
	}
	fmt.Println(<-done)
	for {
		page, err := app.Page(ctx, stepwell.ListFilter{Key: "ship-o-7"}, "", 1)
		if err != nil {
			panic(err)
		}
		if len(page.Runs) == 1 {
			fmt.Println(ship.Get(app, page.Runs[0].ID).Result(ctx))
			break
		}
		<-time.After(time.Millisecond)
	}
	stop()
	fmt.Println(<-ended)
	// Output:
	// booked o-7, order.paid, ann
	// shipped o-7 <nil>
	// <nil>
}

// A workflow publishes once, whatever crashes; who listens for it goes on.
func ExampleTopic_PublishFrom() {
	paid := topic.Of[Payment]("order.paid")
	pay := stepwell.Define("pay", func(ctx stepwell.Context, p Payment) (string, error) {
		return "paid", paid.PublishFrom(ctx, p, topic.Source("till-1"))
	})
	ship := stepwell.Define("ship", func(ctx stepwell.Context, order string) (string, error) {
		event := stepwell.Event[Payment]("order.paid")
		p, _, err := event.Wait(ctx, stepwell.Match{"order": order}, stepwell.Since(time.Minute))
		return "shipped to " + p.Land, err
	})
	app, err := stepwell.New(memory.New(), stepwell.Config{Logger: slog.New(slog.DiscardHandler), Definitions: []stepwell.Definition{pay, ship}})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- app.Run(ctx) }()
	waits, err := ship.Start(ctx, app, "o-7")
	if err != nil {
		panic(err)
	}
	pays, err := pay.Start(ctx, app, Payment{"o-7", "de"})
	if err != nil {
		panic(err)
	}
	fmt.Println(pays.Result(ctx))
	fmt.Println(waits.Result(ctx))
	stop()
	fmt.Println(<-ended)
	// Output:
	// paid <nil>
	// shipped to de <nil>
	// <nil>
}

// Programs make and end subscriptions while they run.
func ExampleSubscribe() {
	ctx := context.Background()
	app, err := stepwell.New(memory.New(), stepwell.Config{})
	if err != nil {
		panic(err)
	}
	s := topic.ToEndpoint("billing", "order.#", "https://billing.example.com/events", topic.GiveUpAfter(24*time.Hour))
	secret, err := topic.Subscribe(ctx, app, s)
	fmt.Println("give this to who checks signatures:", secret[:6]+"…", err)
	again, err := topic.Subscribe(ctx, app, s)
	fmt.Printf("it is told once: %q %v\n", again, err)
	all, err := topic.Subscriptions(ctx, app)
	fmt.Println(all[0].Name, all[0].Pattern, all[0].Endpoint.URL, err)
	if _, err := Paid.Publish(ctx, app, Payment{Order: "o-8"}, topic.Delay(time.Hour)); err != nil {
		panic(err)
	}
	fmt.Println("not before an hour; who is subscribed then gets it:", Paid.Name(), topic.Unsubscribe(ctx, app, s.Name()))
	// Output:
	// give this to who checks signatures: whsec_… <nil>
	// it is told once: "" <nil>
	// billing order.# https://billing.example.com/events <nil>
	// not before an hour; who is subscribed then gets it: order.paid <nil>
}

// What is published has a time and a source; an endpoint of the own network has a secret that the program knows.
func ExampleToEndpoint() {
	app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{
		topic.ToEndpoint("ledger", "#", "http://10.0.0.7/events", topic.AllowPrivate(), topic.Secret("whsec_"+"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqr")),
	}})
	if err != nil {
		panic(err)
	}
	id, err := Paid.Publish(context.Background(), app, Payment{Order: "o-9"}, topic.At(time.Now().Add(time.Hour)))
	fmt.Println(id[:5], err)
	// Output: publ_ <nil>
}

// What is written and what is published are one commit, on PostgreSQL.
func ExampleTopic_Publish_in() {
	_ = func(ctx context.Context, pool *pgxpool.Pool, app *stepwell.App) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "UPDATE orders SET paid = true WHERE id = $1", "o-7"); err != nil {
				return err
			}
			_, err := Paid.Publish(ctx, app, Payment{Order: "o-7"}, stepwell.In(postgres.Tx(tx)))
			return err
		})
	}
}
