package queue_test

import (
	"context"
	"fmt"
	"log"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/world/postgres"
)

// A handler whose writes and whose acknowledgement are one commit, and a message that is sent together with the row
// that it is about.
func ExampleTransactional() {
	ctx := context.Background()
	type Order struct {
		ID    string
		Cents int
	}
	orders := queue.Define[Order]("orders")
	const url = "postgres://localhost/shop"
	w, err := postgres.Open(ctx, url)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{
		orders.Handle(func(ctx context.Context, m *queue.Message[Order]) error {
			_, err := postgres.TxFrom(ctx).Exec(ctx, "INSERT INTO ledger (number, cents) VALUES ($1, $2)", m.Payload.ID, m.Payload.Cents)
			return err
		}, queue.Transactional()),
	}})
	if err != nil {
		log.Fatal(err)
	}
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		log.Fatal(err)
	}
	tx, err := pool.Begin(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer tx.Rollback(ctx)
	if _, err := tx.Exec(ctx, "INSERT INTO orders (number) VALUES ('o-17')"); err != nil {
		log.Fatal(err)
	}
	id, err := orders.Send(ctx, app, Order{"o-17", 4200}, stepwell.In(postgres.Tx(tx)))
	if err != nil {
		log.Fatal(err)
	}
	if err := tx.Commit(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("sent", id)
	if err := app.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
