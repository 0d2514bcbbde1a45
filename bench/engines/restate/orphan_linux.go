package restate

import (
	"os/exec"
	"syscall"
)

// orphan has a child ended when this process dies without stopping it.
func orphan(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
