//go:build !linux

package restate

import "os/exec"

// orphan does nothing: only Linux ends a child with its parent.
func orphan(*exec.Cmd) {}
