package cli

// A run is the same over REST and from the command line, however it stands.

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world"
)

func TestRESTAndJSONShowARunAlike(t *testing.T) {
	path := fixture(t)
	url := serveFile(t, path, server.Options{})
	ask := func(route string, into any) {
		t.Helper()
		resp, err := http.Get(url + route)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(into); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", route, resp.Status, err)
		}
	}
	command := func(args ...string) string {
		t.Helper()
		code, out, errs := call{env: map[string]string{"STEPWELL_DB": path}}.do(context.Background(), append(args, "--json")...)
		if code != exitOK {
			t.Fatalf("%v: exit code %d: %s", args, code, errs)
		}
		return out
	}
	command("runs", "cancel", loopingRun, "--force")
	var page struct{ Runs []map[string]any }
	ask("/v1/runs?payloads=true&limit=200", &page)
	listed := strings.Split(strings.TrimSpace(command("runs", "list", "--limit", "200")), "\n")
	if len(page.Runs) != len(listed) {
		t.Fatalf("REST lists %d runs, the command line %d", len(page.Runs), len(listed))
	}
	seen := map[world.Status]bool{}
	for i, rest := range page.Runs {
		id := rest["id"].(string)
		seen[world.Status(rest["status"].(string))] = true
		var line, run map[string]any
		if err := json.Unmarshal([]byte(listed[i]), &line); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rest, line); diff != "" {
			t.Errorf("run %s: -REST +runs list --json\n%s", id, diff)
		}
		var shown struct{ Run map[string]any }
		if err := json.Unmarshal([]byte(command("runs", "show", id)), &shown); err != nil {
			t.Fatal(err)
		}
		ask("/v1/runs/"+id, &run)
		if diff := cmp.Diff(run, shown.Run); diff != "" {
			t.Errorf("run %s: -REST +runs show --json\n%s", id, diff)
		}
	}
	for _, status := range []world.Status{world.Pending, world.Running, world.Completed, world.Failed, world.Cancelled} {
		if !seen[status] {
			t.Errorf("no run is %s", status)
		}
	}
}
