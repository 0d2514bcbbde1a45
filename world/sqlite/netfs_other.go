//go:build !linux

package sqlite

// networkFS cannot be told here.
func networkFS(string) (name string, network bool) { return "", false }
