// Command withpostgres runs a command beside a PostgreSQL server that ends with it:
//
//	withpostgres go test ./...
//
// The test binaries that the command starts share that server instead of starting one each.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/stepwell/stepwell/internal/pgtest"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "withpostgres:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// run returns the exit code of the command.
func run(args []string) (code int, err error) {
	if len(args) == 0 {
		return 2, errors.New("usage: withpostgres COMMAND [ARGUMENT…]")
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if os.Getenv(pgtest.Server) == "" {
		cluster, err := pgtest.Start(pgtest.Config{NoSync: true, Settings: map[string]string{"max_connections": "400"}})
		if err != nil {
			return 1, err
		}
		defer func() { err = errors.Join(err, cluster.Close()) }()
		cmd.Env = append(os.Environ(), cluster.Environment()...)
	}
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil // -1: a signal ended it
	} else if err != nil {
		return 1, err
	}
	return 0, nil
}
