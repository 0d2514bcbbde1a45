// Command demo runs workflows on a SQLite file in a worker process, kills that process in the middle of a step, starts it
// again, and shows the runs continue where they stopped. `stepwell demo` is the same in a larger program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/stepwell/stepwell/internal/demo"
	"github.com/stepwell/stepwell/internal/draw"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	interrupted := errors.Is(err, context.Canceled) && ctx.Err() != nil
	stop()
	switch {
	case interrupted:
		fmt.Fprintln(os.Stderr, "demo: interrupted")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) == 3 && os.Args[1] == "worker" {
		return demo.Work(ctx, os.Args[2], os.Stdin, os.Stderr)
	}
	keep := flag.Bool("keep", false, "keep the files, and print where they are")
	flag.Parse()
	return demo.Run(ctx, demo.Options{
		Out: os.Stdout, Style: style(), Zone: time.Local, Who: "demo", Worker: []string{"worker"}, Keep: *keep,
		NextRun: "go run ./cmd/stepwell init ../hello",
		Look:    func(url string) string { return "go run ./cmd/stepwell runs list --db " + url },
	})
}

// style is that of the terminal, or of a pipe.
func style() draw.Style {
	if columns, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && os.Getenv("TERM") != "dumb" {
		if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
			columns = n
		}
		return draw.Style{Symbols: true, Colours: os.Getenv("NO_COLOR") == "", Columns: columns}
	}
	return draw.Style{}
}
