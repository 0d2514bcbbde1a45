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

// Order is the workflow. Beside each step stands what undoes it: release may run though nobody knows whether
// reserve did anything, and refund
// needs what charge returned.
var Order = stepwell.Define("order", func(ctx stepwell.Context, p Purchase) (string, error) {
	if err := stepwell.Exec(ctx, "reserve", shop.reserve, p, stepwell.Undo("release", shop.release, p)); err != nil {
		return "", err
	}
	payment, err := stepwell.Call(ctx, "charge", shop.charge, p)
	if err != nil {
		return "", err
	}
	stepwell.AddUndo(ctx, "refund", shop.refund, payment)
	return stepwell.Call(ctx, "ship", shop.ship, p)
})

// systems are the three.
type systems struct {
	mu       sync.Mutex
	stock    map[string]int
	reserved map[string]bool // by order: what is reserved twice is reserved once, and what is not is not released
	cash     int
	keys     map[string]bool // of charges
}

var shop = &systems{stock: map[string]int{"lamp": 5}, reserved: map[string]bool{}, keys: map[string]bool{}}

func (s *systems) reserve(_ context.Context, p Purchase) error {
	return s.hold(p, true, -1, "reserve ")
}

func (s *systems) release(_ context.Context, p Purchase) error {
	return s.hold(p, false, 1, "release ")
}

func (s *systems) hold(p Purchase, hold bool, n int, what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reserved[p.Number] != hold {
		s.reserved[p.Number] = hold
		s.stock[p.Article] += n
		fmt.Println("  " + what + p.Article)
	}
	return nil
}

// charge takes the money, once for each key. The key is made of the order's number, which a retry of the run has too.
func (s *systems) charge(_ context.Context, p Purchase) (string, error) {
	key := "charge-" + p.Number
	if s.charged(key) {
		return fmt.Sprint(p.Cents), nil
	}
	return fmt.Sprint(p.Cents), s.book(p.Cents, fmt.Sprintf("charge %d", p.Cents))
}

// charged reports whether the key was used, and uses it.
func (s *systems) charged(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := s.keys[key]
	s.keys[key] = true
	return used
}

func (s *systems) refund(_ context.Context, payment string) error {
	var cents int
	if _, err := fmt.Sscan(payment, &cents); err != nil {
		return err
	}
	return s.book(-cents, fmt.Sprintf("refund %d", cents))
}

func (s *systems) ship(_ context.Context, p Purchase) (string, error) {
	if p.To == "Moon" {
		return "", stepwell.Fatal(errors.New("no truck goes there")) // another attempt would not help
	}
	return "parcel-" + p.Number, s.book(0, "ship to "+p.To)
}

func (s *systems) book(cents int, what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
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
