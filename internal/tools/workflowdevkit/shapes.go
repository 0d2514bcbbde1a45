package main

// The shapes of workflows on the newest runtime that is published: results are held against what they must be, and
// positions of events must be dense.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// line is a line of the DevKit's packages: what an app of it needs, with the versions that belong together.
type line struct {
	version  string            // of the runtime
	packages map[string]string // beside it
}

var newestLine = line{"5.0.0-beta.55", map[string]string{"@workflow/world": "5.0.0-beta.37"}}

// oldLine is the newest runtime that takes a world-postgres which npm has whole. That declares spec version 5, and
// since events have positions (6) runtimes refuse it; its last release, 5.0.0-beta.29, wants packages that were not
// published.
var oldLine = line{"5.0.0-beta.35", map[string]string{"@workflow/world": "5.0.0-beta.21", "@workflow/world-postgres": "5.0.0-beta.27"}}

// unused are packages of the DevKit that an app without a framework does not need.
var unused = []string{"astro", "nest", "next", "nitro", "nuxt", "rollup", "sveltekit", "typescript-plugin", "vite", "web"}

// installLine has the shapes built with a line's packages, and returns the folder.
func installLine(dir string, l *line) (string, error) {
	in := filepath.Join(dir, "runtime-"+l.version)
	if err := errors.Join(os.RemoveAll(filepath.Join(in, "workflows")), os.RemoveAll(filepath.Join(in, "app.mjs"))); err != nil {
		return "", err
	}
	if err := os.CopyFS(in, os.DirFS("clients/wdk/test/shapes")); err != nil {
		return "", err
	}
	dependencies, overrides := map[string]string{"workflow": l.version, "@hono/node-server": "1.19.19"}, map[string]string{}
	for name, version := range l.packages {
		dependencies[name] = version
	}
	for _, name := range unused {
		overrides["@workflow/"+name] = "file:../empty"
	}
	want, err := json.MarshalIndent(map[string]any{
		"name": "shapes", "private": true, "type": "module", "dependencies": dependencies, "overrides": overrides,
	}, "", "  ")
	if err != nil {
		return "", err
	}
	manifest := filepath.Join(in, "package.json")
	was, _ := os.ReadFile(manifest) // none: it was not there
	if _, err := os.Stat(filepath.Join(in, "node_modules", "workflow")); err != nil || !bytes.Equal(was, want) {
		if err := errors.Join(os.RemoveAll(filepath.Join(in, "node_modules")), os.WriteFile(manifest, want, 0o644)); err != nil {
			return "", err
		}
		if err := npmInstall(in); err != nil {
			return "", err
		}
	}
	client := filepath.Join(in, "node_modules", "@stepwell", "world")
	if err := os.RemoveAll(client); err != nil {
		return "", err
	}
	if err := os.CopyFS(client, os.DirFS(filepath.Join(dir, "node_modules", "@stepwell", "world"))); err != nil {
		return "", err
	}
	build := exec.Command(filepath.Join(in, "node_modules", ".bin", "workflow"), "build")
	build.Dir = in
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("workflow build of %s: %w\n%s", l.version, err, out)
	}
	return in, nil
}

// shape is a run of a workflow of clients/wdk/test/shapes, and what must come of it.
type shape struct {
	title  string
	name   string
	args   []any
	token  bool   // it takes payloads: its argument is the hook's token
	result any    // of JSON
	told   string // what its stream must have; "": it has none
	killed bool   // with -kill: while the server is killed, too

	// repeats: its messages come twice. So bodies of steps may run twice, which write to the stream twice; each has one
	// result.
	repeats bool
}

func serialOf(n int) shape {
	return shape{title: fmt.Sprintf("%d serial steps", n), name: "serial", args: []any{n}, result: float64(n)}
}

func fanOf(n int) shape {
	return shape{title: fmt.Sprintf("fan-out %d", n), name: "fan", args: []any{n}, result: float64(n * (n + 1) / 2)}
}

var shapes = []shape{
	serialOf(3), serialOf(50), serialOf(1000), killedOf(fanOf(10)), fanOf(100), fanOf(300),
	{title: "race of two steps", name: "raceSteps", result: "fast"},
	{title: "race of a step and a longer sleep", name: "raceStepSleep", result: "step"},
	{title: "race of a sleep and a longer step", name: "raceSleepStep", result: "sleep"},
	{title: "loop over a hook", name: "hookLoop", token: true, result: 9., killed: true},
	{title: "stream across sleeps", name: "streamSleeps", result: 3., told: "[1 2 3]", killed: true},
}

func killedOf(s shape) shape {
	s.killed = true
	return s
}

// ran is what an app says of a run.
type ran struct {
	RunID  string
	Result any
	Told   []int
	Ms     int64 // from its creation to its end, as its World has them
	Events int
	Dense  bool // the IDs of its events are positions from 1 on
}

// do runs a shape, and refuses a result that is not right.
func (s *shape) do(a *app, most time.Duration) (out ran, err error) {
	args := s.args
	in := map[string]any{"name": s.name, "stream": s.told != ""}
	if s.token {
		token := fmt.Sprintf("token-%d", time.Now().UnixNano())
		args, in["token"] = []any{token}, token
	}
	if args == nil {
		args = []any{}
	}
	in["args"] = args
	body, err := json.Marshal(in)
	if err == nil {
		err = a.within(most, "POST", "/do", string(body), &out)
	}
	if err != nil {
		return out, fmt.Errorf("%s: %w", s.title, err)
	}
	if s.repeats {
		first := out.Told[:0]
		for _, n := range out.Told {
			if !slices.Contains(first, n) {
				first = append(first, n)
			}
		}
		out.Told = first
	}
	if told := fmt.Sprint(out.Told); out.Result != s.result || s.told != "" && told != s.told {
		return out, fmt.Errorf("%s, run %s: the result is %v, and what was told %s: want %v, %s", s.title, out.RunID, out.Result, told, s.result, s.told)
	}
	return out, nil
}

// doDense runs a shape, and refuses holes between the positions of its events.
func (s *shape) doDense(a *app, most time.Duration) error {
	out, err := s.do(a, most)
	if err == nil && !out.Dense {
		err = fmt.Errorf("%s, run %s: the positions of its %d events are not dense", s.title, out.RunID, out.Events)
	}
	return err
}

// startShapes starts the app of the shapes, on the newest runtime.
func startShapes(dir, data, world string) (*app, error) {
	in := filepath.Join(dir, "runtime-"+newestLine.version)
	return startNode(in, filepath.Join(data, "app.log"), "listening", "app.mjs", onStepwell(world)...)
}

// newest runs all shapes on a store.
func newest(dir, data, which string, s *server) error {
	a, err := startShapes(dir, data, s.url())
	if err != nil {
		return err
	}
	defer a.stop()
	for i := range shapes {
		began := time.Now()
		if err := shapes[i].doDense(a, 10*time.Minute); err != nil {
			log, _ := os.ReadFile(a.logs)
			return fmt.Errorf("on %s: %w\n%s", which, err, log)
		}
		fmt.Printf("%s: %s: %s\n", which, shapes[i].title, time.Since(began).Round(time.Millisecond))
	}
	fmt.Printf("Workflow DevKit %s on %s: %d shapes, results right, positions dense\n", newestLine.version, which, len(shapes))
	return nil
}
