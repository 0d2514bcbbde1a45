package lint

// This file holds the direction of imports: cmd → server → stepwell → internal/engine → internal/replay → world.

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// layer says what the packages below a directory may import of ours; "x/..." is x and all below it, "" the root package. The first
// layer that fits a directory counts.
type layer struct {
	dir    string
	allows []string
}

var layers = []layer{
	{"", []string{"world", "world/journal", "internal/engine", "internal/replay", "internal/apart", "internal/causes", "internal/check", "internal/codec", "internal/courier", "internal/crypt", "internal/history", "internal/human", "internal/kit", "internal/logs", "internal/metrics", "internal/schema", "internal/spread", "internal/timetable", "acting", "keyring", "observe", "push"}},
	{"keyring", []string{"world"}},
	{"acting", nil},
	{"api", []string{"world", "internal/human"}},
	{"operate", []string{"", "api", "internal/ops"}},
	{"client", []string{"api", "world", "world/remote/wire"}}, // no engine and no store
	{"observe", []string{"world"}},
	{"push", nil},
	{"webhook", []string{"", "world", "internal/codec", "internal/engine", "internal/replay", "internal/kit"}},
	{"durable", []string{"", "world", "internal/codec", "internal/schema"}},
	{"queue", []string{"", "keyring", "world", "internal/codec", "internal/courier", "internal/engine", "internal/kit"}},
	{"topic", []string{"", "keyring", "queue", "world", "internal/codec", "internal/courier", "internal/engine", "internal/kit", "internal/spread"}},
	{"schedule", []string{"", "world", "internal/codec", "internal/kit", "internal/replay", "internal/timetable"}},
	{"blob", []string{"", "world", "internal/apart", "internal/engine", "internal/kit"}},
	{"check", []string{"", "internal/check", "internal/kit"}},
	{"vet/...", []string{"vet"}}, // a module of its own
	{"world", nil},
	{"world/journal", []string{"world"}},
	{"world/layout", []string{"world"}},
	{"world/worldtest/...", []string{"world", "world/journal", "internal/apart", "internal/spread"}},
	{"world/remote/...", []string{"world", "world/remote/..."}}, // and the messages that it shares with the server
	{"world/rules", []string{"world"}},
	{"world/...", []string{"world", "world/layout", "world/rules", "internal/sqlfile"}}, // a world and its driver: worlds never import each other
	{"internal/replay/...", []string{"world"}},
	{"internal/codec/...", []string{"world", "internal/human"}},
	{"internal/courier/...", []string{"world", "internal/engine", "internal/logs", "internal/spread"}},
	{"internal/crypt/...", []string{"keyring", "world"}},
	{"internal/apart/...", []string{"world"}},
	{"internal/causes/...", []string{"world"}},
	{"internal/answers/...", []string{"", "world"}},
	{"internal/behaviour/...", []string{"", "internal/answers", "internal/apart", "internal/crypt", "internal/kit"}}, // tests of what authors see
	{"internal/check/...", []string{"world", "internal/engine", "internal/history", "internal/kit", "internal/replay"}},
	{"internal/clocktest/...", []string{"", "world"}},
	{"internal/crypttest/...", []string{"", "world"}},
	{"internal/demo/...", []string{"", "world", "world/journal", "internal/draw", "internal/human"}},
	{"internal/devalue/...", nil},
	{"internal/draw/...", []string{"", "world", "world/journal", "internal/human", "internal/terminal", "internal/timeline"}},
	{"internal/engine/...", []string{"observe", "world", "internal/replay", "internal/codec", "internal/logs", "internal/metrics"}},
	{"internal/metrics/...", []string{"observe", "world"}},
	{"internal/faults/...", []string{"world"}},
	{"internal/faultvfs/...", nil}, // a file system below SQLite
	{"internal/forktest/...", []string{"", "world", "world/memory", "internal/kit"}},
	{"internal/history/...", []string{"world", "world/journal"}},
	{"internal/human/...", nil},
	{"internal/kit/...", []string{"world", "internal/courier", "internal/history", "internal/replay", "internal/timetable"}},
	{"internal/lint/...", []string{"internal/sqlfile"}},
	{"internal/limits/...", []string{"", "queue", "world"}}, // tests of limits
	{"internal/starts/...", []string{"", "world"}},          // tests of what becomes of starts
	{"internal/ops/...", []string{"", "acting", "api", "queue", "world", "internal/courier", "internal/human", "internal/kit", "internal/operate", "internal/spread", "internal/timetable"}},
	{"internal/operate/...", []string{"", "world", "internal/causes", "internal/human"}},
	{"internal/logs/...", []string{"internal/human"}},
	{"internal/openapi/...", nil}, // for tests of the server
	{"internal/pgtest/...", nil},  // servers for tests of any layer
	{"internal/sample/...", nil},
	{"internal/schema/...", []string{"world"}},
	{"internal/schematest/...", []string{"internal/codec", "internal/schema"}},
	{"internal/spread/...", []string{"world"}},
	{"internal/sqlfile/...", nil},
	{"internal/soak/...", []string{"", "server", "world", "world/postgres", "world/remote", "internal/pgtest"}},
	{"internal/terminal/...", nil},
	{"internal/timetable/...", []string{"world", "internal/courier", "internal/human"}},
	{"internal/timeline/...", []string{"world", "world/journal", "internal/human"}},
	{"internal/tools/docsite", []string{"server/site", "internal/cli"}}, // whose commands it describes
	{"internal/tools/children", []string{"", "world/sqlite"}},           // a program of scale tests
	{"internal/tools/clientpython", []string{"internal/pgtest"}},
	{"internal/tools/clientpython/worker", []string{"", "world/remote", "world/sqlite", "world/postgres"}},
	{"internal/tools/finished", []string{"world", "world/sqlite", "world/postgres"}},     // fills a database
	{"internal/tools/sleepers", []string{"", "world", "world/sqlite", "world/postgres"}}, // a program of scale tests
	{"internal/tools/waiters", []string{"", "internal/faults", "world", "world/sqlite"}}, // a program of kill tests
	{"internal/tools/workflowdevkit", []string{"internal/pgtest"}},
	{"internal/tools/withpostgres", []string{"internal/pgtest"}},
	{"internal/tools/clienttypescript", []string{"", "internal/pgtest", "world/remote", "world/sqlite", "world/postgres"}},
	{"internal/tools/...", nil},
	{"internal/uitest/...", []string{"", "server", "world", "world/memory"}}, // for tests of server/ui
	{"telemetry/...", []string{"", "world", "internal/logs", "internal/metrics"}},
	{"stepwelltest/sqlitetest", []string{"stepwelltest", "world", "world/sqlite"}},
	{"stepwelltest/postgrestest", []string{"stepwelltest", "world", "world/postgres"}},
	{"stepwelltest/...", []string{"", "world", "world/journal", "world/memory", "world/worldtest", "internal/engine", "internal/replay", "internal/codec", "internal/faults", "internal/kit", "internal/timeline"}},
	{"server/...", []string{"", "acting", "api", "client", "docs", "world", "world/journal", "world/remote/...", "server/...", "internal/apart", "internal/courier", "internal/devalue", "internal/human", "internal/kit", "internal/logs", "internal/metrics", "internal/operate", "internal/ops", "internal/schema", "internal/spread", "internal/timeline", "internal/timetable"}},
	{"internal/cli", []string{"", "acting", "api", "world/...", "server/...", "telemetry", "internal/courier", "internal/crypt", "internal/demo", "internal/draw", "internal/human", "internal/logs", "internal/operate", "internal/ops", "internal/schema", "internal/spread", "internal/terminal", "internal/timeline"}},
	{"cmd/demo", []string{"world/sqlite", "internal/demo", "internal/draw"}},
	{"cmd/...", []string{"internal/cli"}},                                          // a main function each
	{"docs", []string{"", "world", "world/sqlite", "world/postgres", "telemetry"}}, // tests of its code
	{"examples/...", []string{"", "world/...", "server", "stepwelltest/...", "examples/..."}},
}

// rooms are packages beside the root, with what not every author needs. Who may import the root may import them.
var rooms = []string{"acting", "keyring", "observe", "push", "check", "webhook", "durable", "queue", "topic", "schedule",
	"blob"}

func outside(dir string) bool { return dir == "" || slices.Contains(rooms, dir) }

// inTests is what tests of any layer may import beside. The root package and server stay out of the layers below them.
var inTests = []string{"world", "world/journal", "world/memory", "world/sqlite", "world/postgres", "world/worldtest", "internal/engine", "internal/replay", "internal/codec", "internal/faults", "internal/faultvfs", "internal/answers", "internal/clocktest", "internal/forktest", "internal/crypttest", "internal/openapi", "internal/pgtest", "internal/sample", "internal/schematest", "internal/uitest"}

func fits(pattern, dir string) bool {
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return dir == below || strings.HasPrefix(dir, below+"/")
	}
	return dir == pattern
}

func fitsAny(patterns []string, dir string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return fits(p, dir) })
}

func importRule(s *source) (faults []string) {
	i := slices.IndexFunc(layers, func(l layer) bool { return fits(l.dir, s.dir) })
	if i < 0 {
		return []string{fmt.Sprintf("%s: the directory %s has no layer: say in internal/lint what it may import", s.path, s.dir)}
	}
	for _, imp := range s.file.Imports {
		p := strings.Trim(imp.Path.Value, `"`)
		if p != module && !strings.HasPrefix(p, module+"/") {
			continue
		}
		dir := strings.TrimPrefix(strings.TrimPrefix(p, module), "/")
		switch {
		case dir == s.dir, fitsAny(layers[i].allows, dir), outside(dir) && !outside(s.dir) && fitsAny(layers[i].allows, ""), s.allowed(imp.Pos()):
		case s.test && (fitsAny(inTests, dir) || fits("stepwelltest/...", dir) && !fits("world/...", s.dir)):
		case s.test && dir == "" && outside(s.dir), s.test && dir == "topic" && s.dir == "": // examples
		case outside(dir) && s.test && strings.HasSuffix(s.file.Name.Name, "_test") && fits("world/...", s.dir): // what authors see of a world
		default:
			faults = append(faults, fmt.Sprintf("%s: imports %s, which is not below it", s.at(imp.Pos()), p))
		}
	}
	return faults
}

func TestImports(t *testing.T) { check(t, importRule) }

// TestLayers: the list names directories that are there, and nothing else.
func TestLayers(t *testing.T) {
	for _, l := range layers {
		for _, dir := range append([]string{l.dir}, l.allows...) {
			if info, err := os.Stat(filepath.Join(root, filepath.FromSlash(strings.TrimSuffix(dir, "/...")))); err != nil || !info.IsDir() {
				t.Errorf("the layers name %q, which is no directory", dir)
			}
		}
	}
}

func TestImportRule(t *testing.T) {
	for name, test := range map[string]struct {
		path, imports string
		want          int
		name          string // of the package; "": p
	}{
		"world imports nothing":      {"world/x.go", module + "/internal/codec", 1, ""},
		"a world's inner test":       {"world/sqlite/x_test.go", module, 1, ""},
		"a room and the root":        {"keyring/x.go", module, 1, ""},
		"the server and a room":      {"server/x.go", module + "/keyring", 0, ""},
		"the engine and a room":      {"internal/engine/x.go", module + "/keyring", 1, ""},
		"a world's outer test":       {"world/sqlite/x_test.go", module, 0, "sqlite_test"},
		"the engine's outer test":    {"internal/engine/x_test.go", module, 1, "engine_test"},
		"worlds apart":               {"world/sqlite/x.go", module + "/world/memory", 1, ""},
		"a world imports world":      {"world/sqlite/x.go", module + "/world", 0, ""},
		"a world's test":             {"world/sqlite/x_test.go", module + "/world/worldtest", 0, ""},
		"replay is below the engine": {"internal/replay/x.go", module + "/internal/engine", 1, ""},
		"engine and replay":          {"internal/engine/x.go", module + "/internal/replay", 0, ""},
		"root and server":            {"x.go", module + "/server", 1, ""},
		"engine and root":            {"internal/engine/x_test.go", module, 1, ""},
		"server and codec":           {"server/x.go", module + "/internal/codec", 1, ""},
		"the commands and server":    {"internal/cli/x.go", module + "/server", 0, ""},
		"examples and server":        {"examples/a/x.go", module + "/server", 0, ""},
		"examples and codec":         {"examples/a/x.go", module + "/internal/codec", 1, ""},
		"no layer":                   {"newdir/x.go", "fmt", 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			name := cmp.Or(test.name, "p")
			s := mustParse(t, test.path, fmt.Sprintf("package %s\nimport _ %q\n", name, test.imports))
			if got := importRule(s); len(got) != test.want {
				t.Errorf("got %q, want %d faults", got, test.want)
			}
		})
	}
}

func TestPackageNames(t *testing.T) { check(t, nameRule) }

var forbiddenNames = []string{"util", "utils", "common", "helper", "helpers", "types", "models", "pkg", "misc"}

func nameRule(s *source) (faults []string) {
	for _, name := range []string{strings.TrimSuffix(s.file.Name.Name, "_test"), path.Base(s.dir), strings.TrimSuffix(path.Base(s.path), ".go")} {
		if slices.Contains(forbiddenNames, name) {
			faults = append(faults, fmt.Sprintf("%s: the name %s says nothing about what is in it", s.path, name))
		}
	}
	return faults
}

func TestNameRule(t *testing.T) {
	for p, want := range map[string]bool{"util/a.go": true, "world/helpers.go": true, "world/id.go": false} {
		if got := len(nameRule(mustParse(t, p, "package p"))) > 0; got != want {
			t.Errorf("%s: got %v, want %v", p, got, want)
		}
	}
}

// TestDependencies: what an application links with the core is a golden file, and no server, command line or telemetry is in it.
func TestDependencies(t *testing.T) {
	core := []string{"./world", "./internal/replay", "./internal/engine", "./internal/codec"}
	if slices.ContainsFunc(sources(t), func(s *source) bool { return s.dir == "" && !s.test }) {
		core = append(core, ".")
	}
	cmd := exec.Command("go", append([]string{"list", "-deps", "-f", "{{.ImportPath}} {{with .Module}}{{.Path}}{{end}}"}, core...)...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var modules []string
	for line := range strings.Lines(string(out)) {
		pkg, mod, _ := strings.Cut(strings.TrimSpace(line), " ")
		for _, no := range []string{module + "/server", module + "/cmd", module + "/telemetry", module + "/stepwelltest", "testing", "flag", "expvar",
			"net/http/pprof", "github.com/spf13", "go.opentelemetry.io", "github.com/prometheus"} {
			if pkg == no || strings.HasPrefix(pkg, no+"/") {
				t.Errorf("the core links %s", pkg)
			}
		}
		if mod != "" && mod != module {
			modules = append(modules, mod)
		}
	}
	slices.Sort(modules)
	got := strings.Join(slices.Compact(modules), "\n") + "\n"
	golden := filepath.Join("testdata", "dependencies.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("modules that the core links: got\n%swant\n%sA new one needs its reason in the commit; make golden writes the file", got, want)
	}
}
