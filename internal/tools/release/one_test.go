package release

// One target, for every change: the program with the flags of a release, and its image. What takes minutes is dist_test.go's.

import (
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/oasdiff/yaml"
)

const root = "../../.."

// config is what is read of .goreleaser.yaml.
type config struct {
	Builds []struct {
		Dir, Main, Binary   string
		Env, Flags, Ldflags []string
		Goos, Goarch        []string
		ModTimestamp        string `json:"mod_timestamp"`
	}
}

func readConfig(t *testing.T) (c config) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := yaml.Unmarshal(text, &c, yaml.DecodeOpts{}); err != nil {
		t.Fatal(err)
	}
	if len(c.Builds) != 1+len(helpers) || len(c.Builds[0].Ldflags) != 1 {
		t.Fatalf("got %+v, want a build of each program, the first with one line of flags for the linker", c)
	}
	return c
}

// said is what `stepwell version --json` writes.
type said struct{ Version, Commit, Date, Platform string }

func versionOf(t *testing.T, program string) (s said) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, "version", "--json").Output()
	if err != nil {
		t.Fatalf("%s version: %v", program, err)
	}
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatalf("%s version: %v in %s", program, err, out)
	}
	return s
}

// helper is a program that stepwell starts: each is a module of its own.
type helper struct {
	name, dir, main string
	module          string // that it is built from, and the command is not
}

// helpers are those of stepwell mcp and stepwell vet.
var helpers = []helper{
	{"stepwell-mcp", "cmd/stepwell-mcp", ".", "github.com/modelcontextprotocol/go-sdk"},
	{"stepwellvet", "vet", "./cmd/stepwellvet", "golang.org/x/tools"},
}

// grpc is a module that the command of a release has, and the one of a checkout has not.
const grpc = "google.golang.org/grpc"

// TestOneTarget builds for this machine's processor what a release has for Linux, asks it for its version, and makes its image. It leaves out -trimpath,
// for which all would have to be compiled again.
func TestOneTarget(t *testing.T) {
	builds := readConfig(t).Builds
	b := builds[0]
	for i, h := range helpers {
		if other := builds[1+i]; other.Binary != h.name || other.Dir != h.dir || other.Main != h.main || !slices.Equal(other.Goos, b.Goos) || !slices.Equal(other.Goarch, b.Goarch) ||
			!slices.Equal(other.Flags, b.Flags) || !slices.Equal(other.Env, b.Env) {
			t.Errorf("got the other build %+v, want %s, built as the first", other, h.name)
		}
	}
	if want := []string{"linux", "darwin", "windows"}; !slices.Equal(b.Goos, want) || !slices.Equal(b.Goarch, []string{"amd64", "arm64"}) {
		t.Errorf("got %v, %v, want %v on amd64 and arm64", b.Goos, b.Goarch, want)
	}
	if i := slices.Index(b.Flags, "-trimpath"); i < 0 {
		t.Error("a release is built without -trimpath")
	} else {
		b.Flags = slices.Delete(b.Flags, i, i+1)
	}
	want := said{"v9.8.7", "0123456789abcdef0123456789abcdef01234567", "2026-01-02T03:04:05Z", "linux/" + runtime.GOARCH}
	ldflags := strings.NewReplacer("{{.Version}}", want.Version[1:], "{{.FullCommit}}", want.Commit, "{{.CommitDate}}", want.Date).Replace(b.Ldflags[0])
	program := filepath.Join(t.TempDir(), b.Binary)
	cmd := exec.CommandContext(t.Context(), "go", append(append([]string{"build", "-ldflags", ldflags, "-o", program}, b.Flags...), b.Main)...)
	cmd.Dir, cmd.Env = filepath.Join(root, b.Dir), append(append(os.Environ(), "GOOS=linux", "GOWORK=off"), b.Env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	static(t, program, "modernc.org/sqlite")
	static(t, program, grpc)
	layers := filepath.Join(t.TempDir(), "image")
	cmd = exec.CommandContext(t.Context(), "go", "run", "./image", "-version", want.Version, "-commit", want.Commit, "-date", want.Date, "-out", layers,
		want.Platform+"="+program)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	checkImage(t, layers, want.Date, want, map[string]string{want.Platform: program})
	if runtime.GOOS != "linux" {
		return
	}
	if got := versionOf(t, program); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// static fails where a program for Linux needs a library or an interpreter, or does not say that it was built from a module.
func static(t *testing.T, path, module string) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	libraries, err := f.ImportedLibraries()
	if err != nil || len(libraries) > 0 || f.Section(".interp") != nil {
		t.Errorf("%s needs %v, %v: it is not static", path, libraries, err)
	}
	if info, err := buildinfo.ReadFile(path); err != nil || !slices.ContainsFunc(info.Deps, func(m *debug.Module) bool { return m.Path == module }) {
		t.Errorf("%s does not say what it was built from: %v", path, err)
	}
}

// TestWorkflowsTakeTheNewestPatch: go.mod names the oldest Go that will do. What a release is built with is the newest of that line.
func TestWorkflowsTakeTheNewestPatch(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(mod))
	files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yml"))
	if err != nil || line == nil {
		t.Fatal(err, line)
	}
	n := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, with := range regexp.MustCompile(`uses: actions/setup-go@\S+\n +with: (.*)`).FindAllStringSubmatch(string(text), -1) {
			if n++; !strings.HasPrefix(with[1], `{go-version: "`+line[1]+`", check-latest: true}`) {
				t.Errorf("%s: %s, want the newest patch of Go %s", file, with[1], line[1])
			}
		}
		for _, image := range regexp.MustCompile(`golang:(\S+)-bookworm`).FindAllStringSubmatch(string(text), -1) {
			if n++; image[1] != line[1] {
				t.Errorf("%s: the image of Go %s, want %s", file, image[1], line[1])
			}
		}
	}
	if n < 3 {
		t.Errorf("got %d places, want the two of release.yml and the one of ci.yml", n)
	}
}
