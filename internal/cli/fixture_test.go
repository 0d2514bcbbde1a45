package cli

// What the tests share: a SQLite file with runs in all states, at fixed times, and a shell whose clock stands still.

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// now is when the commands of the tests run.
var now = time.Date(2026, 11, 22, 14, 12, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

// The runs of the fixture.
const (
	waitingRun   = "wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4"
	failedRun    = "wrun_01JD4A0000000000000000FAIL"
	blockedRun   = "wrun_01JD5B0000000000000000BLOC"
	retryingRun  = "wrun_01JD6C0000000000000000RETR"
	completedRun = "wrun_01JD7D0000000000000000DONE"
	strangerRun  = "wrun_01JD8E0000000000000000NOBO"
	workingRun   = "wrun_01JD9F0000000000000000WORK"
	delayedRun   = "wrun_01JDAG0000000000000000WAIT"
	pausedRun    = "wrun_01JC1H0000000000000000STOP"
	hookRun      = "wrun_01JC2J0000000000000000HOOK"
	parentRun    = "wrun_01JC3K0000000000000000PARE"
	sleepingRun  = "wrun_01JC4M0000000000000000NAPS"
	loopingRun   = "wrun_01JC5N0000000000000000LOOP"
)

const fixtureWorker = "wrkr_01JD3V0000000000000000WORK"

// fixture makes the file and returns its path.
func fixture(t *testing.T) string { return fixtureAt(t, now) }

func fixtureAt(t *testing.T, now time.Time) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "app.db")
	clock := now.Add(-100 * time.Hour)
	w, err := sqlite.Open(path, sqlite.Options{Now: func() time.Time { return clock }})
	if err != nil {
		t.Fatal(err)
	}
	joinFixture(t, w)
	(&filler{t: t, w: w, now: now}).fill()
	// A child that was created by itself tells nobody of its end, unless that is put right.
	if _, err := world.Verify(t.Context(), w, world.VerifyQuery{Runs: 100, Mend: true}); err != nil {
		t.Fatal(err)
	}
	clock = now
	if err := w.Close(); err != nil { // without leaving: others still see the worker
		t.Fatal(err)
	}
	return path
}

func joinFixture(t *testing.T, w world.World) {
	t.Helper()
	if _, err := w.Join(t.Context(), world.Worker{
		ID: fixtureWorker, Name: "host:42", Build: "4f1c2aa", Lease: 1000 * time.Hour,
		Classes: []world.Class{{Workflow: "onboard-user", Version: 1}, {Workflow: "order", Version: 2}}, Steps: []string{"resize"},
	}); err != nil {
		t.Fatal(err)
	}
}

// filler writes runs.
type filler struct {
	t   *testing.T
	w   world.World
	now time.Time // from which all times are counted
	n   byte
}

func (f *filler) ago(d time.Duration) time.Time { return f.now.Add(-d) }

// run writes a run in as many commits as there are lists of events; the last one releases it, unless release is nil or it ends.
func (f *filler) run(id string, birth world.Birth, input string, release *world.Release, commits ...[]world.Event) {
	f.t.Helper()
	seq := int64(1)
	for i, events := range commits {
		if i == 0 {
			events[0].Type, events[0].Birth, events[0].Payload = world.RunCreated, &birth, json.RawMessage(input)
		}
		f.n++
		c := &world.Commit{ID: [16]byte{f.n}, Run: id, Worker: fixtureWorker, Claim: 1, Build: "4f1c2aa", First: seq, Events: events}
		for j := range events {
			events[j].Seq = seq
			seq++
		}
		if i == len(commits)-1 && c.End() == nil {
			c.Release = release
		}
		if _, err := f.w.Commit(context.Background(), c); err != nil {
			f.t.Fatalf("run %s, commit %d: %v", id, i, err)
		}
	}
}

// event makes an event about an entity.
func event(typ world.EventType, id string, at time.Time, more ...func(*world.Event)) world.Event {
	e := world.Event{Type: typ, ID: id, Time: at}
	for _, f := range more {
		f(&e)
	}
	return e
}

func named(kind world.Kind, name string) func(*world.Event) {
	return func(e *world.Event) { e.Kind, e.Name = kind, name }
}

func try(n int) func(*world.Event) { return func(e *world.Event) { e.Attempt = n } }

func carries(json string) func(*world.Event) {
	return func(e *world.Event) { e.Payload = []byte(json) }
}

func fails(message string, retry time.Time) func(*world.Event) {
	return func(e *world.Event) { e.Error, e.RetryAt = &world.Error{Message: message, Where: "mail.go:41"}, retry }
}

func begins(at time.Time) []world.Event {
	return []world.Event{{Time: at}, {Type: world.RunStarted, Time: at}}
}

// call is a place to run a command line in.
type call struct {
	terminal bool
	env      map[string]string
	stdin    string
	now      time.Time // zero: that of most tests
}

// do runs one command line.
func (c call) do(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	if c.now.IsZero() {
		c.now = now
	}
	code = run(ctx, args, &shell{
		stdin: strings.NewReader(c.stdin), stdout: &out, stderr: &errs, getenv: func(k string) string { return c.env[k] },
		now: func() time.Time { return c.now }, clock: func() time.Time { return c.now }, zone: time.FixedZone("CET", 3600), who: "ann@laptop", terminal: c.terminal,
	})
	return code, out.String(), errs.String()
}
