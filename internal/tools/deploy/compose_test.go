package deploy

// compose.yaml, as Compose loads it: it refuses what it does not know, and anchors and variables are put in.

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

func loadCompose(t *testing.T, env types.Mapping) (*types.Project, error) {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(root, "deploy"))
	if err != nil {
		t.Fatal(err)
	}
	return loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: dir, Environment: env, ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(dir, "compose.yaml")}},
	})
}

func TestCompose(t *testing.T) {
	if _, err := loadCompose(t, types.Mapping{}); err == nil || !strings.Contains(err.Error(), "STEPWELL_API_KEY") {
		t.Errorf("without a key: got %v, want it refused", err)
	}
	p, err := loadCompose(t, types.Mapping{"STEPWELL_API_KEY": "admin:me:0123456789abcdef0123"})
	if err != nil {
		t.Fatal(err)
	}
	if names := p.ServiceNames(); !slices.Equal(names, []string{"postgres", "server", "worker"}) {
		t.Fatalf("got the services %v", names)
	}
	worker := p.Services["worker"]
	if n := worker.GetScale(); n != 2 {
		t.Errorf("got %d workers, want 2", n)
	}
	if s := p.Services["postgres"]; s.HealthCheck == nil || len(s.Ports) > 0 {
		t.Errorf("postgres: got health %v, ports %v, want the one and none of the other", s.HealthCheck, s.Ports)
	}
	database := *p.Services["server"].Environment["STEPWELL_DB"]
	if !slices.Contains(p.Services["worker"].Command, database) {
		t.Errorf("the worker's command %q has another database than the server, %s", p.Services["worker"].Command, database)
	}
	for _, name := range []string{"server", "worker"} {
		s := p.Services[name]
		if on, ok := s.DependsOn["postgres"]; !ok || on.Condition != types.ServiceConditionHealthy {
			t.Errorf("%s: it depends on %v, want a database that is well", name, s.DependsOn)
		}
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || time.Duration(*s.StopGracePeriod) < 20*time.Second {
			t.Errorf("%s: got read only %v, dropped %v, grace %v", name, s.ReadOnly, s.CapDrop, s.StopGracePeriod)
		}
		if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for arg, is := range s.Build.Args {
			if _, err := os.Stat(filepath.Join(s.Build.Context, *is)); arg != "PROGRAM" || err != nil {
				t.Errorf("%s: %s=%s: %v", name, arg, *is, err)
			}
		}
	}
	for _, port := range p.Services["server"].Ports {
		if port.HostIP != "127.0.0.1" {
			t.Errorf("the server is reached at %q, want this machine alone", port.HostIP)
		}
	}
}
