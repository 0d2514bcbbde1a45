package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/topic"
	"github.com/stepwell/stepwell/world/sqlite"
)

// posted is a database with a message under the key mail, one that is plain, and a publication under the key news.
func posted(t *testing.T) (path string, keys map[string]string) {
	t.Helper()
	path, keys = filepath.Join(t.TempDir(), "runs.db"), map[string]string{}
	w, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, id := range []string{"mail", "news", "spare", ""} {
		var ring *keyring.Ring
		if id != "" {
			k, err := keyring.NewKey(id)
			if err != nil {
				t.Fatal(err)
			}
			keys[id] = k.Text()
			if ring, err = keyring.New(k); err != nil {
				t.Fatal(err)
			}
		}
		app, err := stepwell.New(w, stepwell.Config{Encryption: ring})
		if err != nil {
			t.Fatal(err)
		}
		switch id {
		case "mail", "":
			_, err = queue.Define[string]("mails").Send(t.Context(), app, "hello")
		case "news":
			_, err = topic.Of[string]("news").Publish(t.Context(), app, "hello")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return path, keys
}

// TestKeysOfMessages: a key that no run needs, but a message or a publication, is not said to be one to drop;
// the doctor names one that is missing.
func TestKeysOfMessages(t *testing.T) {
	path, keys := posted(t)
	env := map[string]string{"STEPWELL_DB": path}
	code, out, errs := call{env: env}.do(t.Context(), "keys", "check")
	if code != exitFailure || !strings.Contains(errs, "2 keys") || strings.Count(out, "is missing") != 2 {
		t.Errorf("without keys: exit code %d, stderr %q, %s; want two missing", code, errs, out)
	}
	env["STEPWELL_ENCRYPTION_KEYS"] = strings.Join([]string{keys["spare"], keys["mail"], keys["news"]}, ",")
	code, out, errs = call{env: env}.do(t.Context(), "keys", "check")
	if code != exitOK || errs != "" {
		t.Errorf("with keys: exit code %d, stderr %q", code, errs)
	}
	golden(t, "keys-messages", out)
	if _, out, _ := (call{env: env}).do(t.Context(), "keys", "check", "--json"); strings.Count(out, `"messages":1,"publications":0`) != 2 ||
		strings.Count(out, `"messages":0,"publications":1`) != 1 {
		t.Errorf("as JSON: %s", out)
	}
	const lack = `missing keys are needed: "news" (1 publication)`
	if _, out, _ := (call{env: env}).do(t.Context(), "doctor"); strings.Contains(out, lack) || !strings.Contains(out, "keys of messages") {
		t.Errorf("the doctor with all keys: %s", out)
	}
	env["STEPWELL_ENCRYPTION_KEYS"] = keys["spare"] + "," + keys["mail"]
	if _, out, _ := (call{env: env}).do(t.Context(), "doctor"); !strings.Contains(out, lack) {
		t.Errorf("the doctor without a key: %s", out)
	}
}
