// Command stepwell, as releases have it: the command of the main module with the exporters of spans.
package main

import (
	"github.com/stepwell/stepwell/internal/cli"
	_ "github.com/stepwell/stepwell/telemetry/otlp"
)

func main() { cli.Main() }
