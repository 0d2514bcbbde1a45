// Command stepwellvet holds workflow code to the rules of docs/rules.md, as a tool of go vet:
//
//	go vet -vettool=$(which stepwellvet) ./...
//
// stepwell vet does the same without being told where it is.
package main

import "github.com/stepwell/stepwell/analysis/vettool"

func main() { vettool.Main() }
