package temporal

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// serverVersion is the release of go.temporal.io/server that devserver/go.mod requires.
const serverVersion = "v1.32.1"

// build returns the path of the development server, built into the user's cache: from the Go module proxy alone, in some minutes the
// first time.
func build(ctx context.Context) (string, error) {
	_, here, _, ok := runtime.Caller(0)
	source := filepath.Join(filepath.Dir(here), "devserver")
	if _, err := os.Stat(filepath.Join(source, "main.go")); !ok || err != nil {
		return "", fmt.Errorf("the server of Temporal is built from bench/engines/temporal/devserver, which is not where this program was built from: use `go run`: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("looking for a place to build Temporal's server: %w", err)
	}
	program := filepath.Join(cache, "stepwell-bench", "temporal-devserver-"+serverVersion)
	if current(program, source) {
		return program, nil
	}
	command := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	command.Dir = source
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	if said, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building Temporal's server in %s: %w: %.2000s", source, err, said)
	}
	return program, nil
}

// current says whether the program is there and newer than what it is built from.
func current(program, source string) bool {
	built, err := os.Stat(program)
	if err != nil {
		return false
	}
	for _, name := range []string{"main.go", "go.mod", "go.sum"} {
		if of, err := os.Stat(filepath.Join(source, name)); err != nil || !of.ModTime().Before(built.ModTime()) {
			return false
		}
	}
	return true
}
