// Command stepwell looks at runs, signals and cancels them, and shows what Stepwell does: see stepwell --help.
package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/stepwell/stepwell/analysis/vettool"
)

func main() {
	if os.Getenv(vetVariable) != "" {
		vettool.Main()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], process())
	stop()
	os.Exit(code)
}
