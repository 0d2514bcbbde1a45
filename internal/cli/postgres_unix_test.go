//go:build unix

package cli

// The commands on PostgreSQL; its test cluster runs on Unix alone.

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
)

// postgresCalls runs commands on a fresh database. None may show its password.
func postgresCalls(t *testing.T) (database string, do func(code int, args ...string) (stdout, stderr string)) {
	t.Helper()
	database = pgtest.URL(t)
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	password, ok := u.User.Password()
	if !ok {
		password = "no password to find"
	}
	return database, func(code int, args ...string) (stdout, stderr string) {
		t.Helper()
		got, stdout, stderr := call{terminal: true, env: map[string]string{"NO_COLOR": "1"}}.do(context.Background(), append(args, "--db", database)...)
		if got != code {
			t.Fatalf("%q: exit code %d, want %d; stderr: %s", args, got, code, stderr)
		}
		if strings.Contains(stdout+stderr, password) {
			t.Errorf("%q shows the password:\n%s%s", args, stdout, stderr)
		}
		return stdout, stderr
	}
}

// A database without a schema is not made by looking. The plan makes it by hand; migrate then has nothing to do.
func TestMigrate(t *testing.T) {
	database, do := postgresCalls(t)
	_, errs := do(exitNotFound, "runs", "list")
	if !strings.Contains(errs, "stepwell migrate --db postgres://") {
		t.Errorf("stderr %q does not say what to do", errs)
	}
	do(exitNotFound, "doctor")
	plan, _ := do(exitOK, "migrate", "--plan")
	c, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Exec(t.Context(), plan, pgx.QueryExecModeSimpleProtocol)
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Fatalf("the plan does not run: %v", err)
	}
	for _, args := range [][]string{{"migrate", "--plan"}, {"migrate"}} {
		if out, errs := do(exitOK, args...); out != "" || !strings.Contains(errs, "up to date") {
			t.Errorf("%q: got %q, stderr %q; want that it is up to date", args, out, errs)
		}
	}
	do(exitOK, "runs", "list")
}

func TestMigrateAtOnce(t *testing.T) {
	_, do := postgresCalls(t)
	if out, _ := do(exitOK, "migrate"); !strings.Contains(out, "0001 schema: done") {
		t.Errorf("got %q", out)
	}
	if _, errs := do(exitOK, "runs", "list"); !strings.Contains(errs, "no runs in postgres://") {
		t.Errorf("stderr %q", errs)
	}
	out, _ := do(exitFailure, "doctor", "--json") // fsync is off here
	n := 0
	for line := range strings.Lines(out) {
		var f world.Finding
		if err := json.Unmarshal([]byte(line), &f); err != nil || f.Check == "" || f.Found == "" || f.Health == world.HealthBad && f.Found != "fsync is off" {
			t.Errorf("got %s (%v)", line, err)
		}
		n++
	}
	if n < 10 {
		t.Errorf("got %d checks", n)
	}
	if out, errs := do(exitFailure, "doctor"); !strings.Contains(out, "✗  server") || !strings.Contains(out, "→ turn it on") || !strings.Contains(errs, "1 of") {
		t.Errorf("got\n%s\nstderr %q", out, errs)
	}
}

// The same runs are shown as on SQLite: their logs to the byte; how they stand, but for times, which are the database's here. So the runs are those of today.
func TestSameRunsOnPostgres(t *testing.T) {
	database, do := postgresCalls(t)
	now := time.Now().UTC().Truncate(time.Second)
	w, err := world.Open(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	joinFixture(t, w)
	(&filler{t: t, w: w, now: now}).fill()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file := fixtureAt(t, now)
	onFile := func(args ...string) string {
		t.Helper()
		code, out, errs := call{terminal: true, env: map[string]string{"NO_COLOR": "1"}, now: now}.do(context.Background(), append(args, "--db", file)...)
		if code != exitOK {
			t.Fatalf("%q: exit code %d; stderr: %s", args, code, errs)
		}
		return out
	}
	got, _ := do(exitOK, "runs", "list", "--json")
	if diff := cmp.Diff(standings(t, onFile("runs", "list", "--json")), standings(t, got)); diff != "" {
		t.Errorf("runs list: -SQLite +PostgreSQL:\n%s", diff)
	}
	for _, run := range []string{waitingRun, failedRun, completedRun, workingRun, hookRun, parentRun, loopingRun} {
		got, _ := do(exitOK, "events", run, "--json")
		if diff := cmp.Diff(onFile("events", run, "--json"), got); diff != "" {
			t.Errorf("events of %s: -SQLite +PostgreSQL:\n%s", run, diff)
		}
		do(exitOK, "runs", "show", run)
	}
	if got, _ := do(exitOK, "hooks", "list", "--run", hookRun, "--token", "order-7", "--json"); got != onFile("hooks", "list", "--run", hookRun, "--token", "order-7", "--json") {
		t.Errorf("hooks list: got %s", got)
	}
	do(exitOK, "runs", "signal", waitingRun, "verify", "1", "--delivery-id", "d1")
	do(exitOver, "runs", "signal", failedRun, "verify")
}

// standings are the lines of runs list --json without times, by ID.
func standings(t *testing.T, lines string) (all []string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		var r listed
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, fmt.Sprintf("%s of %s v%d, taken %d times: %s, %s", r.ID, r.Workflow, r.Version, r.Claims, r.Status, r.Why.Kind))
	}
	slices.Sort(all)
	return all
}

// The demo plays on PostgreSQL, and leaves nothing there.
func TestDemoPostgres(t *testing.T) {
	database, do := postgresCalls(t)
	program, dir := build(t), t.TempDir()
	code, out, errs, _ := play(t, program, dir, "--db", database)
	if code != exitOK || errs != "" || !strings.Contains(out, "No finished step ran twice:") {
		t.Fatalf("exit code %d, stderr %q; stdout:\n%s", code, errs, out)
	}
	c, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	var left int
	if err := c.QueryRow(t.Context(), "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'stepwell%'").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d schemas are left, %v", left, err)
	}
	do(exitNotFound, "runs", "list")
	if code, _, errs, _ := play(t, program, dir, "--db", "sqlite:x.db"); code != exitUsage || !strings.Contains(errs, "postgres://") {
		t.Errorf("on another database: exit code %d, stderr %q", code, errs)
	}
}
