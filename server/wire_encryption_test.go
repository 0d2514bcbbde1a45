package server

// Encryption over HTTP: workers and clients have the keys, the server has none.

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stepwell/stepwell/internal/crypttest"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world/remote"
	"github.com/stepwell/stepwell/world/sqlite"
)

// TestRemoteEncryption: what workers and clients with keys do over a server without any leaves no secret in its database; without encryption each kind of
// payload is there, so the test can see.
func TestRemoteEncryption(t *testing.T) {
	key, err := keyring.NewKey("k1")
	if err != nil {
		t.Fatal(err)
	}
	ring, err := keyring.New(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, keys := range map[string]*keyring.Ring{"encrypted": ring, "plain": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			below, err := sqlite.Open(filepath.Join(dir, "runs.db"))
			if err != nil {
				t.Fatal(err)
			}
			url := serveWorld(t, below, Options{})
			done, blocked := crypttest.Run(t, openRemote(t, url, remote.Options{}), keys)
			found := 0
			err = fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				b, err := os.ReadFile(filepath.Join(dir, path))
				found += bytes.Count(b, []byte(crypttest.Secret))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if keys == nil {
				if found < 20 {
					t.Errorf("the secret is there %d times without encryption, want each kind of payload", found)
				}
				return
			}
			if found != 0 {
				t.Errorf("the secret is there %d times, want none", found)
			}
			for _, run := range []string{done, blocked} {
				row, err := below.Run(t.Context(), run)
				if err != nil || row.Encryption != "k1" || !row.Encrypted {
					t.Errorf("run %s: got key %q, sealed %v, %v; want k1", run, row.Encryption, row.Encrypted, err)
				}
			}
		})
	}
}
