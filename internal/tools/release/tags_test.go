package release

// The tags of the modules beside the main one: tags.sh, as the workflow calls it, with a repository on this machine as
// the remote. What it pushed is then what go get finds.

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// tagged are the modules that a release tags.
var tagged = []string{"agent", "telemetry/otlp", "vet/golangci", "vet"} // as git sorts their tags

const mainModule = "github.com/stepwell/stepwell"

// shell is where the commands of a test run.
type shell struct {
	*testing.T
	dir string
	env []string
}

func (s *shell) try(name string, args ...string) (string, error) {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), name, args...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), s.env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func (s *shell) run(name string, args ...string) string {
	s.Helper()
	out, err := s.try(name, args...)
	if err != nil {
		s.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

func TestTags(t *testing.T) {
	version := nextVersion(t)
	home := t.TempDir()
	bare, tree := filepath.Join(home, "remote.git"), filepath.Join(home, "tree")
	s := &shell{t, tree, []string{"HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"}}
	copyTree(t, tree)
	for _, args := range [][]string{{"init", "-q", "--bare", bare}, {"init", "-q"}, {"add", "-A"}, {"commit", "-qm", "all"}, {"remote", "add", "origin", bare}, {"push", "-q", "origin", "HEAD:main"}} {
		s.run("git", args...)
	}
	const script = "internal/tools/release/tags.sh"
	if out, err := s.try(script, version); err == nil || !strings.Contains(out, "there is no tag "+version) {
		t.Errorf("without the tag: %v, %s", err, out)
	}
	s.run("git", "tag", "-a", "-m", "the release", version) // as a signed one, it is an object of its own
	s.run("git", "push", "-q", "origin", version)
	at := strings.TrimSpace(s.run("git", "rev-parse", "HEAD"))

	tags := func() string {
		return s.run("git", "ls-remote", "--tags", bare, "agent/*", "telemetry/*", "vet/*")
	}
	want := ""
	for _, module := range tagged {
		want += at + "\trefs/tags/" + module + "/" + version + "\n"
	}
	if s.run(script, version, "--dry-run"); tags() != "" {
		t.Errorf("a dry run pushed\n%s", tags())
	}
	for range 2 { // a job that failed is run again
		if s.run(script, version); tags() != want {
			t.Errorf("the remote has the tags\n%swant\n%s", tags(), want)
		}
	}
	s.found(version, bare)

	s.run("git", "commit", "-q", "--allow-empty", "-m", "more")
	s.run("git", "tag", "-f", version)
	if out, err := s.try(script, version); err == nil || tags() != want {
		t.Errorf("tags that are elsewhere: %v, %s; the remote has\n%s", err, out, tags())
	}
	s.run("git", "tag", "v0.99.0")
	if out, err := s.try(script, "v0.99.0"); err == nil || !strings.Contains(out, "agent/go.mod requires "+mainModule+" "+version+", and v0.99.0 is released") || tags() != want {
		t.Errorf("a go.mod of another version: %v, %s; the remote has\n%s", err, out, tags())
	}
	workflow, err := os.ReadFile(filepath.Join(root, ".github", "workflows", "release.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(workflow, []byte("      - run: "+script+` "$GITHUB_REF_NAME" #`)) || !bytes.Contains(workflow, []byte("      - run: "+script+` "$GITHUB_REF_NAME" --dry-run`)) {
		t.Errorf("release.yml does not call %s, first as a dry run", script)
	}
}

// found has the go command get all modules by their tags, as a user's does, from the remote; what else they need is in
// this machine's cache.
func (s *shell) found(version, bare string) {
	s.Helper()
	cache, err := exec.CommandContext(s.Context(), "go", "env", "GOMODCACHE").Output() // by the real HOME
	if err != nil {
		s.Fatal(err)
	}
	config := filepath.Join(s.TempDir(), "gitconfig")
	text := "[url \"file://" + filepath.ToSlash(bare) + "\"]\n\tinsteadOf = https://" + mainModule + "\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	user := &shell{s.T, s.TempDir(), append(s.env, "GIT_CONFIG_GLOBAL="+config, "GOMODCACHE="+filepath.Join(s.TempDir(), "mod"), "GOFLAGS=-modcacherw", "GOWORK=off",
		"GOPROXY=file://"+filepath.ToSlash(strings.TrimSpace(string(cache)))+"/cache/download", "GONOPROXY="+mainModule, "GONOSUMDB=*", "GOTOOLCHAIN=local")}
	user.run("go", "mod", "init", "example.com/user")
	for _, module := range tagged {
		user.run("go", "get", mainModule+"/"+module+"@"+version)
	}
	names, want := []string{"list", "-m", mainModule}, mainModule+" "+version+"\n"
	for _, module := range tagged {
		names = append(names, mainModule+"/"+module)
		want += mainModule + "/" + module + " " + version + "\n"
	}
	got := user.run("go", names...)
	if got != want {
		s.Errorf("got the modules\n%swant\n%s", got, want)
	}
}

// nextVersion is the version that the changelog begins with. Modules that are tagged require it.
func nextVersion(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^## (v\S+)`).FindSubmatch(text)
	if m == nil {
		t.Fatal("CHANGELOG.md has no version")
	}
	for _, module := range tagged {
		mod, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(module), "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range regexp.MustCompile(mainModule+`\S* (v\S+)`).FindAllStringSubmatch(string(mod), -1) {
			if of[1] != string(m[1]) {
				t.Errorf("%s/go.mod requires %s, and %s is next", module, of[0], m[1])
			}
		}
	}
	return string(m[1])
}

// copyTree copies the files of this tree that git knows, or would.
func copyTree(t *testing.T, to string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		from, err := os.Open(filepath.Join(root, name))
		if os.IsNotExist(err) { // it was removed, and that is not committed yet
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		is, err := from.Stat()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, is.Mode().Perm())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(f, from); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		_ = from.Close() // it was read
	}
}
