//go:build unix

package cli

// This file makes groups of processes, and signals to them, on Unix.

import (
	"os"
	"os/exec"
	"syscall"
)

// apart gives a process a group of its own, so that a Ctrl-C of the terminal is ours to handle, and what it starts can be reached.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func interruptGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGINT) } // one that is gone need not be told

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
