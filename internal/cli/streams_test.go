package cli

// Streams on the command line: what is listed, what is printed of a stream that is over, and of one that grows.

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// talking makes a file with a run that has written to streams, and still does.
func talking(t *testing.T) (path string, add func(w world.StreamWrite)) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "app.db")
	clock := ago(time.Minute)
	w, err := sqlite.Open(path, sqlite.Options{Now: func() time.Time { return clock }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	joinFixture(t, w)
	f := &filler{t: t, w: w, now: now}
	f.run(waitingRun, world.Birth{Workflow: "onboard-user", Version: 1, Priority: 1}, `{}`, nil, []world.Event{
		event(world.RunCreated, "", clock), event(world.RunStarted, "", clock),
	})
	add = func(write world.StreamWrite) {
		t.Helper()
		if _, err := w.Append(t.Context(), &world.Append{Run: waitingRun, Worker: fixtureWorker, Claim: 1, StreamWrite: write}); err != nil {
			t.Fatal(err)
		}
	}
	text := func(parts ...string) (chunks []json.RawMessage) {
		for _, p := range parts {
			chunks = append(chunks, fmt.Appendf(nil, "%q", p))
		}
		return chunks
	}
	add(world.StreamWrite{Stream: "words", Step: "step_1", Attempt: 1, Chunks: text("never ", "said\x1b")})
	add(world.StreamWrite{Stream: "words", Step: "step_1", Attempt: 2, Reset: true, From: 1, Chunks: text("mind", "\n")})
	add(world.StreamWrite{Stream: "words", Step: "step_1", Attempt: 2, Pos: 2, Chunks: []json.RawMessage{[]byte(`{"n":3}`)}, End: world.ChunkClose})
	add(world.StreamWrite{Stream: "broken", Step: "step_2", Attempt: 1, Chunks: text("half"), End: world.ChunkError, Error: &world.Error{Message: "no more"}})
	add(world.StreamWrite{Stream: "live", Step: "step_3", Attempt: 1, Chunks: text("a")})
	return path, add
}

func TestStreams(t *testing.T) {
	t.Parallel()
	path, _ := talking(t)
	for name, test := range map[string]struct {
		args string
		code int
		errs string
	}{
		"streams":      {"streams list " + waitingRun, exitOK, ""},
		"streams-json": {"streams list " + waitingRun + " --json", exitOK, ""},
		"tail-words":   {"streams tail " + waitingRun + " words", exitOK, "attempt 2 starts over"},
		"tail-json":    {"streams tail " + waitingRun + " words --from 2 --json", exitOK, ""},
		"tail-broken":  {"streams tail " + waitingRun + " broken", exitFailure, "closed with an error: no more"},
		"tail-nobody":  {"streams tail wrun_01JDZZ0000000000000000NONE words", exitNotFound, "there is no run"},
		"tail-from":    {"streams tail " + waitingRun + " words --from -1", exitUsage, "not the number of a chunk"},
	} {
		out, errs, code := runAt(t, path, test.args)
		if code != test.code || !strings.Contains(errs, test.errs) {
			t.Errorf("%s: exit code %d, stderr %q; want %d and %q", name, code, errs, test.code, test.errs)
		}
		if test.code == exitOK {
			golden(t, name, out)
		}
	}
}

// runAt runs a command line on a file.
func runAt(t *testing.T, path, args string) (out, errs string, code int) {
	t.Helper()
	var o, e strings.Builder
	code = run(t.Context(), append(strings.Fields(args), "--db", path), &shell{
		stdin: strings.NewReader(""), stdout: &o, stderr: &e, getenv: func(string) string { return "" }, now: func() time.Time { return now }, zone: time.UTC,
	})
	return o.String(), e.String(), code
}

// TestStreamsTailFollows: what is written meanwhile is printed, until the stream is closed.
func TestStreamsTailFollows(t *testing.T) {
	t.Parallel()
	path, add := talking(t)
	out, code := &pipe{}, make(chan int, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	go func() {
		code <- run(ctx, []string{"streams", "tail", waitingRun, "live", "--db", path}, &shell{
			stdin: strings.NewReader(""), stdout: out, stderr: &strings.Builder{}, getenv: func(string) string { return "" }, now: world.Now, zone: time.UTC,
		})
	}()
	out.await(t, "a")
	add(world.StreamWrite{Stream: "live", Step: "step_3", Attempt: 1, Pos: 1, Chunks: []json.RawMessage{[]byte(`"b"`)}})
	out.await(t, "ab")
	add(world.StreamWrite{Stream: "live", Step: "step_3", Attempt: 1, Pos: 2, Chunks: []json.RawMessage{[]byte(`"c"`)}, End: world.ChunkClose})
	if got := <-code; got != exitOK {
		t.Errorf("exit code %d, want 0", got)
	}
	if got := out.text.String(); got != "abc\n" {
		t.Errorf("printed %q, want abc", got)
	}
}
