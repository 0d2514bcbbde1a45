package world

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

type opener struct{ opened []string }

func (o *opener) Open(_ context.Context, url string, opt OpenOptions) (World, error) {
	if opt.Existing {
		return nil, ErrNotFound
	}
	o.opened = append(o.opened, url)
	return nil, nil
}

// Worlds are found by the scheme of their URL, in whatever letters; an error never repeats the URL.
func TestDrivers(t *testing.T) {
	o := new(opener)
	Register("drivertest", o)
	if !slices.Contains(Schemes(), "drivertest") {
		t.Errorf("got schemes %v", Schemes())
	}
	for _, url := range []string{"drivertest:a", "DriverTest://u:secret@h/db"} {
		if _, err := Open(t.Context(), url); err != nil || !slices.Contains(o.opened, url) {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := Open(t.Context(), "drivertest:a", OpenOptions{Existing: true}); !errors.Is(err, ErrNotFound) {
		t.Errorf("got error %v, want not found", err)
	}
	for _, url := range []string{"", "runs.db", `c:\runs.db`, "//u:secret@h/db", "other://u:secret@h/db"} {
		_, err := Open(t.Context(), url)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "drivertest") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got error %v, want the linked schemes and no secret", url, err)
		}
	}
	for url, want := range map[string]string{ // what a program forgot to import, by name
		"https://u:secret@h": `import _ "github.com/stepwell/stepwell/world/remote"`,
		"Postgres://h/db":    `import _ "github.com/stepwell/stepwell/world/postgres"`,
		"sqlite:a.db":        `import _ "github.com/stepwell/stepwell/world/sqlite"`,
	} {
		if _, err := Open(t.Context(), url); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got error %v, want %s", url, err, want)
		}
	}
	for scheme, d := range map[string]Driver{"drivertest": o, "x": o, "Upper": o, "nodriver": nil} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: registered, want a panic", scheme)
				}
			}()
			Register(scheme, d)
		}()
	}
}
