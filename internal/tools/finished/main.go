// Finished fills a database with runs that are over, and times pages of lists that nothing fits: each looks at a bounded number of runs, however many there are.
//
//	go run ./internal/tools/finished -db sqlite:/tmp/runs.db -runs 200000
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

func main() {
	db := flag.String("db", "", "the database, which is filled")
	runs := flag.Int("runs", 200_000, "how many runs")
	flag.Parse()
	if err := work(context.Background(), *db, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "finished:", err)
		os.Exit(1)
	}
}

func work(ctx context.Context, db string, runs int) error {
	w, err := world.Open(ctx, db, world.OpenOptions{})
	if err != nil {
		return err
	}
	began := time.Now()
	if err := fill(ctx, w, runs); err != nil {
		return errors.Join(err, w.Close())
	}
	fmt.Printf("%d runs in %s\n", runs, time.Since(began).Round(time.Second))
	none := []json.RawMessage{json.RawMessage(`{"n":-1}`)}
	for _, list := range []struct {
		name string
		q    world.RunQuery
	}{
		{"input", world.RunQuery{Input: none}},
		{"input of a workflow", world.RunQuery{Input: none, Workflow: "done"}},
		{"status", world.RunQuery{Status: []world.Status{world.Failed}}},
		{"no filter", world.RunQuery{}},
	} {
		if err := measure(ctx, w, list.name, list.q); err != nil {
			return errors.Join(err, w.Close())
		}
	}
	return w.Close()
}

// measure times the pages of a list, to its end or to the 50th, as a command does.
func measure(ctx context.Context, w world.World, name string, q world.RunQuery) error {
	var took []time.Duration
	for len(took) < 50 {
		began := time.Now()
		page, err := w.Runs(ctx, q)
		if err != nil {
			return err
		}
		took = append(took, time.Since(began))
		if q.Cursor = page.Cursor; q.Cursor == "" {
			break
		}
	}
	first, sum := took[0], time.Duration(0)
	for _, d := range took {
		sum += d
	}
	slices.Sort(took)
	fmt.Printf("%-20s first page %s, median %s, slowest %s; %d pages in %s\n", name, round(first), round(took[len(took)/2]), round(took[len(took)-1]), len(took), round(sum))
	return nil
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

// fill writes runs that are over, some at once.
func fill(ctx context.Context, w world.World, runs int) error {
	worker := world.Worker{ID: world.NewID("wrkr", time.Now()), Name: "finished", Lease: time.Hour, Classes: []world.Class{{Workflow: "done", Version: 1}}}
	if _, err := w.Join(ctx, worker); err != nil {
		return err
	}
	next := make(chan int)
	var mu sync.Mutex
	var failed error
	var writers sync.WaitGroup
	for range 128 {
		writers.Go(func() {
			for i := range next {
				c := &world.Commit{Run: world.NewID(world.PrefixRun, time.Now()), Worker: worker.ID, Claim: 1, First: 1, Events: []world.Event{
					{Type: world.RunCreated, Time: world.Now(), Payload: fmt.Appendf(nil, `{"n":%d,"customer":"ada-%d"}`, i, i%100), Birth: &world.Birth{Workflow: "done", Version: 1, Priority: 1}},
					{Type: world.RunStarted, Time: world.Now()},
					{Type: world.RunCompleted, Time: world.Now(), Payload: json.RawMessage(`"done"`)},
				}}
				copy(c.ID[:], fmt.Sprintf("%016d", i))
				if _, err := w.Commit(ctx, c); err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
				}
			}
		})
	}
	for i := range runs {
		next <- i
	}
	close(next)
	writers.Wait()
	return errors.Join(failed, w.Leave(ctx, worker.ID))
}
