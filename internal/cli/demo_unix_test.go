//go:build unix

package cli

// The demo, interrupted: only Unix can send an interrupt to one process.

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestDemoIsInterrupted(t *testing.T) {
	program, dir := build(t), t.TempDir()
	cmd := exec.Command(program, "demo")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	out, errs := &pipe{}, &pipe{}
	cmd.Stdout, cmd.Stderr = out, errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.await(t, "create-user")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != exitInterrupted || !strings.Contains(errs.text.String(), "interrupted") {
		t.Errorf("exit code %d, stderr %q; want 130 and a word about it", got, &errs.text)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("it left %v in its directory, %v", left, err)
	}
	pid, err := strconv.Atoi(regexp.MustCompile(`worker process (\d+)`).FindStringSubmatch(out.text.String())[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("its worker process %d is still there: %v", pid, err)
	}
}
