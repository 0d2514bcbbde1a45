package cli

// What a definition says holds for runs that are started by hand, and so does the limit of the database.

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/sqlite"
)

func TestDefinitionsHoldForTheCommand(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	w, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	version := func(n int, opts ...stepwell.WorkflowOption) stepwell.Definition {
		return stepwell.Define("greet", func(stepwell.Context, any) (int, error) { return n, nil }, append(opts, stepwell.Version(n))...)
	}
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{
		version(1, stepwell.Retention(48*time.Hour)), version(2, stepwell.Retention(7*24*time.Hour), stepwell.Timeout(time.Hour)),
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	await := func(what string, there func() bool) {
		t.Helper()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for end := time.Now().Add(20 * time.Second); !there(); <-tick.C {
			if time.Now().After(end) {
				t.Fatalf("waited in vain: %s", what)
			}
		}
	}
	await("a worker has joined, and said what its versions are", func() bool {
		known, err := w.Defined(t.Context(), []string{"greet"})
		return err == nil && len(known.Definitions) == 2 && len(known.Live) == 2
	})
	for _, step := range []struct {
		args string
		code int
		out  []string
	}{
		{"runs start greet --id r1 --wait", exitOK, []string{"2"}},
		{"runs show r1 --json", exitOK, []string{`"version": 2`, `"retention": "7d"`, `"timeout": "1h"`}},
		{"runs start greet --id r2 --version 1 --timeout 5m --wait", exitOK, []string{"1"}},
		{"runs show r2 --json", exitOK, []string{`"version": 1`, `"retention": "2d"`, `"timeout": "5m"`}},
		{"runs start greet --id r3 --retention-days 9 --wait", exitOK, []string{"2"}},
		{"runs show r3 --json", exitOK, []string{`"version": 2`, `"retention": "9d"`, `"timeout": "1h"`}},
		{"retention", exitOK, []string{"ended runs are kept for 365d at most: the default, because no program has set another limit"}},
		{"retention --json", exitOK, []string{`{"retention":"365d","said":false}`}},
		{"retention 5d", exitOK, []string{"ended runs are kept for 5d at most; before it was 365d"}},
		{"runs start greet --id r4 --retention-days 9", exitOK, []string{"it is kept for 5 d after its end, not 9 d"}},
		{"runs restart r3 --id r5", exitOK, []string{"r5"}},
		{"runs show r5 --json", exitOK, []string{`"version": 2`, `"retention": "5d"`, `"timeout": "1h"`}},
		{"retention forever --json", exitOK, []string{`{"retention":"forever","before":"5d","said":true}`}},
		{"retention", exitOK, []string{"ended runs are kept for as long as the start of each run says"}},
		{"retention 0s", exitUsage, nil},
		{"retention long", exitUsage, nil},
		{"retention 5d 6d", exitUsage, nil},
	} {
		code, stdout, stderr := today(t, "", append(strings.Fields(step.args), "--db", path)...)
		if code != step.code {
			t.Errorf("%s: exit code %d, want %d\n%s", step.args, code, step.code, stderr)
		}
		for _, want := range step.out {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: %q is not in\n%s", step.args, want, stdout)
			}
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// TestARefusedWorkerSaysNothing: a second worker process on a file does not work, and what its definitions say does not
// hold.
func TestARefusedWorkerSaysNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	w, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	works(t, w)
	second, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = second.Close() }()
	order := stepwell.Define("order", func(stepwell.Context, int) (int, error) { return 0, nil }, stepwell.Retention(time.Minute))
	app, err := stepwell.New(second, stepwell.Config{Definitions: []stepwell.Definition{order}, MaxRetention: 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Run(t.Context()); !errors.Is(err, stepwell.ErrWorkerExists) {
		t.Fatalf("Run = %v, want ErrWorkerExists", err)
	}
	_, limit, err := second.LimitRetention(t.Context(), 0, false)
	if err != nil || limit == 24*time.Hour {
		t.Errorf("ended runs are kept for %s, %v: a worker that was refused has said so", limit, err)
	}
	said, err := second.Defined(t.Context(), []string{"order"})
	if err != nil || len(said.Definitions) != 1 || said.Definitions[0].Retention == time.Minute {
		t.Errorf("got %+v, %v, want what the first worker says", said.Definitions, err)
	}
}
