package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

func Example() {
	main()
	// Output:
	// acme: 20 files, never more than 2 at once: true
	// bolt: 2 files, never more than 2 at once: true
	// cora: 2 files, never more than 2 at once: true
	// bolt came behind acme, and was done before: true
	// cora came behind acme, and was done before: true
}

// TestOnFile: it is the same where the database is a file.
func TestOnFile(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "imports.db"), &out); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), "true") != 5 {
		t.Errorf("got %s", &out)
	}
}
