package cli

// Commands on a database and on a server in front of one: each says the same there.

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world/sqlite"
)

// prompt runs commands on one place.
type prompt struct {
	*testing.T
	call  call
	where []string
}

// onPlaces walks commands on a new database that was filled, and on a server in front of one.
func onPlaces(t *testing.T, o sqlite.Options, fill func(t *testing.T, w *sqlite.World), walk func(s *prompt)) {
	t.Parallel()
	for _, place := range []string{"database", "server"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "app.db")
			w, err := sqlite.Open(path, o)
			if err != nil {
				t.Fatal(err)
			}
			if fill != nil {
				fill(t, w)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			s := &prompt{T: t, where: []string{"--db", path}}
			if place == "server" {
				s.where = []string{"--server", serveFileAt(t, path, server.Options{}, o)}
			}
			walk(s)
		})
	}
}

// says runs a command that works, and holds what it says.
func (s *prompt) says(want string, args ...string) string {
	s.Helper()
	code, out, errs := s.call.do(s.Context(), append(args, s.where...)...)
	if code != 0 || !strings.Contains(out, want) {
		s.Fatalf("%q: exit code %d, %q, %q; want %q", args, code, out, errs, want)
	}
	return out
}

// refuses runs a command that does not work, and holds what it says.
func (s *prompt) refuses(code int, want string, args ...string) {
	s.Helper()
	if got, out, errs := s.call.do(s.Context(), append(args, s.where...)...); got != code || !strings.Contains(errs, want) {
		s.Errorf("%q: exit code %d, %q, %q; want %d and %q", args, got, out, errs, code, want)
	}
}
