// Package clock has times, randomness, the environment and I/O.
package clock

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"log/slog"
	mrand "math/rand"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stepwell/stepwell"
)

var now = time.Now

var Order = stepwell.Define("order", func(ctx stepwell.Context, id string) (string, error) {
	if time.Now().Hour() > 22 { // want `time.Now in workflow code: replay sees another time; use ctx.Now\(\)`
		time.Sleep(time.Hour) // want `time.Sleep in workflow code`
	}
	<-time.After(time.Second)                                                // want `time.After in workflow code` `a receive from a channel in workflow code`
	_ = now()                                                                // want `time.Now, which now is set to, in workflow code`
	if rand.IntN(6) == 5 || mrand.Intn(6) == 5 || rand.N(time.Second) == 0 { // want `rand.IntN in workflow code` `rand.Intn in workflow code` `rand.N in workflow code`
		return "", nil
	}
	if os.Getenv("FREE") != "" || len(os.Args) > 1 { // want `os.Getenv in workflow code` `os.Args in workflow code`
		return "", nil
	}
	slog.Info("said")                           // want `slog.Info in workflow code`
	log.Printf("said %s", id)                   // want `log.Printf in workflow code`
	fmt.Println("said")                         // want `fmt.Println in workflow code`
	if _, err := os.ReadFile("x"); err != nil { // want `os.ReadFile in workflow code`
		return "", err
	}
	if _, err := http.Get("http://example.com"); err != nil { // want `http.Get in workflow code: replay would send it again`
		return "", err
	}
	b := make([]byte, 8)
	if _, err := rand2(b); err != nil { // want `clock.rand2 comes to rand.Read \(clock/clock.go:\d+\), in workflow code`
		return "", err
	}
	_ = context.Background() // want `context.Background in workflow code`
	if id == "" {
		os.Exit(1) // want `os.Exit in workflow code`
	}
	if id == "?" {
		panic("no ID") // want `a panic in workflow code blocks the run`
	}
	for range 10_000_000_000 { // want `a long computation in workflow code`
		id += "."
	}
	return stepwell.Step(ctx, "charge", charge)
})

func rand2(b []byte) (int, error) { return crand.Read(b) }

// charge is the body of a step: it may do what it likes.
func charge(ctx context.Context) (string, error) {
	_, _ = os.ReadFile("x")
	fmt.Println(rand.IntN(6), os.Getenv("HOME"))
	return time.Now().String(), nil
}

// helpers are of nobody until workflow code calls them.
type shop struct {
	db    *sql.DB
	clock func() time.Time
}

func newShop(db *sql.DB) *shop { return &shop{db: db, clock: time.Now} }

func (s *shop) count() (n int, err error) { return n, s.db.QueryRow("select 1").Scan(&n) }

func (s *shop) again() (int, error) { return s.count() }

func (s *shop) sell(ctx stepwell.Context, id string) (int, error) {
	if s.clock().IsZero() { // want `time.Now, which clock is set to, in workflow code`
		return 0, nil
	}
	if n, err := s.again(); n > 0 || err != nil { // want `shop.again comes to DB.QueryRow \(clock/clock.go:\d+\), in workflow code: replay would ask again`
		return n, err
	}
	pick := func() int { return rand.IntN(2) } // want `rand.IntN in workflow code`
	later := func(ctx context.Context) (int, error) { return s.count() }
	ids := []string{"b", "a"}
	slices.SortFunc(ids, func(a, b string) int {
		if time.Now().IsZero() { // want `time.Now in workflow code`
			return 0
		}
		return cmp.Compare(a, b)
	})
	if _, err := stepwell.Await(ctx, func() bool { return time.Now().Hour() > 3 }); err != nil { // want `time.Now in workflow code`
		return 0, err
	}
	n, err := stepwell.Step(ctx, "later", later)
	return n + pick(), err
}

type store interface{ stamp() string }

type real struct{}

func (real) stamp() string { return time.Now().String() }

type fixed struct{}

func (fixed) stamp() string { return "0" }

func behind(ctx stepwell.Context, s store) string {
	return s.stamp() // want `store.stamp comes to time.Now \(clock/clock.go:\d+\), in workflow code`
}

// What is near and right.
func right(ctx stepwell.Context, s *shop) (time.Time, error) {
	ctx.Logger().Info("said")
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(3 * time.Hour) // near: time
	_ = filepath.Join("a", string(os.PathSeparator))                      // near: files environment
	_ = http.StatusText(http.StatusOK)                                    // near: network
	for range 1000 {                                                      // near: spins
		day = day.Add(time.Second)
	}
	if ctx.Now().After(day) && ctx.Rand().IntN(6) == 5 {
		return day, stepwell.Sleep(ctx, "a-while", time.Hour)
	}
	seeded := rand.New(rand.NewPCG(1, 2)) // near: random
	_ = seeded.IntN(6)
	switch ctx.NewID() {
	case "":
	default:
		panic("unreachable") // near: panics
	}
	_, err := stepwell.Step(ctx, "count", func(ctx context.Context) (int, error) {
		fmt.Println(time.Since(day))
		_, cancel := context.WithTimeout(ctx, time.Second) // near: background
		defer cancel()
		return s.again()
	})
	if errors.Is(err, sql.ErrNoRows) { // near: database
		return day, nil
	}
	stepwell.AddUndo(ctx, "undo", func(ctx context.Context, _ any) error {
		_, err := charge(ctx)
		return err
	}, nil)
	return day, err
}

func main() {
	s := newShop(nil)
	fmt.Println(time.Now(), s.clock(), os.Getenv("HOME"))
	_, _ = s.again()
}
