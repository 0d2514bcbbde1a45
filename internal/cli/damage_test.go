package cli

// Damage as whoever is called at night meets it: what is said can be typed, and helps.

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// cutShort is a file with a run whose third commit is not what was written, and which is blocked by that or not.
func cutShort(t *testing.T, block *world.Block) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "damaged.db")
	w, err := sqlite.Open(path, sqlite.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	joinFixture(t, w)
	f := &filler{t: t, w: w, now: now}
	at := ago(time.Hour)
	f.run(sleepingRun, world.Birth{Workflow: "order", Version: 2, Priority: 1}, `{}`, &world.Release{WakeAt: now.Add(time.Hour), Blocked: block}, begins(at),
		[]world.Event{event(world.StepCreated, "step_1", at, named(world.KindClosure, "charge")), event(world.StepStarted, "step_1", at, try(1))},
		[]world.Event{event(world.StepCompleted, "step_1", at, carries(`1`))})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	changeFile(t, path, "UPDATE log SET sum = sum + 1 WHERE seq = (SELECT max(seq) FROM log)")
	return path
}

func changeFile(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestWakingADamagedRun: it is tried again where it is blocked, and what else can be done is said; each line can be typed.
func TestWakingADamagedRun(t *testing.T) {
	fork, end := "runs fork "+sleepingRun+" --at 4", "runs cancel "+sleepingRun+" --force"
	block := &world.Block{Code: world.CodeCorrupt, Message: "the log has no sense", Seq: 5, Since: ago(time.Minute), Tries: 7}
	for _, test := range []struct {
		args  string
		block *world.Block
		code  int
		says  string
	}{
		{"runs wake", block, exitOK, "tried again now"},
		{"runs resume", block, exitOK, "tried again now"},
		{"runs show", block, exitOK, "the log has no sense"},
		{"runs wake", nil, exitFailure, "checksum"},
	} {
		path := cutShort(t, test.block)
		env := map[string]string{"STEPWELL_DB": path}
		code, out, errs := call{env: env}.do(t.Context(), append(strings.Fields(test.args), sleepingRun)...)
		for _, want := range []string{test.says, fork, end} {
			if code != test.code || !strings.Contains(out+errs, want) {
				t.Errorf("%s: exit code %d, %s%s; want %d and %q", test.args, code, out, errs, test.code, want)
			}
		}
		for _, next := range []string{fork, end} {
			if code, out, errs := (call{env: env}).do(context.Background(), strings.Fields(next)...); code != exitOK {
				t.Errorf("%s: exit code %d, %s%s", next, code, out, errs)
			}
		}
	}
}

// TestDoctorMends: what is wrong beside the logs is named, and --mend makes it right. The children of the fixture were not created by their parent, so that nobody would tell it of
// their ends.
func TestDoctorMends(t *testing.T) {
	path := fixture(t)
	changeFile(t, path, "UPDATE totals SET n = n + 1; UPDATE queue SET owner = 4711, paused = NOT paused WHERE run = (SELECT key FROM runs WHERE id = '"+sleepingRun+"')")
	env := map[string]string{"STEPWELL_DB": path}
	code, out, _ := call{env: env}.do(t.Context(), "doctor")
	for _, want := range []string{"bad      counts", "bad      runs without a worker", "bad      checksums", "its row says that it is paused", "doctor --mend"} {
		if code != exitFailure || !strings.Contains(out, want) {
			t.Errorf("doctor: exit code %d, %s; want %q", code, out, want)
		}
	}
	_, out, errs := call{env: env}.do(t.Context(), "doctor", "--mend")
	for _, want := range []string{"mended: counts", "good     counts", "good     runs without a worker", "mended: runs           repair the rows beside the logs of 1 run; " + sleepingRun} {
		if !strings.Contains(out, want) {
			t.Errorf("doctor --mend: %s%s; want %q", out, errs, want)
		}
	}
}
