// Children is what scale tests and benchmarks run as a process of its own, built without the race detector: one run starts many child runs in a new
// SQLite file and waits for all, with the worker in this process. It writes what that took to standard output, as JSON. It judges nothing.
//
//	children -db runs.db
//	children -db runs.db -map -profile peak.pb.gz
//	children -db runs.db -waiting
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func main() {
	var s scene
	flag.StringVar(&s.db, "db", "", "the `database`: a file that is not there yet")
	flag.IntVar(&s.n, "n", 20_000, "children")
	flag.BoolVar(&s.inMap, "map", false, "start each in a coroutine of its own; else all at first, and then wait for all")
	flag.BoolVar(&s.waiting, "waiting", false, "the children wait for an event before they end, and what they hold meanwhile is measured")
	flag.StringVar(&s.profile, "profile", "", "write heap profiles, the last at the peak, to this `file`; it costs time and memory")
	flag.Parse()
	if s.profile != "" {
		runtime.MemProfileRate = 16 << 10
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	rep, err := s.play(ctx)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(rep)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "children:", err)
		os.Exit(1)
	}
}
