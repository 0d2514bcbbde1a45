package agent_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/agent"
	"github.com/stepwell/stepwell/agent/internal/wiretest"
	"github.com/stepwell/stepwell/world/sqlite"
)

// workerOf makes a process of this test a worker: of a provider, its address, and a database.
const workerOf = "STEPWELL_TEST_AGENT_WORKER"

func TestMain(m *testing.M) {
	if of := os.Getenv(workerOf); of != "" {
		provider, rest, _ := strings.Cut(of, " ")
		url, path, _ := strings.Cut(rest, " ")
		if err := work(provider, url, path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func killed(provider, url string) *stepwell.Workflow[string, agent.Answer] {
	return flow(agent.Options{
		Model: providers[provider](url, wiretest.Key), Tools: []agent.Tool{weatherTool}, Stream: "words", Price: price,
	})
}

func open(provider, url, path string) (*stepwell.App, func(), error) {
	w, err := sqlite.Open(path)
	if err != nil {
		return nil, nil, err
	}
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{killed(provider, url)}})
	return app, func() { _ = w.Close() }, err
}

func work(provider, url, path string) error {
	app, done, err := open(provider, url, path)
	if err != nil {
		return err
	}
	defer done()
	return app.Run(context.Background())
}

// begin starts a worker as a process of its own; what it returns kills it.
func begin(t *testing.T, provider, url, path string) (kill func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), workerOf+"="+strings.Join([]string{provider, url, path}, " "))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(kill)
	return kill
}

// TestAWorkerThatIsKilledInTheMiddleOfAnAnswer: what was answered before is not asked again, and the answer under way
// is paid for twice, which the answer says.
func TestAWorkerThatIsKilledInTheMiddleOfAnAnswer(t *testing.T) {
	t.Parallel()
	for provider := range providers {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			hold := make(chan struct{})
			s := wiretest.New(t, func(n int, r *wiretest.Request) wiretest.Answer {
				a := umbrella(n, r)
				if n == 2 {
					a.Pieces, a.Hold = []string{"Perhaps "}, hold
				}
				return a
			})
			t.Cleanup(func() { close(hold) }) // before the server waits for its requests
			path := filepath.Join(t.TempDir(), "runs.db")
			app, done, err := open(provider, s.URL, path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(done)
			r, err := killed(provider, s.URL).Start(t.Context(), app, "Umbrella?")
			if err != nil {
				t.Fatal(err)
			}
			kill := begin(t, provider, s.URL, path)
			var seen []string
			for c, err := range stepwell.ReadStream[agent.Chunk](t.Context(), app, r.ID(), "words", 0) {
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case c.Reset:
					seen = append(seen, "reset")
				case c.Value.Text != "":
					seen = append(seen, c.Value.Text)
				}
				if c.Value.Text == "Perhaps " {
					kill()
					begin(t, provider, s.URL, path)
				}
			}
			want := []string{"Let me ", "look.", "Perhaps ", "reset", "Yes: ", "take ", "one."}
			if !slices.Equal(seen, want) {
				t.Errorf("got %q, want %q", seen, want)
			}
			got, err := r.Result(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			spent := agent.Spent{Turns: 2, Attempts: 3, Lost: 1, Usage: agent.Usage{Input: 150, Output: 30, CacheRead: 100}}
			if provider == "anthropic" { // it says at the beginning what it has read
				spent.Usage = agent.Usage{Input: 200, Output: 31, CacheRead: 200}
			}
			got.Spent.Cost = 0
			if got.Text != "Yes: take one." || got.Spent != spent {
				t.Errorf("got %q, %+v, want %+v", got.Text, got.Spent, spent)
			}
			var turns []int
			for _, r := range s.Requests() {
				turns = append(turns, len(r.Talk))
			}
			if want := []int{1, 4, 4}; !slices.Equal(turns, want) {
				t.Errorf("got requests with conversations of %v, want %v", turns, want)
			}
		})
	}
}
