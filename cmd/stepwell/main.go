// Command stepwell shows and operates runs, and serves them over HTTP: see stepwell --help.
package main

import "github.com/stepwell/stepwell/internal/cli"

func main() { cli.Main() }
