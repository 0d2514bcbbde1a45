// Command docsite writes the documentation as a static site into a directory, which any web server can serve.
//
//	go run ./internal/tools/docsite bin/docs
package main

import (
	"fmt"
	"os"

	"github.com/stepwell/stepwell/server/site"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: docsite DIRECTORY")
		os.Exit(2)
	}
	if err := site.Write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "docsite:", err)
		os.Exit(1)
	}
	fmt.Println(os.Args[1])
}
