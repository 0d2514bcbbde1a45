package limits_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/memory"
)

// TestSaidInTwoWays: a program whose code says another number of a limit than was known tells so, once and with both;
// one that says the same, or says it in two ways itself, does as well.
func TestSaidInTwoWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		call := func(name string, l stepwell.WorkflowOption) stepwell.Definition {
			return stepwell.Define(name, func(stepwell.Context, int) (int, error) { return 0, nil }, l)
		}
		const name = "bank"
		hourly, rare := stepwell.Limit{Rate: 100, Per: time.Hour, Name: name}, stepwell.Limit{Rate: 2, Per: time.Minute, Burst: 2, Name: name}
		for _, test := range []struct {
			what string
			defs []stepwell.Definition
			want string // "": nothing
		}{
			{"the first", []stepwell.Definition{call("a", hourly)}, ""},
			{"another", []stepwell.Definition{call("b", rare)}, `before="100 in 1h0m0s" now="2 in 1m0s, 2 at one moment"`},
			{"the same", []stepwell.Definition{call("c", rare)}, ""},
			{"both", []stepwell.Definition{call("a", rare), call("b", stepwell.Limit{Rate: 3, Per: time.Minute, Burst: 2, Name: name})}, `before="2 in 1m0s, 2 at one moment" now="3 in 1m0s`},
		} {
			var logs bytes.Buffer
			app, err := stepwell.New(w, stepwell.Config{Definitions: test.defs, Logger: slog.New(slog.NewTextHandler(&logs, nil))})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- app.Run(ctx) }()
			synctest.Wait()
			stop()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			said := strings.Count(logs.String(), "programs define the same limit differently")
			if test.want == "" && said > 0 || test.want != "" && (said == 0 || !strings.Contains(logs.String(), "limit=bank") || !strings.Contains(logs.String(), test.want)) {
				t.Errorf("%s: it says %s, want %q", test.what, logs.String(), test.want)
			}
			if test.what == "another" && said != 1 {
				t.Errorf("%s: it is said %d times", test.what, said)
			}
		}
	})
}
