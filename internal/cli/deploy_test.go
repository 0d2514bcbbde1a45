package cli

// deploy/: what its files name is there, in the code and on disk. No image is built and no cluster is asked.

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/server"
)

var deployDir = filepath.Join("..", "..", "deploy")

func deployed(t *testing.T, name ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{deployDir}, name...)...))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// ours are the files in deploy/ that start our programs.
func ours(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{"Dockerfile", "README.md", "systemd/*.service", "kubernetes/*.yaml"} {
		found, err := filepath.Glob(filepath.Join(deployDir, filepath.FromSlash(pattern)))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: got %d files, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	return files
}

// variables are all that the settings tables of the pages have: each table is held to its code elsewhere.
func variables(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{"STEPWELL_DB": true}
	for i := range serverSettings {
		known[serverSettings[i].env()] = true
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operating.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| field of `Config`")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, name := range variable.FindAllString(table, -1) {
		known[name] = true
	}
	if len(known) < 20 {
		t.Fatalf("got %d variables, want all", len(known))
	}
	return known
}

var (
	variable = regexp.MustCompile(`\b(?:STEPWELL|WORKFLOWS)_[A-Z_]*[A-Z]\b`)
	flagged  = regexp.MustCompile(`stepwell"?,? "?([a-z]+)[^\n]*`)
	longFlag = regexp.MustCompile(`--([a-z][a-z-]+)`)
)

// TestDeployNames: each variable is one of the tables, each command of ours is there, and has the flags that it is given.
func TestDeployNames(t *testing.T) {
	t.Parallel()
	known := variables(t)
	root := rootCommand(newCLI(&shell{}))
	commands := 0
	for _, file := range ours(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range variable.FindAllString(string(text), -1) {
			if !known[name] {
				t.Errorf("%s: no program knows the variable %s", file, name)
			}
		}
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "ExecStart=") && !strings.Contains(line, "CMD [") && !strings.Contains(line, "`stepwell ") && !strings.Contains(line, "./stepwell ") {
				continue
			}
			m := flagged.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			cmd, _, err := root.Find([]string{m[1]})
			if err != nil || cmd == root {
				t.Errorf("%s: there is no command %q in %q", file, m[1], line)
				continue
			}
			commands++
			for _, f := range longFlag.FindAllStringSubmatch(m[0], -1) {
				if cmd.Flag(f[1]) == nil {
					t.Errorf("%s: %s has no flag --%s", file, cmd.CommandPath(), f[1])
				}
			}
		}
		if args := regexp.MustCompile(`(?m)^\s+args: \[(\w+)\]`).FindStringSubmatch(string(text)); args != nil {
			if cmd, _, err := root.Find(args[1:]); err != nil || cmd == root {
				t.Errorf("%s: there is no command %q", file, args[1])
			}
			commands++
		}
	}
	if commands < 5 {
		t.Errorf("got %d commands, want those of all files", commands)
	}
}

// TestDockerfile: what is copied from here is here, what is copied from the first stage was made there, and the build's variable is the program's.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	text := deployed(t, "Dockerfile")
	copies := 0
	for _, m := range regexp.MustCompile(`(?m)^COPY ((?:--\S+ )*)(.+) (\S+)$`).FindAllStringSubmatch(text, -1) {
		for source := range strings.FieldsSeq(m[2]) {
			copies++
			if strings.Contains(m[1], "--from=build") {
				if !strings.Contains(text, "-o "+source+" ") && !strings.Contains(text, "mkdir "+source+"\n") {
					t.Errorf("COPY %s: the first stage does not make it", source)
				}
			} else if _, err := os.Stat(filepath.Join("..", "..", source)); err != nil {
				t.Errorf("COPY %s: %v", source, err)
			}
		}
	}
	ignored := deployed(t, "Dockerfile.dockerignore")
	for _, needed := range []string{"go.mod", "go.sum", "cmd", "server", "world", "internal", "telemetry"} {
		if regexp.MustCompile(`(?m)^` + needed + `$`).MatchString(ignored) {
			t.Errorf("Dockerfile.dockerignore leaves out %s, which the build needs", needed)
		}
	}
	source, err := os.ReadFile("version.go")
	if err != nil {
		t.Fatal(err)
	}
	if copies != 3 || !strings.Contains(text, "-X github.com/stepwell/stepwell/internal/cli.version=") || !regexp.MustCompile(`(?m)^\tversion string$`).Match(source) {
		t.Errorf("got %d copied paths, want 3, and -X …/internal/cli.version", copies)
	}
	goMod, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	wants := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(goMod)
	has := regexp.MustCompile(`FROM \S+ golang:(\d+\.\d+)`).FindStringSubmatch(text)
	if wants == nil || has == nil || string(wants[1]) != has[1] {
		t.Errorf("the image has Go %q, go.mod wants %q", has, wants)
	}
	for _, needed := range []string{"CGO_ENABLED=0", "\nUSER 65532:65532\n", "\nVOLUME /data\n", "\nHEALTHCHECK "} {
		if !strings.Contains(text, needed) {
			t.Errorf("the Dockerfile lacks %q", needed)
		}
	}
}

// TestStopsInTime: who would kill a process waits longer than the process takes to end.
func TestStopsInTime(t *testing.T) {
	t.Parallel()
	n := 0
	for _, file := range ours(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq(string(text), "\n---\n") {
			kill := regexp.MustCompile(`(?:TimeoutStopSec=|terminationGracePeriodSeconds: )(\d+)`).FindStringSubmatch(part)
			if kill == nil || strings.HasSuffix(file, ".md") {
				continue
			}
			has := span(t, kill[1]+"s")
			needs := 10 * time.Second // the defaults of --shutdown-timeout and of Config.Drain
			for _, m := range regexp.MustCompile(`(?:STEPWELL_SHUTDOWN_TIMEOUT|STEPWELL_DRAIN)(?:=|, value: )(\w+)`).FindAllStringSubmatch(part, -1) {
				needs = max(needs, span(t, m[1]))
			}
			n++
			if needs += needs * 2 / 5; has < needs+5*time.Second {
				t.Errorf("%s: it is killed after %s, and may need %s", file, has, needs)
			}
		}
	}
	if n != 5 {
		t.Errorf("got %d limits, want 5", n)
	}
}

func span(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := server.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
