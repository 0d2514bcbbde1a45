// Command docsite writes the documentation as a static site into a directory, which any web server can serve.
//
//	go run ./internal/tools/docsite bin/docs
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	_ "github.com/stepwell/stepwell/internal/cli" // the reference of the commands
	"github.com/stepwell/stepwell/server/site"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: docsite DIRECTORY")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "docsite:", err)
		os.Exit(1)
	}
	fmt.Println(os.Args[1])
}

// write leaves what the directory has besides.
func write(dir string) error {
	files, err := site.Files()
	for name, body := range files {
		to := filepath.Join(dir, filepath.FromSlash(name))
		err = errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, body, 0o644))
	}
	return err
}
