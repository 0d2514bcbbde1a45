package main

import (
	"testing"

	"go.uber.org/goleak"
)

// Commands leave no goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
