package release

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// runIn runs an image's program as an engine does: its files are all that there is, and its user, variables and command are the image's. That takes root.
func runIn(t *testing.T, image v1.Image, platform string, files map[string][]byte, is said) {
	t.Helper()
	if platform != "linux/"+runtime.GOARCH {
		return
	}
	if os.Getuid() != 0 {
		t.Logf("NOT RUN: %s, as only root may change the root of a process", platform)
		return
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c, dir := config.Config, t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, above := range []string{filepath.Dir(dir)} { // t.TempDir() makes both for its user alone
		if err := os.Chmod(above, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, has := range inImage {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o755)
		} else {
			err = os.WriteFile(path, files[name], 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Lchown(path, has.owner, has.owner); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Chmod(path, uint32(has.mode)); err != nil {
			t.Fatal(err)
		}
	}
	start := func(env []string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), c.Entrypoint[0], args...)
		cmd.Dir, cmd.Env = c.WorkingDir, append(env, c.Env...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		return cmd
	}
	out, err := start(nil, "version", "--json").Output()
	var got said
	if err != nil || json.Unmarshal(out, &got) != nil || got != is {
		t.Errorf("%s: version: got %s, %v, want %+v", platform, out, err, is)
	}
	server := start([]string{"STEPWELL_API_KEY=admin:me:0123456789abcdef0123"}, append(c.Cmd, "--listen=127.0.0.1:0")...)
	server.Stderr = os.Stderr
	stdout, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Process.Kill() }()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	_, port, found := strings.Cut(line, "http://127.0.0.1:")
	if err != nil || !found {
		t.Fatalf("%s: server: got %q, %v", platform, line, err)
	}
	port = strings.TrimSpace(port)
	for _, path := range []string{"/healthz", "/readyz", "/ui/"} {
		answer, err := http.Get("http://127.0.0.1:" + port + path)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s: got %+v, %v", platform, path, answer, err)
			continue
		}
		_ = answer.Body.Close()
	}
	health := start([]string{"STEPWELL_LISTEN=127.0.0.1:" + port}, c.Healthcheck.Test[2:]...)
	health.Env = append(health.Env, "STEPWELL_LISTEN=127.0.0.1:"+port)
	if out, err := health.CombinedOutput(); err != nil {
		t.Errorf("%s: health: %v: %s", platform, err, out)
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("%s: it ended with %v", platform, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "data", "stepwell.db")); err != nil {
		t.Error(err)
	}
}
