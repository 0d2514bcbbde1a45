package cli

// This file holds what a command knows of the place it runs in, so that tests can put another in its place.

import (
	"encoding/json"
	"io"
	"os"
	"os/user"
	"time"

	"golang.org/x/term"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// shell is where a command runs.
type shell struct {
	stdin    io.Reader
	stdout   io.Writer // results, and nothing else
	stderr   io.Writer
	getenv   func(string) string
	now      func() time.Time
	clock    func() time.Time // of a database, in tests; nil: the system's
	zone     *time.Location
	who      string // who asks, as the log keeps it
	terminal bool   // stdout is one
	watched  bool   // stderr is one: somebody waits

	ask func() (columns, rows int) // the terminal for its size; nil: there is none
}

// encoder writes JSON to stdout, as it is in the log: <, > and & are not escaped.
func (s *shell) encoder() *json.Encoder {
	enc := json.NewEncoder(visibleJSON{s.stdout})
	enc.SetEscapeHTML(false)
	return enc
}

// process is the shell of this process.
func process() *shell {
	return &shell{
		ask:   terminalSize,
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, now: world.Now, zone: time.Local, who: through(whoAmI(), os.Getenv(throughVariable)),
		terminal: isTerminal(os.Stdout) && os.Getenv("TERM") != "dumb", watched: isTerminal(os.Stderr),
	}
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func whoAmI() string {
	host, _ := os.Hostname()
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username + "@" + host
	}
	return "stepwell@" + host
}

// sizeOf is that of the terminal, which may have changed; 0: it does not say.
func sizeOf(sh *shell) (columns, rows int) {
	if sh.ask == nil {
		return 0, 0
	}
	return sh.ask()
}

// throughVariable is the environment variable of what a person acts through, such as an assistant: stepwell mcp sets it.
const throughVariable = "STEPWELL_THROUGH"

// through is who acts, and through what, as the log keeps it.
func through(who, what string) string {
	if what = human.Cut(what, wire.MostThrough); what != "" {
		who += wire.Through + what
	}
	return who
}

func terminalSize() (columns, rows int) {
	columns, rows, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil { // it is none
		return 0, 0
	}
	return columns, rows
}
