package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/stepwelltest"
)

// works is set in the environment of processes that are the program itself.
const works = "STEPWELL_TEST_PIPELINE"

func TestMain(m *testing.M) {
	if os.Getenv(works) != "" {
		main()
		return
	}
	pgtest.Main(m, pgtest.Config{NoSync: true})
}

// services is an environment with the functions of services.go.
func services(t *testing.T) *stepwelltest.Env {
	return stepwelltest.NewWith(t, stepwelltest.Options{Config: stepwell.Config{Definitions: definitions}, RealSteps: true})
}

func TestWhatFailedIsTriedOnceMore(t *testing.T) {
	env := services(t)
	run := stepwelltest.Start(env, Album, "10")
	env.Advance(time.Minute)
	run.WantWaiting(stepwell.WhyEvent)
	stepwelltest.Send(run, Again, Hint{Lenient: true})
	if got := run.MustComplete(); got.Done != 10 || got.Failed != nil {
		t.Errorf("got %v, want 10 done", got)
	}
	env.CrashEverywhere()
}

func TestWhatFailsTwiceIsReported(t *testing.T) {
	env := services(t)
	run := stepwelltest.Start(env, Album, "10")
	stepwelltest.Send(run, Again, Hint{})
	if got := run.MustComplete(); got.Done != 9 || len(got.Failed) != 1 || got.Failed[0].Number != 7 {
		t.Errorf("got %v, want 9 done and 7 failed", got)
	}
}

// TestKilled kills the program with SIGKILL now and then, in an album of 10,000.
func TestKilled(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "pipeline.db") },
		"postgres": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := url(t)
			w, err := stepwell.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			client, err := stepwell.New(w, stepwell.Config{Definitions: definitions})
			if err != nil {
				t.Fatal(err)
			}
			run, err := Album.Start(t.Context(), client, "10000", stepwell.RunID("album"))
			if err != nil {
				t.Fatal(err)
			}
			if err := Again.Send(t.Context(), client, "album", Hint{Lenient: true}); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				program, said := begin(t, url)
				for range 1_500 {
					if !said.Scan() {
						t.Fatal("it ended")
					}
				}
				_ = program.Process.Kill()
				_ = program.Wait()
			}
			program, said := begin(t, url)
			go func() {
				for said.Scan() { // or its pipe is full
				}
			}()
			defer program.Process.Kill()
			got, err := run.Result(t.Context())
			if err != nil || got.Done != 9_999 || len(got.Failed) != 1 || got.Failed[0].Number != 9_999 {
				t.Errorf("got %v, %v, want all but the last", got, err)
			}
			if info, err := client.Get(t.Context(), "album"); err != nil || string(info.Attributes["done"]) != "9999" {
				t.Errorf("got %s, %v, want 9999", info.Attributes["done"], err)
			}
		})
	}
}

// begin starts the program. It is killed when the test is over.
func begin(t *testing.T, url string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), works+"=1", "STEPWELL_DB="+url, "STEPWELL_LEASE=1s")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, bufio.NewScanner(out)
}
