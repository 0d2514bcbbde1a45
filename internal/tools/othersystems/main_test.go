package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":         "module example.com/m\n\ngo 1.26\n",
		"m.go":           "package m\n\nimport \"syscall\"\n\nfunc pid() int { return syscall.Getpid() }\n",
		"m_linux.go":     "package m\n\nimport \"syscall\"\n\nfunc stop() error { return syscall.Kill(pid(), syscall.SIGSTOP) }\n",
		"m_unix_test.go": "//go:build !linux\n\npackage m\n\nimport \"syscall\"\n\nvar halt = syscall.SIGSTOP // windows has none\n",
		"m_test.go":      "package m\n\nvar _ = stop // linux alone has one\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for system, want := range map[string][]string{
		"linux":   nil,
		"darwin":  {"m_test.go:3:9: undefined: stop"},
		"windows": {"m_test.go:3:9: undefined: stop", "m_unix_test.go:7:20: undefined: syscall.SIGSTOP"},
	} {
		got, n, err := check(system, dir, []string{"./..."})
		if err != nil || n == 0 || len(got) != len(want) {
			t.Errorf("%s: got %q of %d packages, %v; want %q", system, got, n, err, want)
			continue
		}
		for i := range want {
			if !strings.HasSuffix(got[i], want[i]) {
				t.Errorf("%s: got %q, want %q", system, got[i], want[i])
			}
		}
	}
}
