// Package cli is the program stepwell: its commands, thin over client and server. The programs that link it have a main
// function and nothing else.
package cli

import (
	"context"
	"os"
	"os/signal"
)

// Main runs the command line of this process and exits.
func Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], process())
	stop()
	os.Exit(code)
}
