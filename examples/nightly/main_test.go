package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func Example() {
	main()
	// Output:
	// 2025-03-27: 70 sold; written by nightly
	// 2025-03-28: 70 sold; written by nightly
	// next: Sun, 30 Mar 2025 03:00:00 CEST
	// next: Mon, 31 Mar 2025 02:30:00 CEST
	// next: Tue, 01 Apr 2025 02:30:00 CEST
}

// TestAgain: who runs it twice on one clock gets the same reports, and no second ones.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it is midnight, UTC, of the first of January 2000
		var out bytes.Buffer
		for range 2 {
			if err := run(t.Context(), "memory:", false, time.Now(), &out); err != nil {
				t.Fatal(err)
			}
		}
		if n := strings.Count(out.String(), "1999-12-30: 70 sold; written by nightly\n"); n != 2 {
			t.Errorf("got %s", &out)
		}
	})
}
