// Package peers has the cases that docs/analyzer.md compares with workflowcheck; temporal.txt has them as Temporal has them.
package peers

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"maps"
	mrand "math/rand"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/stepwell/stepwell"

	"example.com/vet/far/stamp"
)

var (
	now      = time.Now
	regulars = map[string]bool{}
	db       *sql.DB
	mu       sync.Mutex
)

func remember(id string) { regulars[id] = true }

func charge(ctx context.Context, key string) (string, error) { return key, nil }

type clock interface{ read() string }

type system struct{}

func (system) read() string { return time.Now().String() }

func Clock(ctx stepwell.Context) error      { _ = time.Now(); return nil }
func Sleeps(ctx stepwell.Context) error     { time.Sleep(1); return nil }
func Rand(ctx stepwell.Context) error       { _ = mrand.Intn(6); return nil }
func CryptoRand(ctx stepwell.Context) error { _ = rand.Text(); return nil }
func NewUUID(ctx stepwell.Context) error    { _ = uuid.NewString(); return nil }
func Env(ctx stepwell.Context) error        { _ = os.Getenv("X"); return nil }
func File(ctx stepwell.Context) error       { _, err := os.ReadFile("x"); return err }
func Network(ctx stepwell.Context) error    { _, err := http.Get("x"); return err }
func Database(ctx stepwell.Context) error   { _, err := db.Exec("x"); return err }
func Goroutine(ctx stepwell.Context) error  { go func() {}(); return nil }
func Channel(ctx stepwell.Context) error    { c := make(chan int, 1); c <- 1; return nil }
func Selects(ctx stepwell.Context) error {
	select {
	default:
	}
	return nil
}
func Lock(ctx stepwell.Context) error               { mu.Lock(); return nil }
func Background(ctx stepwell.Context) error         { _ = context.Background(); return nil }
func Logs(ctx stepwell.Context) error               { log.Print("x"); return nil }
func Prints(ctx stepwell.Context) error             { fmt.Println("x"); return nil }
func Far(ctx stepwell.Context) error                { _ = stamp.Stamp(); return nil }
func Interface(ctx stepwell.Context, c clock) error { _ = c.read(); return nil }
func Value(ctx stepwell.Context) error              { _ = now(); return nil }
func Global(ctx stepwell.Context) error {
	if regulars["x"] {
		return stepwell.Sleep(ctx, "nap", 1)
	}
	return nil
}
func MapRange(ctx stepwell.Context, m map[string]int) error {
	for k := range m {
		if err := stepwell.Do(ctx, "charge", func(ctx context.Context) error { _, err := charge(ctx, k); return err }); err != nil {
			return err
		}
	}
	return nil
}
func MapSlice(ctx stepwell.Context, m map[string]int) error {
	keys := slices.Collect(maps.Keys(m))
	return stepwell.Do(ctx, "charge", func(ctx context.Context) error { _, err := charge(ctx, keys[0]); return err })
}
func Ignored(ctx stepwell.Context) error { stepwell.Sleep(ctx, "nap", 1); return nil }
func Forgotten(ctx stepwell.Context) error {
	stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
		return 0, stepwell.Do(ctx, "charge", func(ctx context.Context) error { _, err := charge(ctx, "x"); return err })
	})
	return nil
}
func Panics(ctx stepwell.Context) error { panic("x") }
func Swallows(ctx stepwell.Context) error {
	defer func() { recover() }()
	return stepwell.Sleep(ctx, "nap", 1)
}
func Deferred(ctx stepwell.Context) error {
	defer stepwell.Sleep(ctx, "nap", 1)
	return nil
}
func Endless(ctx stepwell.Context) error {
	for {
		if err := stepwell.Sleep(ctx, "nap", 1); err != nil {
			return err
		}
	}
}
func Cancelled(ctx stepwell.Context) error {
	for {
		if err := stepwell.Sleep(ctx, "nap", 1); err != nil {
			continue
		}
		return nil
	}
}
func BodyWrites(ctx stepwell.Context) (int, error) {
	n := 0
	err := stepwell.Do(ctx, "body", func(context.Context) error { n++; return nil })
	return n, err
}
func Keys(ctx stepwell.Context) error {
	return stepwell.Do(ctx, "body", func(ctx context.Context) error {
		_, err := charge(ctx, time.Now().String())
		return err
	})
}

type hidden struct{ cents int }

func Hidden(ctx stepwell.Context, in hidden) (int, error) { return 0, nil }

var Flow = stepwell.Define("hidden", Hidden)

var errSold = errors.New("sold")

func Sentinel(ctx stepwell.Context) error {
	err := stepwell.Do(ctx, "charge", func(ctx context.Context) error { _, err := charge(ctx, "x"); return err })
	if errors.Is(err, errSold) {
		return nil
	}
	return err
}
func Spins(ctx stepwell.Context) error {
	for range 10_000_000_000 {
	}
	return nil
}

// What is right.
func RightSum(ctx stepwell.Context, m map[string]int) (int, error) {
	sum := 0
	for _, n := range m {
		sum += n
	}
	return sum, nil
}
func RightSorted(ctx stepwell.Context, m map[string]int) error {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return stepwell.Do(ctx, "charge", func(ctx context.Context) error { _, err := charge(ctx, keys[0]); return err })
}
func RightBody(ctx stepwell.Context) error {
	return stepwell.Do(ctx, "body", func(ctx context.Context) error { fmt.Println(time.Now()); return nil })
}
func RightFormat(ctx stepwell.Context) (string, error) {
	return fmt.Sprintf("%s %d", time.Duration(3), ctx.Now().Unix()), nil
}
func RightError(ctx stepwell.Context) error {
	if err := stepwell.Sleep(ctx, "nap", time.Hour); err != nil {
		return fmt.Errorf("nap: %w", err)
	}
	return nil
}
