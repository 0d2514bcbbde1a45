package behaviour_test

// What a divergence report says, with real code: which operation the log has, which the code asks for and on which line of the author's,
// whatever stands between: generic functions, closures, helpers, coroutines.

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
)

func nothing(context.Context) error { return nil }

// recorded is the code that wrote the log.
func recorded(ctx stepwell.Context, _ int) (string, error) {
	if err := stepwell.Do(ctx, "create", nothing); err != nil {
		return "", err
	}
	if err := stepwell.Do(ctx, "send-welcome", nothing); err != nil {
		return "", err
	}
	return "", stepwell.Sleep(ctx, "nap", time.Minute)
}

func mailHelper(ctx stepwell.Context) error {
	return stepwell.Do(ctx, "send-mail", nothing) // line: helper
}

var divergences = []struct {
	name string // and the mark of the line that the report names
	code func(ctx stepwell.Context, _ int) (string, error)
	log  string
	asks string
}{
	{"renamed", func(ctx stepwell.Context, _ int) (string, error) {
		_ = stepwell.Do(ctx, "create", nothing)
		return "", stepwell.Do(ctx, "send-mail", nothing) // line: renamed
	}, `step "send-welcome"`, `step "send-mail"`},
	{"generic", func(ctx stepwell.Context, _ int) (string, error) {
		_ = stepwell.Do(ctx, "create", nothing)
		return stepwell.Step(ctx, "send-mail", func(context.Context) (string, error) { return "", nil }) // line: generic
	}, `step "send-welcome"`, `step "send-mail"`},
	{"helper", func(ctx stepwell.Context, _ int) (string, error) {
		_ = stepwell.Do(ctx, "create", nothing)
		return "", mailHelper(ctx)
	}, `step "send-welcome"`, `step "send-mail"`},
	{"kind", func(ctx stepwell.Context, _ int) (string, error) {
		_ = stepwell.Do(ctx, "create", nothing)
		return "", stepwell.Sleep(ctx, "send-welcome", time.Minute) // line: kind
	}, `step "send-welcome"`, `sleep "send-welcome"`},
	{"occurrence", func(ctx stepwell.Context, _ int) (string, error) {
		_ = stepwell.Do(ctx, "create", nothing)
		return "", stepwell.Do(ctx, "create", nothing) // line: occurrence
	}, `step "send-welcome"`, `step "create" (2nd)`},
	{"dropped", func(ctx stepwell.Context, _ int) (string, error) {
		_ = stepwell.Do(ctx, "create", nothing)
		return "", stepwell.Sleep(ctx, "nap", time.Minute) // line: dropped
	}, `step "send-welcome"`, `sleep "nap"`},
	{"blocked", func(ctx stepwell.Context, _ int) (string, error) {
		_ = stepwell.Do(ctx, "create", nothing)
		_, err := stepwell.Await(ctx, func() bool { return false }) // line: blocked
		return "", err
	}, `step "send-welcome"`, `nothing here: it waits for a condition`},
	{"coroutine", func(ctx stepwell.Context, _ int) (string, error) {
		_ = stepwell.Do(ctx, "create", nothing)
		return stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) {
			return "", stepwell.Do(ctx, "send-welcome", nothing)
		}).Get(ctx) // line: coroutine
	}, `step "send-welcome"`, `nothing here: it waits for another coroutine`},
	{"returned", func(ctx stepwell.Context, _ int) (string, error) {
		return "", stepwell.Do(ctx, "create", nothing)
	}, `step "send-welcome"`, `nothing more: it has returned`},
}

func TestDivergenceReportsNameOperationsBuildAndLine(t *testing.T) {
	source, err := os.ReadFile("diverge_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range divergences {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, kinds[0].open, modes[1].set, func(r *rig) {
				old := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{stepwell.Define("diverges", recorded)}, Build: "4f1c2aa"})
				wf := stepwell.Define("diverges", tt.code)
				run := start(r, old, wf, 0)
				until(r, "the nap", func() bool { return strings.Contains(fmt.Sprint(r.names(run.ID())), "nap") })
				old.stop(r)
				r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, Build: "5e00bad"})
				got := r.blocked(run.ID()).Message
				want := []string{"the log has    " + tt.log, "recorded by build 4f1c2aa", "the code asks  " + tt.asks, `asks for "send-welcome" here`, "guard the change with stepwell.Patched"}
				if line := markedLine(string(source), tt.name); line > 0 {
					want = append(want, fmt.Sprintf("   diverge_test.go:%d\n", line))
				}
				for _, w := range want {
					if !strings.Contains(got, w) {
						r.Errorf("report:\n%s\nwant in it: %q", got, w)
					}
				}
			})
		})
	}
}

// markedLine is the number of the line that ends in a mark.
func markedLine(source, name string) int {
	for i, line := range strings.Split(source, "\n") {
		if strings.HasSuffix(line, "// line: "+name) {
			return i + 1
		}
	}
	return 0
}

// names lists what a run's log names.
func (r *rig) names(run string) []string {
	var names []string
	for _, e := range r.events(run) {
		names = append(names, e.Name)
	}
	return names
}
