package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What is watched is drawn over what was there, and fits; a look that fails later is no end.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var drawn bytes.Buffer
		begin := time.Now()
		sh := &shell{
			stdout: &drawn, getenv: func(string) string { return "" }, now: func() time.Time { return now.Add(time.Since(begin)) }, zone: time.UTC, terminal: true,
			ask: func() (columns, rows int) { return 80, 6 },
		}
		looks := 0
		err := watch(ctx, newCLI(sh), func(c *cli) error {
			switch looks++; looks {
			case 2:
				return errors.New("the database is away")
			case 3:
				for i := range 9 {
					fmt.Fprintln(c.stdout, "run", i)
				}
				stop()
				return nil
			}
			fmt.Fprintln(c.stdout, "a run")
			fmt.Fprintln(c.stderr, "there are more")
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want what ended it", err)
		}
		head := func(after time.Duration) string {
			return "\x1b[H" + now.UTC().Add(after).Format(time.TimeOnly) + ", again every 2s: press Ctrl-C to stop\x1b[K\n\x1b[K\n"
		}
		want := "\x1b[2J" + head(0) + "a run\x1b[K\nthere are more\x1b[K\n\x1b[J" +
			head(watchPause) + "the database is away\x1b[K\n\x1b[J" +
			head(2*watchPause) + "run 0\x1b[K\nrun 1\x1b[K\nand 7 lines more\x1b[K\n\x1b[J"
		if diff := cmp.Diff(want, drawn.String()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// What fails at the first look is the answer.
func TestWatchFailsAtOnce(t *testing.T) {
	want := errors.New("no such database")
	c := newCLI(&shell{stdout: &bytes.Buffer{}, getenv: func(string) string { return "" }, terminal: true})
	if err := watch(t.Context(), c, func(*cli) error { return want }); !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

// Where nothing can be drawn it is refused, before anything is read.
func TestWatchNeedsATerminal(t *testing.T) {
	for _, test := range []struct {
		terminal bool
		args     []string
	}{{false, []string{"runs", "list", "--watch"}}, {true, []string{"runs", "list", "--watch", "--json"}}} {
		code, out, errs := call{terminal: test.terminal}.do(t.Context(), append(test.args, "--db", "sqlite:nowhere.db")...)
		if code != exitUsage || out != "" || !bytes.Contains([]byte(errs), []byte("--watch draws on a terminal")) {
			t.Errorf("%v: exit code %d, %q, %q", test.args, code, out, errs)
		}
	}
}
