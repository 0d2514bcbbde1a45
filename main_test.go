package stepwell_test

import (
	"testing"

	"go.uber.org/goleak"
)

// What authors see of runs is tested in internal/behaviour. Here are the examples, and the tests of single files.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
