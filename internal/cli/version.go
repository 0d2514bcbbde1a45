package cli

// This file says what was built.

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// What a release is: go build -ldflags "-X …/internal/cli.version=v1.2.3 -X ….commit=… -X ….date=…". What is empty is what
// the build itself says.
var (
	version string
	commit  string
	date    string // of the commit, RFC 3339
)

// origin is what this program was built from, as --json writes it.
type origin struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"`
	Modified bool   `json:"modified,omitempty"` // files were changed since the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func builtFrom() origin {
	b := origin{Version: version, Commit: commit, Date: date, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.fill(info)
	}
	if b.Version == "" {
		b.Version = "unknown"
	}
	return b
}

// fill takes from what the build recorded what the linker was not told. With `go install MODULE@VERSION` that is the
// version alone.
func (b *origin) fill(info *debug.BuildInfo) {
	if b.Version == "" {
		b.Version = info.Main.Version
	}
	if b.Commit != "" {
		return
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
}

// String is a line: the version, the commit, its date, and what they were built with.
func (b origin) String() string {
	words := []string{b.Version}
	if b.Commit != "" {
		words = append(words, "commit "+b.Commit[:min(12, len(b.Commit))])
	}
	if b.Date != "" {
		words = append(words, b.Date)
	}
	if b.Modified {
		words = append(words, "modified")
	}
	return strings.Join(append(words, b.Go, b.Platform), " ")
}

func versionCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and its date",
		Long: `Print the version, the commit it was built from, the date of that commit, and the Go version and platform. A program that
was built from a checkout has no version: it prints (devel), or a pseudo-version that Go derives from the commit.

` + exitHelp,
		Example: `  stepwell version
  stepwell version --json`,
		Args: arguments(0, 0, "none"),
		RunE: func(*cobra.Command, []string) error {
			b := builtFrom()
			return c.tell(b, "stepwell version "+b.String())
		},
	}
	c.jsonFlag(cmd, "write one JSON object")
	return cmd
}
