package durable_test

// This file kills the process that answers: this test binary, executed again. The client sends the same request to
// the next.

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/durable"
	"github.com/stepwell/stepwell/internal/pgtest"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// The database of such a process, and a file that is there once one has died.
const (
	databaseEnv = "STEPWELL_TEST_DURABLE_DB"
	diedEnv     = "STEPWELL_TEST_DURABLE_DIED"
)

// heard is what the name of a file ends with that is there once the client has had an event.
const heard = ".heard"

func init() {
	if os.Getenv(databaseEnv) == "" {
		return
	}
	if err := serveUntilKilled(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// print has a step that kills its process, once.
var printing = stepwell.Define("print", func(ctx stepwell.Context, pages int) (string, error) {
	for i := range pages {
		if i == 1 {
			if err := stepwell.Do(ctx, "jam", func(context.Context) error {
				died := os.Getenv(diedEnv)
				if _, err := os.Stat(died); err == nil {
					return nil
				}
				for { // not before its client has heard of the run
					if _, err := os.Stat(died + heard); err == nil {
						break
					}
					<-time.After(time.Millisecond)
				}
				if err := os.WriteFile(died, nil, 0o600); err != nil {
					return err
				}
				p, err := os.FindProcess(os.Getpid())
				if err == nil {
					err = p.Kill()
				}
				if err != nil {
					return err
				}
				select {}
			}); err != nil {
				return "", err
			}
		}
		if err := stepwell.WriteStream(ctx, "progress", fmt.Sprint("page ", i)); err != nil {
			return "", err
		}
	}
	return fmt.Sprint(pages, " pages"), nil
})

// serveUntilKilled serves and works, and says where.
func serveUntilKilled() error {
	ctx := context.Background()
	w, err := stepwell.Open(ctx, os.Getenv(databaseEnv))
	if err != nil {
		return err
	}
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{printing}, Lease: 3 * time.Second})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	failed := make(chan error, 2)
	go func() { failed <- app.Run(ctx) }()
	go func() { failed <- http.Serve(l, durable.Handler(app, printing, durable.Options{})) }()
	fmt.Println("http://" + l.Addr().String())
	return <-failed
}

// another starts a process, which is killed with the test at the latest.
func another(t *testing.T, db, died string) (url string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), databaseEnv+"="+db, diedEnv+"="+died)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func TestARequestGoesOnInTheNextProcess(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.ToSlash(filepath.Join(t.TempDir(), "runs.db")) },
		"postgres": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, died := database(t), filepath.Join(t.TempDir(), "died")
			first := &shop{T: t, url: another(t, db, died)}
			_, next := first.follow("POST", "3", "Idempotency-Key: k")
			var had []string
			last := event{}
			for e, ok := next(); ok; e, ok = next() {
				had, last = append(had, e.data), e
				if err := os.WriteFile(died+heard, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if len(had) == 0 || last.kind == "result" {
				t.Fatalf("before the process died: got %v", had)
			}
			second := &shop{T: t, url: another(t, db, died)}
			_, next = second.follow("POST", "3", "Idempotency-Key: k", "Last-Event-ID: "+last.id)
			for e, ok := next(); ok; e, ok = next() {
				had = append(had, e.data)
			}
			if got, want := strings.Join(had[1:], " "), `"page 0" "page 1" "page 2" "3 pages"`; got != want {
				t.Errorf("got %s, want %s: each once", got, want)
			}
			if got := second.do("POST", "3", "Idempotency-Key: k"); got.body != `"3 pages"` {
				t.Errorf("got %s", got.body)
			}
		})
	}
}
