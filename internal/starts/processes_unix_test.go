//go:build unix

package starts_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
)

// A process with both of these works for the test that started it.
const (
	workerURL  = "STEPWELL_FLOW_TEST_URL"
	workerFile = "STEPWELL_FLOW_TEST_FILE"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(workerURL); url != "" {
		if err := workFor(url, os.Getenv(workerFile)); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1)
		}
		return
	}
	pgtest.Main(m, pgtest.Config{NoSync: true})
}

// told are runs that say in a file when they begin and end: by their last step, or, where they are cancelled, by what
// undoes their first one.
func told(file string) *stepwell.Workflow[shop, int] {
	say := func(s shop, what string) error {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(f, "%s %s %d\n", what, s.Name, s.N) // one write: lines of several processes do not mix
		if closed := f.Close(); err == nil {
			err = closed
		}
		return err
	}
	return stepwell.Define("told", func(ctx stepwell.Context, s shop) (int, error) {
		_, err := stepwell.Step(ctx, "begin", func(context.Context) (int, error) { return 0, say(s, "+") },
			stepwell.Undo("clean up", func(_ context.Context, s shop) error {
				<-time.After(10 * time.Millisecond)
				return say(s, "-")
			}, s))
		if err == nil {
			err = stepwell.Sleep(ctx, "work", time.Second)
		}
		if err == nil {
			err = stepwell.Do(ctx, "end", func(context.Context) error { return say(s, "-") })
		}
		return s.N, err
	}, stepwell.Singleton{Key: stepwell.KeyOf(nameOf), Replace: true})
}

func workFor(url, file string) error {
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Minute)
	defer stop()
	w, err := postgres.Open(ctx, url)
	if err != nil {
		return err
	}
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{told(file)}, Lease: 3 * time.Second, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // it ends with who started this
		stop()
	}()
	return app.Run(ctx)
}

// TestSingletonsOfProcesses: three processes, of which two are killed, and runs that replace one another. No two of a
// key are at work, all that were replaced are cancelled and clean up, and the last ones complete.
func TestSingletonsOfProcesses(t *testing.T) {
	t.Parallel()
	url, file := pgtest.URL(t), filepath.Join(t.TempDir(), "runs")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	begin := func() *exec.Cmd {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), workerURL+"="+url, workerFile+"="+file)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = in.Close()
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		return cmd
	}
	w, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	workflow := told(file)
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{workflow}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	all := []*exec.Cmd{begin(), begin(), begin()}
	var runs []*stepwell.Run[int]
	const rounds = 30
	for n := range rounds {
		for _, name := range []string{"ann", "bob"} {
			run, err := workflow.Start(t.Context(), app, shop{name, n})
			if err != nil || run.Existed() {
				t.Fatalf("got %v, %v", run, err)
			}
			runs = append(runs, run)
		}
		if n == rounds/3 || n == 2*rounds/3 {
			if err := all[0].Process.Kill(); err != nil {
				t.Fatal(err)
			}
			all = append(all[1:], begin())
		}
		<-time.After(100 * time.Millisecond)
	}
	for i, run := range runs {
		n, err := run.Result(t.Context())
		info, look := app.Get(t.Context(), run.ID())
		if last := i >= len(runs)-2; look != nil || last != (err == nil && n == rounds-1) || !last && info.Status != world.Cancelled {
			t.Errorf("run %d: got %d, %v; %s, %v", i, n, err, info.Status, look)
		}
	}
	neverTwo(t, file)
}

// neverTwo reads who was at work when. One whose process was killed is at work until it has cleaned up elsewhere.
func neverTwo(t *testing.T, file string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	at, begun := map[string]string{}, 0
	for s := bufio.NewScanner(f); s.Scan(); {
		word := strings.Fields(s.Text())
		switch who := at[word[1]]; {
		case word[0] == "+" && who != "" && who != word[2]:
			t.Errorf("run %s of %s begins, and run %s is at work", word[2], word[1], who)
		case word[0] == "+":
			begun++
			at[word[1]] = word[2]
		case who == word[2]:
			at[word[1]] = ""
		}
	}
	if begun < 4 || at["ann"]+at["bob"] != "" {
		t.Errorf("%d runs began, and these are at work still: %v", begun, at)
	}
}
