//go:build unix

package cli

// The program as the image runs it; only Unix can send SIGTERM to one process.

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestRunsBare: nothing is in its environment but what the Dockerfile sets, a key and a certificate, and nothing can be written in its folder. Health
// says that it is well, SIGHUP has it read the certificate anew, and SIGTERM ends it.
func TestRunsBare(t *testing.T) {
	t.Parallel()
	program, empty := build(t), t.TempDir()
	if err := os.Chmod(empty, 0o555); err != nil {
		t.Fatal(err)
	}
	start := func(env []string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir, cmd.Env = empty, append([]string{"GORACE=atexit_sleep_ms=0"}, env...)
		return cmd
	}
	if out, err := start(nil, "--version").CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "stepwell version ") {
		t.Errorf("--version: got %q, %v", out, err)
	}
	env := []string{"STEPWELL_DB=sqlite:" + filepath.Join(t.TempDir(), "stepwell.db"), "STEPWELL_LISTEN=:0", "STEPWELL_LOG_FORMAT=json"}
	if out, err := start(env, "server").CombinedOutput(); err == nil || !strings.Contains(string(out), "no API keys") {
		t.Errorf("without a key: got %q, %v, want it refused", out, err)
	}
	certFile, keyFile := pair(t)
	cmd := start(append(env, "STEPWELL_API_KEY=admin:me:0123456789abcdef0123", "STEPWELL_TLS_CERT="+certFile, "STEPWELL_TLS_KEY="+keyFile), "server")
	var log said
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Errorf("got %q, %v, want its address", line, err)
	}
	port := strings.TrimSpace(line[strings.LastIndexByte(line, ':')+1:])
	if said, err := start([]string{"STEPWELL_LISTEN=:" + port, "STEPWELL_TLS_CERT=" + certFile}, "health").CombinedOutput(); err != nil {
		t.Errorf("health: %v: %s", err, said)
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Error(err)
	}
	log.await(t, "certificate was read again", 1)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitOK {
		t.Errorf("got exit code %d, want 0", code)
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("it left %v in its folder, %v, want nothing", left, err)
	}
}
