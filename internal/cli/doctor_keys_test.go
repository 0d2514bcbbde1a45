package cli

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// TestDoctorTellsKeysOfValues: which keys large values need is told also where there are no keys at all: as a warning,
// since workers may have them.
func TestDoctorTellsKeysOfValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	w, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	p := world.Piece{Run: "r", Value: world.NewID(world.PrefixApart, world.Now()), Data: []byte{2}, Key: "k9"}
	if err := w.Values().KeepPiece(t.Context(), &p); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	other, err := keyring.NewKey("other")
	if err != nil {
		t.Fatal(err)
	}
	const says = `large values need keys that this environment does not have: "k9" of 1 run`
	env := map[string]string{"STEPWELL_DB": path}
	code, out, errs := call{env: env}.do(context.Background(), "doctor", "--json")
	if code != exitOK || !strings.Contains(out, strings.ReplaceAll(says, `"`, `\"`)) || !strings.Contains(out, `"warning"`) {
		t.Errorf("without keys: exit code %d, %s%s", code, out, errs)
	}
	env["STEPWELL_ENCRYPTION_KEYS"] = other.Text()
	if code, out, errs = (call{env: env}).do(context.Background(), "doctor", "--json"); code != exitFailure || !strings.Contains(out, strings.ReplaceAll(says, `"`, `\"`)) {
		t.Errorf("with another key: exit code %d, %s%s", code, out, errs)
	}
}
