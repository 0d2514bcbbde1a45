package cli

// events --follow: it prints what is appended meanwhile, and ends with the run, or when it is interrupted.

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// pipe is a stdout that can be read while it is written.
type pipe struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *pipe) await(t *testing.T, text string) {
	t.Helper()
	for range 2000 {
		p.mu.Lock()
		found := strings.Contains(p.text.String(), text)
		p.mu.Unlock()
		if found {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatalf("it never printed %q, but %s", text, &p.text)
}

// follow runs events --follow on the waiting run.
func follow(ctx context.Context, path string) (out *pipe, code chan int, errs *bytes.Buffer) {
	out, code, errs = &pipe{}, make(chan int, 1), &bytes.Buffer{}
	go func() {
		code <- run(ctx, []string{"events", waitingRun, "--follow", "--db", path}, &shell{
			stdin: strings.NewReader(""), stdout: out, stderr: errs, getenv: func(string) string { return "" }, now: world.Now, zone: time.UTC,
		})
	}()
	return out, code, errs
}

func TestFollowUntilTheEnd(t *testing.T) {
	path := fixture(t)
	out, code, errs := follow(t.Context(), path)
	out.await(t, "signal_received")
	w, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Deliver(t.Context(), &world.Delivery{Run: waitingRun, Act: true, Events: []world.Event{{Type: world.RunCancelled, By: "ann"}}}); err != nil {
		t.Fatal(err)
	}
	if got := <-code; got != exitOK {
		t.Errorf("exit code %d, want 0; stderr: %s", got, errs)
	}
	out.await(t, "run_cancelled")
	if got := strings.Count(out.text.String(), "run_created"); got != 1 {
		t.Errorf("the first event was printed %d times, want once", got)
	}
}

func TestFollowIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out, code, errs := follow(ctx, fixture(t))
	out.await(t, "signal_received")
	cancel()
	if got := <-code; got != exitInterrupted || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("exit code %d, stderr %q; want 130 and a word about it", got, errs)
	}
}
