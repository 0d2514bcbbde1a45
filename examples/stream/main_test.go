package main

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets the test's own program be the workers.
func TestMain(m *testing.M) {
	if flag.Parse(); *worker {
		main()
		return
	}
	os.Exit(m.Run())
}

func Example() {
	main()
	// Output:
	// 0 A
	// 1 stream
	// 2 is
	// 3 durable
	// 4 while
	// its process was killed
	// 5 its
	// 6 step
	// 7 runs
	// 8 so
	// 9 who
	// 10 reads
	// 11 it
	// 12 sees
	// 13 every
	// 14 word
	// 15 once
	// 16 whoever
	// 17 dies
	// 18 words, the last from attempt 2
}
