//go:build !unix

package compare

// This file has what is left of process groups elsewhere.

import "os/exec"

func apart(*exec.Cmd) {}

func killAll(cmd *exec.Cmd) error { return cmd.Process.Kill() }

func interrupt(cmd *exec.Cmd) error { return cmd.Process.Kill() }
