// Bench runs the same workloads on Stepwell and its peers, one after the other on one machine with durability on, and compares them: a JSON
// line a measurement, and a table with ratios against Stepwell. See docs/performance.md.
//
//	go -C bench run . -engines stepwell,dbos -stores sqlite,postgres -work serial10,latency -json
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/stepwell/stepwell/bench/compare"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(compare.Main(ctx, os.Args[1:], os.Stdout, os.Stderr, engines))
}
