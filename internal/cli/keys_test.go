package cli

// Tests of encryption keys: made, counted, and used by commands.

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world/sqlite"
)

func TestKeysNew(t *testing.T) {
	seen := map[string]bool{}
	for range 10 {
		code, out, errs := call{}.do(context.Background(), "keys", "new", "2026-11")
		if code != exitOK || errs != "" || seen[out] {
			t.Fatalf("exit code %d, stdout %d bytes, stderr %q; want a new key", code, len(out), errs)
		}
		seen[out] = true
		ring, err := keyring.Parse(out)
		if err != nil || ring.Primary() != "2026-11" {
			t.Fatalf("what was written is no key: %v", err)
		}
	}
	if code, _, errs := (call{}).do(context.Background(), "keys", "new", "a key"); code != exitUsage || !strings.Contains(errs, "A-Za-z0-9") {
		t.Errorf("a bad ID: exit code %d, stderr %q", code, errs)
	}
}

// encrypted is a database with two runs under the key old, one under new, and one under none; and the keys, as settings have them.
func encrypted(t *testing.T) (path, keys string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "runs.db")
	w, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	var texts []string
	ring := map[string]*keyring.Ring{"": nil}
	for _, id := range []string{"new", "old"} {
		k, err := keyring.NewKey(id)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, k.Text())
		if ring[id], err = keyring.New(k); err != nil {
			t.Fatal(err)
		}
	}
	for i, id := range []string{"old", "old", "new", ""} {
		app, err := stepwell.New(w, stepwell.Config{Encryption: ring[id]})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := app.Start(context.Background(), "pay", []byte(`{"card":"4111-1111"}`), stepwell.RunID("run"+string(rune('0'+i)))); err != nil {
			t.Fatal(err)
		}
	}
	return path, strings.Join(texts, ",")
}

// TestKeysCheck: the runs are counted by their keys, and it is told which key is missing, and which can go.
func TestKeysCheck(t *testing.T) {
	path, keys := encrypted(t)
	spare, err := keyring.NewKey("spare")
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"STEPWELL_DB": path}
	code, out, errs := call{env: env}.do(context.Background(), "keys", "check")
	if code != exitFailure || !strings.Contains(errs, "2 keys") {
		t.Errorf("without keys: exit code %d, stderr %q; want two missing", code, errs)
	}
	golden(t, "keys-missing", out)
	env["STEPWELL_ENCRYPTION_KEYS"] = keys + "," + spare.Text()
	code, out, errs = call{env: env}.do(context.Background(), "keys", "check")
	if code != exitOK || errs != "" {
		t.Errorf("with keys: exit code %d, stderr %q", code, errs)
	}
	golden(t, "keys-check", out)
	if code, _, errs = (call{env: env}).do(context.Background(), "keys", "check", "--most", "1"); code != exitOK || !strings.Contains(errs, "newest 1 runs") {
		t.Errorf("one run: exit code %d, stderr %q; want it said that not all were counted", code, errs)
	}
}

// TestCommandsReadWhatTheyHaveKeysFor: with the key payloads are shown, and exported on demand; without it, that they are encrypted, and with which key.
func TestCommandsReadWhatTheyHaveKeysFor(t *testing.T) {
	path, keys := encrypted(t)
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("# keys\n"+strings.ReplaceAll(keys, ",", "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args       string
		code       int
		with, lack string // what is shown with the keys, and without
	}{
		{"runs show run0", exitOK, `"card":"4111-1111"`, "encrypted with the key old"},
		{"events run0", exitOK, `"card":"4111-1111"`, "encrypted with the key old"},
		{"runs show run0 --json", exitOK, `4111-1111`, `"sealed": true`},
		{"runs show run2", exitOK, `"card":"4111-1111"`, "encrypted with the key new"},
		{"runs signal run0 told 1", exitFailure, "", `the key "old"`},
		{"export run0 --decrypt", exitFailure, `4111-1111`, `the key "old"`},
		{"export run0", exitOK, `"sealed":"old"`, `"sealed":"old"`},
	} {
		env := map[string]string{"STEPWELL_DB": path}
		code, out, errs := call{env: env}.do(context.Background(), strings.Fields(test.args)...)
		if code != test.code || !strings.Contains(out+errs, test.lack) || strings.Contains(out+errs, "4111-1111") {
			t.Errorf("%s without keys: exit code %d, stdout %s, stderr %s; want %q", test.args, code, out, errs, test.lack)
		}
		env["STEPWELL_ENCRYPTION_KEY_FILE"] = file
		code, out, errs = call{env: env}.do(context.Background(), strings.Fields(test.args)...)
		if code != exitOK || !strings.Contains(out, test.with) {
			t.Errorf("%s with keys: exit code %d, stdout %s, stderr %s; want %q", test.args, code, out, errs, test.with)
		}
	}
	env := map[string]string{"STEPWELL_DB": path, "STEPWELL_ENCRYPTION_KEYS": "k:c2VjcmV0c2VjcmV0"}
	if code, out, errs := (call{env: env}).do(context.Background(), "runs", "list"); code != exitUsage || strings.Contains(out+errs, "c2Vj") || !strings.Contains(errs, "STEPWELL_ENCRYPTION_KEYS") {
		t.Errorf("a bad key: exit code %d, stderr %q; want the variable named and nothing of the key", code, errs)
	}
}

// TestImportWithAWrongKey: it is told that the key is not that of the file, and nothing is said about rows of a database.
func TestImportWithAWrongKey(t *testing.T) {
	path, keys := encrypted(t)
	code, file, errs := call{env: map[string]string{"STEPWELL_DB": path}}.do(t.Context(), "export", "run0")
	if code != exitOK {
		t.Fatalf("export: exit code %d, stderr %s", code, errs)
	}
	other, err := keyring.NewKey("old")
	if err != nil {
		t.Fatal(err)
	}
	fresh, _, _ := strings.Cut(keys, ",")
	env := map[string]string{"STEPWELL_DB": filepath.Join(t.TempDir(), "copy.db"), "STEPWELL_ENCRYPTION_KEYS": fresh + "," + other.Text()}
	code, out, errs := call{env: env, stdin: file}.do(t.Context(), "import")
	for _, no := range []string{"corrupt", "rows", "--force", "events run0"} {
		if strings.Contains(errs, no) {
			t.Errorf("it says %q: %s", no, errs)
		}
	}
	if code != exitFailure || out != "" || !strings.Contains(errs, `"old"`) || !strings.Contains(errs, "does not decrypt") || !strings.Contains(errs, "nothing was written") {
		t.Errorf("import: exit code %d, stdout %s, stderr %s; want the key named", code, out, errs)
	}
	env["STEPWELL_ENCRYPTION_KEYS"] = keys
	if code, out, errs := (call{env: env, stdin: file}).do(t.Context(), "import"); code != exitOK {
		t.Errorf("import with the key: exit code %d, stdout %s, stderr %s", code, out, errs)
	}
}

// TestWrongKeys: a key that is another than the one with its ID is named, by a check and by a server that would start with it.
func TestWrongKeys(t *testing.T) {
	path, keys := encrypted(t)
	other, err := keyring.NewKey("old")
	if err != nil {
		t.Fatal(err)
	}
	fresh, _, _ := strings.Cut(keys, ",")
	env := map[string]string{"STEPWELL_DB": path, "STEPWELL_ENCRYPTION_KEYS": fresh + "," + other.Text()}
	code, out, errs := call{env: env}.do(context.Background(), "keys", "check")
	if code != exitFailure || !strings.Contains(errs, `the ID "old" stands for another key`) || !strings.Contains(out, "differs from the key with this ID") || strings.Contains(errs, `"new"`) {
		t.Errorf("keys check: exit code %d, stdout %s, stderr %s; want the key named", code, out, errs)
	}
	code, out, _ = call{env: env}.do(context.Background(), "keys", "check", "--json")
	if n := strings.Count(out, `"wrong":`); code != exitFailure || n != 1 {
		t.Errorf("keys check --json: exit code %d, %s; want one that is wrong", code, out)
	}
	code, out, errs = call{env: env}.do(t.Context(), "server", "--listen", "127.0.0.1:0")
	if code != exitFailure || out != "" || !strings.Contains(errs, `the ID "old" stands for another key`) || !strings.Contains(errs, "keys check") {
		t.Errorf("server: exit code %d, stdout %s, stderr %s; want it refused", code, out, errs)
	}
}
