//go:build unix

package compare

// This file has what processes of one group share: a signal.

import (
	"errors"
	"os/exec"
	"syscall"
)

// apart gives a process a group of its own: a signal to the group reaches the servers that it starts.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killAll kills a process and its group.
func killAll(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// interrupt asks a process to end.
func interrupt(cmd *exec.Cmd) error { return cmd.Process.Signal(syscall.SIGTERM) }
