package cli

import (
	"runtime/debug"
	"testing"
)

// TestBuiltFrom: what the linker was told comes first, and what it was not told is the build's own.
func TestBuiltFrom(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"},
	}}
	for _, test := range []struct {
		name string
		told origin
		info *debug.BuildInfo
		want string
	}{
		{"a release", origin{Version: "v2.0.0", Commit: "fedcba9876543210", Date: "2026-02-03T04:05:06Z"}, info,
			"v2.0.0 commit fedcba987654 2026-02-03T04:05:06Z go os"},
		{"a checkout", origin{}, info, "v1.2.3 commit 0123456789ab 2026-01-02T03:04:05Z modified go os"},
		{"go install", origin{}, &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3 go os"},
		{"a version alone", origin{Version: "v3"}, &debug.BuildInfo{}, "v3 go os"},
		{"a short commit", origin{Version: "v3", Commit: "abc"}, &debug.BuildInfo{}, "v3 commit abc go os"},
	} {
		b := test.told
		b.Go, b.Platform = "go", "os"
		b.fill(test.info)
		if got := b.String(); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
