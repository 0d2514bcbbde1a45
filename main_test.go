package stepwell_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// What authors see of runs is tested in internal/behaviour. Here are the examples, and the tests of single files.
func TestMain(m *testing.M) {
	if name := os.Getenv(programVariable); name != "" {
		programs[name]()
		return
	}
	goleak.VerifyTestMain(m)
}
