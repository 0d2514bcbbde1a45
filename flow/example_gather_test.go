package flow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/flow"
	"github.com/stepwell/stepwell/world/memory"
)

type page struct {
	Site string `json:"site"`
	Text string `json:"text"`
}

// A page is indexed once, when nobody has changed it for half a minute.
func ExampleDebounce() {
	index := stepwell.Define("index-page", func(ctx stepwell.Context, p page) (string, error) {
		return "indexed " + p.Text, nil
	}, flow.Debounce(flow.Key(func(p page) string { return p.Site }), 30*time.Second, flow.Longest(10*time.Minute)))
	app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{index}})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	first, err := index.Start(ctx, app, page{"a.example", "one"})
	if err != nil {
		panic(err)
	}
	second, err := index.Start(ctx, app, page{"a.example", "two"})
	if err != nil {
		panic(err)
	}
	fmt.Println(second.ID() == first.ID(), first.Merged(), second.Merged())
	info, err := app.Get(ctx, first.ID())
	fmt.Println(string(info.Input), info.Status, err)
	// Output:
	// true false true
	// {"site":"a.example","text":"two"} pending <nil>
}

// Pages of a site are written three at a time.
func ExampleBatch() {
	write := stepwell.Define("write-pages", func(ctx stepwell.Context, all []page) (int, error) {
		return len(all), nil
	}, flow.Batch(flow.Path("site"), 3, time.Second))
	app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{write}})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	runs := map[string]bool{}
	for _, text := range []string{"one", "two", "three", "four"} {
		run, err := flow.Add(ctx, app, write, page{"a.example", text})
		if err != nil {
			panic(err)
		}
		runs[run.ID()] = true
	}
	fmt.Println(len(runs), "runs")
	// Output:
	// 2 runs
}
