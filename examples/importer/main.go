// Importer imports files of many customers. Each has two places, however many files he brings and however many
// processes work: acme, who comes first and with most, fills only his own line, and who comes behind him with two files
// is served beside him. An operator could give all more places, or fewer, while it runs: stepwell limits set import 5.
//
//	go run ./examples/importer
//	go run ./examples/importer --db sqlite:imports.db
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/stepwell/stepwell"
	_ "github.com/stepwell/stepwell/world/memory"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// File is what a customer brings.
type File struct {
	Tenant string `json:"tenant"`
	Name   string `json:"name"`
}

// places is how many files of one customer are imported at once.
const places = 2

// Import imports a file. Its limit has a key: each customer has places, and a line, of his own.
var Import = stepwell.Define("import", func(ctx stepwell.Context, f File) (time.Time, error) {
	return stepwell.Call(ctx, "load", load, f)
}, stepwell.Limit{AtOnce: places, By: "tenant"})

// desk counts who is at work.
var desk struct {
	sync.Mutex
	now, most map[string]int // by customer
}

// load stands for the work of an import. It gives when that was done.
func load(ctx context.Context, f File) (time.Time, error) {
	count := func(by int) {
		desk.Lock()
		defer desk.Unlock()
		desk.now[f.Tenant] += by
		desk.most[f.Tenant] = max(desk.most[f.Tenant], desk.now[f.Tenant])
	}
	count(1)
	defer count(-1)
	select {
	case <-time.After(20 * time.Millisecond):
		return time.Now(), nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
}

func main() {
	db := flag.String("db", "memory:", "the database: memory:, sqlite:FILE, or a URL of PostgreSQL")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *db, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, db string, out io.Writer) (err error) {
	desk.now, desk.most = map[string]int{}, map[string]int{}
	w, err := stepwell.Open(ctx, db)
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, w.Close()) }()
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{Import}, MaxRuns: 16})
	if err != nil {
		return err
	}
	return app.RunUntil(ctx, func(ctx context.Context) error { return imports(ctx, app, out) })
}

// imports starts all imports, acme's first, and tells how they went.
func imports(ctx context.Context, app *stepwell.App, out io.Writer) error {
	brought := []struct {
		tenant string
		files  int
	}{{"acme", 20}, {"bolt", 2}, {"cora", 2}}
	started := map[string][]*stepwell.Run[time.Time]{}
	for _, b := range brought {
		for i := range b.files {
			r, err := Import.Start(ctx, app, File{b.tenant, fmt.Sprintf("%d.csv", i+1)})
			if err != nil {
				return err
			}
			started[b.tenant] = append(started[b.tenant], r)
		}
	}
	last := map[string]time.Time{}
	for _, b := range brought {
		for _, r := range started[b.tenant] {
			at, err := r.Result(ctx)
			if err != nil {
				return err
			}
			if at.After(last[b.tenant]) {
				last[b.tenant] = at
			}
		}
		desk.Lock()
		fmt.Fprintf(out, "%s: %d files, never more than %d at once: %v\n", b.tenant, b.files, places, desk.most[b.tenant] <= places)
		desk.Unlock()
	}
	for _, b := range brought[1:] {
		fmt.Fprintf(out, "%s came behind acme, and was done before: %v\n", b.tenant, last[b.tenant].Before(last["acme"]))
	}
	return nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
