// Command stepwell looks at runs, signals and cancels them, and shows what Stepwell does: see stepwell --help.
package main

import (
	"context"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], process())
	stop()
	os.Exit(code)
}
