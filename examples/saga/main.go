// Saga takes orders: it reserves, charges and ships, three systems that share no transaction. Where one fails for good, what was
// done before is undone, in reverse: each undo is a step, and is tried until it holds.
//
//	go run ./examples/saga
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"

	"github.com/stepwell/stepwell"
	_ "github.com/stepwell/stepwell/world/memory"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// Purchase is what a customer orders.
type Purchase struct {
	Number  string `json:"number"`
	Article string `json:"article"`
	Cents   int    `json:"cents"`
	To      string `json:"to"`
}

// Order is the workflow. Beside each step stands what undoes it.
var Order = stepwell.Define("order", func(ctx stepwell.Context, p Purchase) (string, error) {
	if err := stepwell.Do(ctx, "reserve", func(context.Context) error { return shop.reserve(p.Article) }); err != nil {
		return "", err
	}
	stepwell.Compensate(ctx, "release", func(context.Context) error { return shop.release(p.Article) })

	payment, err := stepwell.Step(ctx, "charge", func(ctx context.Context) (string, error) {
		return shop.charge(p.Cents, stepwell.Info(ctx).IdempotencyKey)
	})
	if err != nil {
		return "", err
	}
	stepwell.Compensate(ctx, "refund", func(context.Context) error { return shop.refund(payment) })

	return stepwell.Step(ctx, "ship", func(context.Context) (string, error) { return shop.ship(p) })
})

// systems are the three.
type systems struct {
	mu    sync.Mutex
	stock map[string]int
	cash  int
}

var shop = &systems{stock: map[string]int{"lamp": 5}}

func (s *systems) reserve(article string) error { return s.book(article, -1, 0, "reserve "+article) }

func (s *systems) release(article string) error { return s.book(article, 1, 0, "release "+article) }

func (s *systems) charge(cents int, _ string) (string, error) {
	return fmt.Sprint(cents), s.book("", 0, cents, fmt.Sprintf("charge %d", cents))
}

func (s *systems) refund(payment string) error {
	var cents int
	if _, err := fmt.Sscan(payment, &cents); err != nil {
		return err
	}
	return s.book("", 0, -cents, fmt.Sprintf("refund %d", cents))
}

func (s *systems) ship(p Purchase) (string, error) {
	if p.To == "Moon" {
		return "", stepwell.Fatal(errors.New("no truck goes there")) // another attempt would not help
	}
	return "parcel-" + p.Number, s.book("", 0, 0, "ship to "+p.To)
}

func (s *systems) book(article string, n, cents int, what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stock[article] += n
	s.cash += cents
	fmt.Println("  " + what)
	return nil
}

var db = flag.String("db", "memory:", "where runs are kept: memory:, sqlite:PATH or postgres://...")

func main() {
	flag.Parse()
	stepwell.Main(stepwell.Config{Database: *db, Definitions: []stepwell.Definition{Order}}, func(ctx context.Context, app *stepwell.App) error {
		for _, p := range []Purchase{{"1", "lamp", 4900, "Oslo"}, {"2", "lamp", 4900, "Moon"}} {
			fmt.Printf("order %s\n", p.Number)
			run, err := Order.Start(ctx, app, p, stepwell.RunID("order-"+p.Number))
			if err != nil {
				return err
			}
			if parcel, err := run.Result(ctx); err != nil {
				fmt.Println(err)
			} else {
				fmt.Println(parcel)
			}
		}
		fmt.Printf("lamps: %d, cash: %d\n", shop.stock["lamp"], shop.cash)
		return nil
	})
}
