package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/forktest"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/world"
)

func Example() {
	main()
	// Output:
	// Do I need an umbrella on Saturday?
	//   calendar(Saturday)
	//   weather(Bergen)
	// Yes: rain in Bergen
	// And in Atlantis?
	//   weather(Atlantis)
	// I cannot tell: no such city
}

func TestABusyModelIsAskedAgainAndToolsAreNot(t *testing.T) {
	env := stepwelltest.New(t, Agent, Ask)
	stepwelltest.FakeStep(env, Ask, func(ctx context.Context, talk []Message) (Reply, error) {
		if stepwell.Info(ctx).Attempt < 2 {
			return Reply{}, errors.New("429 too many requests")
		}
		return model(talk), nil
	})
	stepwelltest.Return(env, "tool calendar", "Saturday: museum")
	stepwelltest.Return(env, "tool weather", "sun")
	run := stepwelltest.Start(env, Agent, "Do I need an umbrella?")
	if got := run.MustComplete(); got != "No" {
		t.Errorf("got %q, want No", got)
	}
	run.WantSteps("ask-model", "tool calendar", "ask-model", "tool weather", "ask-model")
	env.CrashEverywhere()
}

func TestAModelThatNeverAnswersIsStopped(t *testing.T) {
	env := stepwelltest.New(t, Agent, Ask)
	stepwelltest.Return(env, Ask.Name(), Reply{Tool: "calendar"})
	stepwelltest.Return(env, "tool calendar", "")
	if err := stepwelltest.Start(env, Agent, "?").MustFail(); !strings.Contains(err.Error(), "no answer after 10 turns") {
		t.Errorf("got %v", err)
	}
}

func TestAForkAsksNothingTwice(t *testing.T) {
	said := func(s string) func(context.Context) (any, error) {
		return func(context.Context) (any, error) { return s, nil }
	}
	forktest.EveryEvent(t, forktest.Case{
		Config: stepwell.Config{Definitions: []stepwell.Definition{Agent, Ask}},
		Start:  forktest.Start(Agent, "Do I need an umbrella on Saturday?"),
		Bodies: map[string]func(context.Context) (any, error){"tool calendar": said("walk in Bergen"), "tool weather": said("rain in Bergen")},
	})
}

// works is set in the environment of processes that are the program itself, without its questions.
const works = "STEPWELL_TEST_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(works) != "" {
		stepwell.Main(stepwell.Config{Definitions: definitions})
	}
	pgtest.Main(m, pgtest.Config{NoSync: true})
}

// TestKilled kills the program with SIGKILL now and then, while 300 questions are answered.
func TestKilled(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "agent.db") },
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
			const questions, kills, slots = 300, 3, 8
			for i := range questions {
				if _, err := Agent.Start(t.Context(), client, "Do I need an umbrella on Saturday?", stepwell.RunID(fmt.Sprint("q", i))); err != nil {
					t.Fatal(err)
				}
			}
			used := 0
			for range kills {
				program, said := begin(t, url, slots)
				for range 100 {
					if !said.Scan() {
						t.Fatal("it ended")
					}
					used++
				}
				_ = program.Process.Kill()
				for said.Scan() { // what it said before it died
					used++
				}
				_ = program.Wait()
			}
			program, said := begin(t, url, slots)
			rest := make(chan int)
			go func() {
				n := 0
				for said.Scan() {
					n++
				}
				rest <- n
			}()
			for i := range questions {
				id := fmt.Sprint("q", i)
				answer, err := Agent.Get(client, id).Result(t.Context())
				if err != nil || answer != "Yes: rain in Bergen" {
					t.Errorf("run %s: got %q, %v", id, answer, err)
				}
				var steps []string
				for e, err := range client.Events(t.Context(), id, stepwell.EventFilter{}) {
					if err != nil {
						t.Fatal(err)
					}
					if e.Type == world.StepCompleted {
						steps = append(steps, e.ID)
					}
				}
				if len(steps) != 5 {
					t.Errorf("run %s completed %d steps, want 5: %q", id, len(steps), steps)
				}
			}
			_ = program.Process.Kill()
			if used += <-rest; used < 2*questions || used > 2*questions+kills*slots {
				t.Errorf("tools were used %d times, want %d, and again for at most %d steps that died", used, 2*questions, kills*slots)
			}
		})
	}
}

// begin starts the program. It is killed when the test is over.
func begin(t *testing.T, url string, slots int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), works+"=1", "STEPWELL_DB="+url, "STEPWELL_LEASE=1s", fmt.Sprint("STEPWELL_MAX_RUNS=", slots))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return cmd, bufio.NewScanner(out)
}
