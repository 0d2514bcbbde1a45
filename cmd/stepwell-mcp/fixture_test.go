package main

// What the tests share: the real programs, and a database with runs whose every payload has a word that nobody is to
// see.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/schedule"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// canary is in each payload, and so in what comes of one.
const canary = "canary-7f3a"

// programs is the folder with stepwell and stepwell-mcp as they are built from this tree.
var programs string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "stepwell-mcp")
	if err == nil {
		programs = dir
		err = errors.Join(build("../..", "./cmd/stepwell"), build(".", "."))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	pgtest.Main(ending{m, dir}, pgtest.Config{})
}

// ending removes the programs behind the tests.
type ending struct {
	m   *testing.M
	dir string
}

func (e ending) Run() int {
	defer func() { _ = os.RemoveAll(e.dir) }()
	return e.m.Run()
}

func build(module, pkg string) error {
	cmd := exec.Command("go", "-C", module, "build", "-o", programs+string(filepath.Separator), pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

func program(name string) string { return filepath.Join(programs, name) }

// The runs of the fixture.
const (
	failedRun    = "failed-1"
	completedRun = "completed-1"
	waitingRun   = "waiting-1"
	hookRun      = "hook-1"
	retryingRun  = "retrying-1"
	blockedRun   = "blocked-1"
	limitedRun   = "limited-2"
	sleepingRun  = "sleeping-1"
	largeRun     = "large-1"
)

type order struct {
	Secret string `json:"secret"`
	Tenant string `json:"tenant"`
}

type verified struct {
	Number number `json:"number"`
	Secret string `json:"secret"`
}

// number reads itself, so that only its code knows what does not fit: that is set aside, and why has the value.
type number int

func (n *number) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, (*int)(n)); err != nil {
		return fmt.Errorf("%s is no number", b)
	}
	return nil
}

var (
	verify = stepwell.Event[verified]("verify")

	orders = stepwell.Define("order", func(ctx stepwell.Context, in order) (string, error) {
		return stepwell.Step(ctx, "charge", func(context.Context) (string, error) {
			return "", stepwell.Fatal(errors.New("card of " + in.Secret + " refused"))
		})
	})
	ships = stepwell.Define("ship", func(ctx stepwell.Context, in order) (string, error) {
		if err := stepwell.SetAttribute(ctx, "customer", in.Secret); err != nil {
			return "", err
		}
		return stepwell.Step(ctx, "pack", func(context.Context) (string, error) { return "packed " + in.Secret, nil })
	})
	waits = stepwell.Define("wait", func(ctx stepwell.Context, in order) (string, error) {
		_, _, err := verify.Wait(ctx, stepwell.Match{"secret": in.Secret}, stepwell.Timeout(100*time.Hour))
		return in.Secret, err
	})
	hooks = stepwell.Define("hook", func(ctx stepwell.Context, in order) (string, error) {
		hook, err := stepwell.NewHook[string](ctx, stepwell.Token("room-"+in.Secret), stepwell.Metadata(in.Secret))
		if err != nil {
			return "", err
		}
		v, _, err := hook.Wait(ctx)
		return v, err
	})
	retries = stepwell.Define("retry", func(ctx stepwell.Context, in order) (string, error) {
		return stepwell.Step(ctx, "call", func(ctx context.Context) (string, error) {
			if err := stepwell.HeartbeatNow(ctx, in.Secret); err != nil {
				return "", err
			}
			return "", stepwell.RetryAfter(errors.New("no answer about "+in.Secret), 100*time.Hour)
		})
	})
	blocks = stepwell.Define("block", func(_ stepwell.Context, in order) (string, error) { panic("cannot go on with " + in.Secret) })
	limits = stepwell.Define("limited", func(ctx stepwell.Context, _ order) (string, error) {
		return "", stepwell.Sleep(ctx, "nap", 100*time.Hour)
	}, stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf(func(in order) string { return in.Tenant }), UntilEnd: true})
	sleeps = stepwell.Define("sleep", func(ctx stepwell.Context, in order) (string, error) {
		return in.Secret, stepwell.Sleep(ctx, "nap", 100*time.Hour)
	})
	large = stepwell.Define("large", func(ctx stepwell.Context, in order) (string, error) {
		for i := range 300 {
			if _, err := stepwell.Step(ctx, fmt.Sprintf("part-%d", i), func(context.Context) (string, error) {
				return strings.Repeat(in.Secret+" ", 4000), nil
			}); err != nil {
				return "", err
			}
		}
		return strings.Repeat(in.Secret+" ", 4000), nil
	})
	mails = queue.Define[order]("mails")
)

// database makes runs in all states, beside a worker that goes on, and returns their App.
func database(t *testing.T, url string) *stepwell.App {
	t.Helper()
	nightly := schedule.New("nightly", ships, order{Secret: canary}, schedule.Times("0 3 * * *"))
	w, err := stepwell.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	app, err := stepwell.New(w, stepwell.Config{
		Logger:      slog.New(slog.DiscardHandler),
		Definitions: []stepwell.Definition{orders, ships, waits, hooks, retries, blocks, limits, sleeps, large, schedule.Set("night", 1, nightly)},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, app.Close(), w.Close()); err != nil {
			t.Error(err)
		}
	})
	in := order{Secret: canary, Tenant: "tenant-" + canary}
	for id, w := range map[string]*stepwell.Workflow[order, string]{
		failedRun: orders, completedRun: ships, waitingRun: waits, hookRun: hooks, retryingRun: retries, blockedRun: blocks, "limited-1": limits, sleepingRun: sleeps,
	} {
		start(t, app, w, id, in)
	}
	eventually(t, "a place of the limit", func() bool { return whyKind(t, app, "limited-1") == stepwell.WhySleep })
	start(t, app, limits, limitedRun, in)
	for run, kind := range map[string]stepwell.WhyKind{
		failedRun: stepwell.WhyOver, completedRun: stepwell.WhyOver, waitingRun: stepwell.WhyEvent, hookRun: stepwell.WhyHook, retryingRun: stepwell.WhyRetry,
		blockedRun: stepwell.WhyBlocked, limitedRun: stepwell.WhyLimit, sleepingRun: stepwell.WhySleep,
	} {
		eventually(t, run+": "+string(kind), func() bool { return whyKind(t, app, run) == kind })
	}
	// What nobody waits for, and what does not fit, from somebody who does not know its type.
	for event, payload := range map[string]string{"note": `{"text":"` + canary + `"}`, "verify": `{"number":"seven","secret":"` + canary + `"}`} {
		signal := exec.CommandContext(t.Context(), program("stepwell"), "runs", "signal", waitingRun, event, payload, "--db", url)
		if out, err := signal.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	eventually(t, "a payload that is set aside", func() bool {
		why, err := app.Why(t.Context(), waitingRun)
		return err == nil && len(why.Aside) == 1 && strings.Contains(why.String(), "seven")
	})
	if _, err := mails.Send(t.Context(), app, in); err != nil {
		t.Fatal(err)
	}
	return app
}

func start(t *testing.T, app *stepwell.App, w *stepwell.Workflow[order, string], id string, in order) {
	t.Helper()
	if _, err := w.Start(t.Context(), app, in, stepwell.RunID(id), stepwell.Key("key-of-"+id), stepwell.Attributes(map[string]any{"city": "Ulm " + canary})); err != nil {
		t.Fatal(err)
	}
}

func whyKind(t *testing.T, app *stepwell.App, run string) stepwell.WhyKind {
	t.Helper()
	why, err := app.Why(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return why.Kind
}

// eventually waits for something that is to happen.
func eventually(t *testing.T, what string, there func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !there(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a minute: %s is not so", what)
		}
	}
}

// sqliteURL names a database that is not there yet.
func sqliteURL(t *testing.T) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "app.db")
}
