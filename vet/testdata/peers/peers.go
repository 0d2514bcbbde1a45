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

func Captured(ctx stepwell.Context, lines []string) error {
	var line string
	for _, line = range lines {
		stepwell.AddUndo(ctx, "undo", func(ctx context.Context, _ any) error { _, err := charge(ctx, line); return err }, nil)
	}
	return stepwell.Sleep(ctx, "nap", 1)
}
func HalfIgnored(ctx stepwell.Context) (int, error) {
	n, _ := stepwell.Step(ctx, "charge", func(ctx context.Context) (string, error) { return charge(ctx, "x") })
	return len(n), nil
}
func Asserted(ctx stepwell.Context) (int, error) {
	m, err := stepwell.Step(ctx, "m", func(ctx context.Context) (map[string]any, error) { return map[string]any{"n": 3}, nil })
	if err != nil {
		return 0, err
	}
	return m["n"].(int), nil
}

type order struct{ lines []string }

func (o *order) load(ctx context.Context) error { o.lines = append(o.lines, "x"); return nil }

func Filled(ctx stepwell.Context) (int, error) {
	var o order
	err := stepwell.Do(ctx, "load", o.load)
	return len(o.lines), err
}

// Through helpers.
type bag struct{ ctx stepwell.Context }

func (b *bag) ship() error {
	return stepwell.Do(b.ctx, "ship", func(ctx context.Context) error { _, err := charge(ctx, "x"); return err })
}

var lastBag *bag

func regular(id string) bool { return regulars[id] }

func entries(m map[string]int, each func(string)) {
	for k := range m {
		each(k)
	}
}

func keysOf(m map[string]int) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}

func sortedOf(m map[string]int) []string {
	all := keysOf(m)
	slices.Sort(all)
	return all
}

func NestedByHelper(ctx stepwell.Context) error {
	b := &bag{ctx}
	return stepwell.Do(ctx, "body", func(ctx context.Context) error { return b.ship() })
}
func KeptInStruct(ctx stepwell.Context) error { lastBag = &bag{ctx}; return nil }
func DeferredByHelper(ctx stepwell.Context) error {
	b := &bag{ctx}
	defer b.ship()
	return nil
}
func CancelledByHelper(ctx stepwell.Context) error {
	b := &bag{ctx}
	for {
		if err := b.ship(); err == nil {
			return nil
		}
	}
}
func EndlessCalls(ctx stepwell.Context) error {
	if err := (&bag{ctx}).ship(); err != nil {
		return err
	}
	return EndlessCalls(ctx)
}
func GlobalByHelper(ctx stepwell.Context) error {
	if regular("x") {
		return stepwell.Sleep(ctx, "nap", 1)
	}
	return nil
}
func OrderByHelper(ctx stepwell.Context, m map[string]int) error {
	b := &bag{ctx}
	entries(m, func(string) { _ = b.ship() })
	return nil
}
func WritesByClosure(ctx stepwell.Context) (int, error) {
	n := 0
	add := func() { n++ }
	err := stepwell.Do(ctx, "body", func(context.Context) error { add(); return nil })
	return n, err
}

// What is right.
func RightCaptured(ctx stepwell.Context, lines []string) error {
	for _, line := range lines {
		stepwell.AddUndo(ctx, "undo", func(ctx context.Context, _ any) error { _, err := charge(ctx, line); return err }, nil)
	}
	return stepwell.Sleep(ctx, "nap", 1)
}
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
func RightSortedByHelper(ctx stepwell.Context, m map[string]int) error {
	for range sortedOf(m) {
		if err := (&bag{ctx}).ship(); err != nil {
			return err
		}
	}
	return nil
}
func RightOrderByHelper(ctx stepwell.Context, m map[string]int) (n int, err error) {
	entries(m, func(string) { n++ })
	return n, nil
}
