// Command stepwell looks at runs, signals and cancels them, and shows what Stepwell does: see stepwell --help.
package main

import "github.com/stepwell/stepwell/internal/cli"

func main() { cli.Main() }
