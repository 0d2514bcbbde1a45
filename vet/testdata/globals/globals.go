// Package globals has variables that others change.
package globals

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell"
)

var (
	regulars = map[string]bool{}
	limit    = 3
	names    = []string{"a", "b"}
	config   struct{ Free bool }
	started  int
	charge   *stepwell.RegisteredStep[int, int]
	count    atomic.Int64
)

// What is read as the program starts.
var (
	settings map[string]string
	lazy     map[string]string
	once     sync.Once
)

func main() { load() }

func load() { parse() }

func parse() { settings = map[string]string{"a": "b"} }

func cached() map[string]string {
	once.Do(func() { lazy = map[string]string{} })
	return lazy
}

func init() { names = append(names, "c") }

func setUp() {
	charge = stepwell.DefineStep("charge", func(ctx context.Context, n int) (int, error) { return n, nil })
}

func remember(id string) { regulars[id] = true }

func reload() { config.Free = !config.Free }

func wrong(ctx stepwell.Context, id string) error {
	if !regulars[id] { // want `workflow code reads regulars, which is changed elsewhere \(globals/globals.go:\d+\)`
		return stepwell.Sleep(ctx, "cool-off", time.Hour)
	}
	if config.Free { // want `workflow code reads config`
		return nil
	}
	if count.Add(1) == 1 { // want `workflow code reads count`
		return nil
	}
	return nil
}

func right(ctx stepwell.Context, id string) (int, error) {
	started++                                             // counted, and read by nobody here
	if len(names) > limit || settings["a"] != lazy["a"] { // near: globals
		return 0, nil
	}
	free, err := stepwell.Step(ctx, "settings", func(ctx context.Context) (bool, error) { return config.Free || regulars[id], nil })
	if err != nil || free {
		return 0, err
	}
	return charge.Run(ctx, 3)
}

func turn(ctx stepwell.Context, n *int) (int, error) { return *n, nil }

func captured() []stepwell.Definition {
	flag, calls, size := false, 0, 3
	size++
	one := stepwell.Define("one", func(ctx stepwell.Context, n int) (int, error) {
		calls++
		if flag { // want `workflow code reads flag, which is changed elsewhere`
			return 0, nil
		}
		return n + size, nil
	})
	flag = true
	turns := 0
	stepwell.Define("two", func(ctx stepwell.Context, n int) (int, error) {
		turns++
		return turn(ctx, &turns) // want `workflow code reads turns, which is changed elsewhere`
	})
	return []stepwell.Definition{one, charge}
}
