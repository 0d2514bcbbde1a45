// Sleepers is what scale tests and benchmarks run as a process of its own, built without the race detector: it puts many runs to sleep in a new
// database, a SQLite file or a PostgreSQL server's, wakes a few of them, and writes what that cost as JSON to standard output. It judges nothing.
//
//	sleepers -db runs.db
//	sleepers -db postgres://user@host/name -asleep 1000000 -clients 256 -due 300 -every 20ms
//
// Each of them is a run that has begun, called SleepUntil and hibernates; not one whose start is delayed, which would be a birth alone and
// say nothing of waits.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
	"time"
)

func main() {
	var s scene
	flag.StringVar(&s.db, "db", "", "the `database`: a file that is not there yet, or the URL of one without runs")
	flag.IntVar(&s.asleep, "asleep", 99_000, "runs that sleep for a day")
	flag.IntVar(&s.due, "due", 1_000, "runs that fall due soon after")
	flag.DurationVar(&s.every, "every", time.Millisecond, "how long after each other")
	flag.IntVar(&s.clients, "clients", 40, "goroutines that start them")
	profile := flag.String("profile", "", "write a CPU profile of the starts to this `file`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &s, *profile); err != nil {
		fmt.Fprintln(os.Stderr, "sleepers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s *scene, profile string) error {
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	rep, err := s.play(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(rep)
}
