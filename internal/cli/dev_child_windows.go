package cli

// This file makes groups of processes, and signals to them, on Windows.

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/windows"
)

// apart gives a process a group of its own, so that a Ctrl-C of the terminal is ours to handle.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// interruptGroup sends Ctrl-Break, which a Go program sees as an interrupt.
func interruptGroup(p *os.Process) {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.Pid)) // one that is gone need not be told
}

// killGroup ends a process and those that it started, as far as Windows knows them.
func killGroup(p *os.Process) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.Pid)).Run() // as above
	_ = p.Kill()
}
