package cli

// Golden files of what commands print, at fixed times, from a real file.

import (
	"context"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell/server"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with testdata/name.golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
		t.Errorf("%s: -want +got:\n%s", path, diff)
	}
}

func TestGolden(t *testing.T) {
	path := fixture(t)
	url := serveFile(t, path, server.Options{})
	terminal := call{terminal: true, env: map[string]string{}}
	noColour := call{terminal: true, env: map[string]string{"NO_COLOR": "1"}}
	columns := func(n string) call {
		return call{terminal: true, env: map[string]string{"NO_COLOR": "1", "COLUMNS": n}}
	}
	for name, test := range map[string]struct {
		call call
		args string
	}{
		"list":           {call{}, "runs list"},
		"list-terminal":  {terminal, "runs list"},
		"list-filtered":  {call{}, "runs list --workflow order --status running --limit 2"},
		"list-80":        {columns("80"), "runs list"},
		"list-120":       {columns("120"), "runs list"},
		"list-piped":     {call{env: map[string]string{"COLUMNS": "80"}}, "runs list --status blocked"},
		"show-80":        {columns("80"), "runs show " + blockedRun},
		"show-120":       {columns("120"), "runs show " + blockedRun},
		"retrying-80":    {columns("80"), "runs show " + retryingRun},
		"workers-40":     {columns("40"), "workers"},
		"hooks-80":       {columns("80"), "hooks list"},
		"list-json":      {call{}, "runs list --status failed --json"},
		"list-searched":  {call{}, "runs list --search order --status sleeping,waiting,retrying --roots"},
		"list-stopped":   {call{}, "runs list --status blocked,paused"},
		"show-waiting":   {noColour, "runs show " + waitingRun},
		"show-colours":   {terminal, "runs show " + waitingRun},
		"show-pipe":      {call{}, "runs show " + waitingRun},
		"show-json":      {call{}, "runs show " + waitingRun + " --json"},
		"show-failed":    {noColour, "runs show " + failedRun},
		"show-blocked":   {noColour, "runs show " + blockedRun},
		"show-retrying":  {noColour, "runs show " + retryingRun},
		"show-completed": {noColour, "runs show " + completedRun},
		"show-full":      {noColour, "runs show " + completedRun + " --full"},
		"show-stranger":  {noColour, "runs show " + strangerRun},
		"show-working":   {noColour, "runs show " + workingRun},
		"show-delayed":   {noColour, "runs show " + delayedRun},
		"show-paused":    {noColour, "runs show " + pausedRun},
		"show-hook":      {noColour, "runs show " + hookRun},
		"show-parent":    {noColour, "runs show " + parentRun},
		"show-sleeping":  {noColour, "runs show " + sleepingRun},
		"show-crashloop": {noColour, "runs show " + loopingRun},
		"events-of-hook": {call{}, "events " + hookRun},
		"hooks":          {call{}, "hooks list"},
		"hooks-terminal": {terminal, "hooks list"},
		"hooks-of-run":   {call{}, "hooks list --run " + hookRun + " --token order-7"},
		"hooks-json":     {call{}, "hooks list --json"},
		"events":         {call{}, "events " + waitingRun},
		"events-ids":     {call{}, "events " + failedRun + " --ids"},
		"events-of-one":  {terminal, "events " + waitingRun + " --id step_2 --type step_started,step_retrying"},
		"events-json":    {call{}, "events " + failedRun + " --json"},
		"help":           {call{}, "--help"},
		"help-runs":      {call{}, "runs"},
		"help-list":      {call{}, "runs list --help"},
		"help-show":      {call{}, "runs show --help"},
		"help-signal":    {call{}, "runs signal --help"},
		"help-cancel":    {call{}, "runs cancel --help"},
		"help-pause":     {call{}, "runs pause --help"},
		"help-resume":    {call{}, "runs resume --help"},
		"help-wake":      {call{}, "runs wake --help"},
		"help-hooks":     {call{}, "hooks"},
		"help-queues":    {call{}, "queues --help"},
		"help-mcp":       {call{}, "mcp --help"},
		"help-receive":   {call{}, "queues receive --help"},
		"help-hooks-ls":  {call{}, "hooks list --help"},
		"help-send":      {call{}, "hooks send --help"},
		"help-events":    {call{}, "events --help"},
		"help-demo":      {call{}, "demo --help"},
		"help-export":    {call{}, "export --help"},
		"help-import":    {call{}, "import --help"},
		"help-bulk":      {call{}, "bulk"},
		"help-bulk-can":  {call{}, "bulk cancel --help"},
		"failures":       {call{}, "failures"},
		"failures-80":    {columns("80"), "failures --workflow order"},
		"help-failures":  {call{}, "failures --help"},
		"workflows":      {call{}, "workflows"},
		"workflows-json": {call{}, "workflows --json"},
		"workflows-one":  {call{}, "workflows order"},
		"help-workflows": {call{}, "workflows --help"},
		"help-tail":      {call{}, "runs tail --help"},
		"tail":           {call{}, "runs tail " + completedRun},
		"help-fork":      {call{}, "runs fork --help"},
		"help-retry":     {call{}, "runs retry --help"},
		"help-restart":   {call{}, "runs restart --help"},
		"help-migrate":   {call{}, "migrate --help"},
		"help-check":     {call{}, "check --help"},
		"workers":        {call{}, "workers"},
		"workers-json":   {call{}, "workers --json"},
		"help-doctor":    {call{}, "doctor --help"},
		"help-exit":      {call{}, "help exit-codes"},
	} {
		for variable, value := range map[string]string{"STEPWELL_DB": path, "STEPWELL_SERVER": url} { // the same is printed of both
			t.Run(name+" "+variable, func(t *testing.T) {
				env := map[string]string{variable: value}
				maps.Copy(env, test.call.env)
				code, out, errs := call{terminal: test.call.terminal, env: env}.do(context.Background(), strings.Fields(test.args)...)
				if code != exitOK {
					t.Fatalf("exit code %d, want 0; stderr: %s", code, errs)
				}
				if errs != "" {
					out += "--- stderr\n" + errs
				}
				golden(t, name, out)
			})
		}
	}
}
