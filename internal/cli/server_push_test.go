package cli

// The server that pushes, as people start it, and health that tells of its endpoints.

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world/memory"
)

// TestHealthOfEndpoints: health says of each endpoint how it is, and fails where one is not well.
func TestHealthOfEndpoints(t *testing.T) {
	t.Parallel()
	const secret = "a-secret-of-both-sides"
	secrets, err := server.ParsePushSecrets(secret)
	if err != nil {
		t.Fatal(err)
	}
	w := memory.New()
	app, err := stepwell.New(w, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	flow, err := server.NewFlow(app, server.FlowOptions{Secrets: secrets})
	if err != nil {
		t.Fatal(err)
	}
	program := httptest.NewServer(flow)
	defer program.Close()
	file := filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(file, []byte("# of both\n"+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"STEPWELL_DB": filepath.Join(t.TempDir(), "app.db"), "STEPWELL_PUSH": program.URL, "STEPWELL_PUSH_SECRET_FILE": file,
	}
	addr := served(t, env)
	ask := func(args ...string) (int, string, string) {
		return call{}.do(t.Context(), append([]string{"health", "http://" + addr}, args...)...)
	}
	for limit := time.Now().Add(20 * time.Second); ; <-time.After(5 * time.Millisecond) {
		code, out, errs := ask()
		if code == exitOK && strings.Contains(out, "push      "+program.URL+" ok") {
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("got %d, %q, %q, want the endpoint to be well", code, out, errs)
		}
	}
	if _, out, _ := ask("--json"); !strings.Contains(out, `{"endpoint":"`+program.URL+`","healthy":true,"circuit":"closed"}`) {
		t.Errorf("--json: got %s", out)
	}
	env["STEPWELL_PUSH"] = "http://127.0.0.1:1"
	addr = served(t, env)
	if code, out, errs := ask(); code != exitFailure || !strings.Contains(out, "push      http://127.0.0.1:1 ") || !strings.Contains(errs, "curl http://127.0.0.1:1/.well-known") {
		t.Errorf("nobody there: got %d, %q, %q, want it to fail, and what to do", code, out, errs)
	}
}

func TestPushSettings(t *testing.T) {
	t.Parallel()
	read := func(env map[string]string) (*serverConfig, error) {
		c := newCLI(&shell{getenv: func(k string) string { return env[k] }})
		return serverConfigOf(c, serverCommand(c).Flags())
	}
	cfg, err := read(map[string]string{
		"STEPWELL_PUSH": "https://a.example.com, https://b.example.com/x", "STEPWELL_PUSH_SECRET": "secret-number-one-of-two,secret-number-two-of-two",
		"STEPWELL_PUSH_CONCURRENCY": "7", "STEPWELL_PUSH_MARGIN": "5s", "STEPWELL_PUSH_REFRESH": "2m", "STEPWELL_PUSH_FAILURES": "9",
	})
	if err != nil {
		t.Fatal(err)
	}
	p := cfg.options.Push
	if !slices.Equal(p.Endpoints, []string{"https://a.example.com", "https://b.example.com/x"}) || len(p.Secrets) != 2 || p.Concurrency != 7 ||
		p.Margin != 5*time.Second || p.Refresh != 2*time.Minute || p.Failures != 9 {
		t.Errorf("got %+v", p)
	}
	for name, env := range map[string]map[string]string{
		"STEPWELL_PUSH":        {"STEPWELL_PUSH": "a.example.com"},
		"STEPWELL_PUSH_SECRET": {"STEPWELL_PUSH": "https://a.example.com", "STEPWELL_PUSH_SECRET": "short"},
		"--push-secret":        {"STEPWELL_PUSH_SECRET": "secret-number-one-of-two"},
	} {
		if _, err := read(env); err == nil || !strings.Contains(err.Error(), name+":") || strings.Contains(err.Error(), "short") {
			t.Errorf("%s: got %v, want it refused by its name", name, err)
		}
	}
}
