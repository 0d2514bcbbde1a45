// Command typeddicts writes the types of the Python client, TypedDicts of what requests and answers have, from the
// description of the REST API. A test holds that the file is current.
//
//	go run ./internal/tools/clientpython/typeddicts
package main

import (
	"fmt"
	"os"
)

// Where they are, from the folder of the module.
const (
	description = "server/openapi.json"
	written     = "clients/python/src/stepwell/types.py"
)

func main() {
	if err := write(description, written); err != nil {
		fmt.Fprintln(os.Stderr, "typeddicts:", err)
		os.Exit(1)
	}
}

// write makes the file anew.
func write(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("from the folder of the module: %w", err)
	}
	python, err := generate(text)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return os.WriteFile(to, python, 0o644)
}
