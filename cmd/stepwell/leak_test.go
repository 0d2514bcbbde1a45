package main

import (
	"testing"

	"github.com/stepwell/stepwell/internal/pgtest"
)

// TestMain also looks for goroutines that were left.
func TestMain(m *testing.M) { pgtest.Main(m, pgtest.Config{NoSync: true}) }
