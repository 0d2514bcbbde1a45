package postgres

import (
	"os"
	"testing"
)

func TestOpen(t *testing.T) {
	w, err := Open(t.Context(), os.Getenv("STEPWELL_TEST_POSTGRES"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
