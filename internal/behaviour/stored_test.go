package behaviour_test

// Files that earlier releases wrote, with runs in each state: they open, and what is in them goes on.

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stepwell/stepwell/internal/answers"
)

var updateStored = flag.String("update-stored", "", "write a file with runs as this release leaves them, under this `name`, into testdata/stored")

// TestStoredFiles opens the file of each release that has left one, and brings its runs to their ends. What is there is
// never written again; a release that changes what is stored adds its own, before it does: -update-stored=COMMIT.
func TestStoredFiles(t *testing.T) {
	const dir = "testdata/stored"
	if *updateStored != "" {
		synctest.Test(t, func(t *testing.T) { writeStored(t, filepath.Join(dir, *updateStored+".gz")) })
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".gz"), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "runs.db")
			unpack(t, file, path)
			synctest.Test(t, func(t *testing.T) { answers.Find(t, openFile(t, path)) })
		})
	}
}

// writeStored copies a file whose worker is alive: to who opens the copy it has died.
func writeStored(t *testing.T, to string) {
	root, err := filepath.Abs("../..") // where this machine has the code is nobody's business
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, copied := filepath.Join(dir, "runs.db"), filepath.Join(dir, "copy.db")
	answers.Leave(t, openFile(t, path), strings.TrimSuffix(filepath.Base(to), ".gz"))
	execute(t, path, "UPDATE queue SET blocked = replace(blocked, ?, '') WHERE blocked IS NOT NULL", root+string(filepath.Separator))
	execute(t, path, "VACUUM INTO ?", copied)
	content, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is a known one
	_, _ = z.Write(content)                                    // to memory
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func unpack(t *testing.T, from, to string) {
	t.Helper()
	packed, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
