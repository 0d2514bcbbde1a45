package main

// This file says what was built.

import (
	"runtime"
	"runtime/debug"
)

// version is that of a release: go build -ldflags "-X main.version=v1.2.3". Empty: what the module says.
var version string

// builtFrom is the version, the revision and what they were built with, on a line.
func builtFrom() string {
	text, info, ok := version, (*debug.BuildInfo)(nil), false
	if info, ok = debug.ReadBuildInfo(); ok && text == "" {
		text = info.Main.Version
	}
	if text == "" {
		text = "unknown"
	}
	if ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				text += " " + s.Value[:12]
			}
		}
	}
	return text + " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
}
