package cli

import (
	"os"
	"testing"

	"github.com/stepwell/stepwell/internal/pgtest"
)

// TestMain is the worker's main where a test has started this binary as one. It also looks for goroutines that were left.
func TestMain(m *testing.M) {
	if code := os.Getenv(letterCode); code != "" {
		os.Exit(work(code))
	}
	_ = os.Setenv("CGO_ENABLED", "0") // for what tests build, as make check builds: most is compiled then
	pgtest.Main(tests{m}, pgtest.Config{NoSync: true})
}

// tests remove the program that they built.
type tests struct{ *testing.M }

func (m tests) Run() int {
	code := m.M.Run()
	if builtIn != "" {
		_ = os.RemoveAll(builtIn)
	}
	return code
}
