package cli

// Fifty runs that stand still in six ways, healed with commands alone and with pages alone. docs/operating.md tells of it.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// stuck are the six kinds: the workflow, how many, and what *why* says of them.
var stuck = []struct {
	workflow string
	runs     int
	is       stepwell.WhyKind
}{
	{"charge", 15, stepwell.WhyRetry}, // the bank is away: the next attempt is in an hour
	{"pay", 10, stepwell.WhyOver},     // the same, and they have failed
	{"basket", 5, stepwell.WhyOver},   // their child has failed, and so did they
	{"import", 8, stepwell.WhyBlocked},
	{"approval", 7, stepwell.WhyEvent}, // whose event was lost
	{"ship", 5, stepwell.WhyPaused},
}

// nightly is what the fifty are runs of. The bank is away and the code of imports has a fault, until it is day.
func nightly(day *atomic.Bool) []stepwell.Definition {
	bank := func(context.Context) (int, error) {
		if day.Load() {
			return 1, nil
		}
		return 0, errors.New("the bank is away")
	}
	charge := stepwell.Define("charge", func(ctx stepwell.Context, n int) (int, error) {
		return stepwell.Step(ctx, "charge", bank, stepwell.Retry{Attempts: 20, Backoff: stepwell.Fixed, Base: time.Hour, Cap: time.Hour})
	})
	pay := stepwell.Define("pay", func(ctx stepwell.Context, n int) (int, error) {
		return stepwell.Step(ctx, "charge", bank, stepwell.Retry{Attempts: 1})
	})
	basket := stepwell.Define("basket", func(ctx stepwell.Context, n int) (int, error) { return pay.Child().Run(ctx, n) })
	imports := stepwell.Define("import", func(stepwell.Context, int) (int, error) {
		if !day.Load() {
			panic("column 7 is not a date") //stepwell:allow panics it is mended in the morning
		}
		return 1, nil
	})
	approved := stepwell.Event[bool]("approved")
	approval := stepwell.Define("approval", func(ctx stepwell.Context, n int) (int, error) {
		_, _, err := approved.Wait(ctx)
		return n, err
	})
	ship := stepwell.Define("ship", func(ctx stepwell.Context, n int) (int, error) { return n, stepwell.Sleep(ctx, "pack", 3*time.Second) })
	return []stepwell.Definition{charge, pay, basket, imports, approval, ship}
}

// aNight makes a file with a worker and the fifty.
func aNight(t *testing.T) (path string, app *stepwell.App, day *atomic.Bool) {
	t.Helper()
	path, day = filepath.Join(t.TempDir(), "night.db"), &atomic.Bool{}
	w, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	app = works(t, w, nightly(day)...)
	for _, kind := range stuck {
		for n := range kind.runs {
			id := fmt.Sprintf("%s-%d", kind.workflow, n)
			if _, err := app.Start(t.Context(), kind.workflow, []byte(fmt.Sprint(n)), stepwell.RunID(id)); err != nil {
				t.Fatal(err)
			}
			if kind.is == stepwell.WhyPaused {
				if err := app.Pause(t.Context(), id, "looked at"); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, kind := range stuck {
		for n := range kind.runs {
			untilWhy(t, app, fmt.Sprintf("%s-%d", kind.workflow, n), kind.is)
		}
	}
	return path, app, day
}

// untilWhy waits until a run stands for a reason.
func untilWhy(t *testing.T, app *stepwell.App, run string, is stepwell.WhyKind) {
	t.Helper()
	last := stepwell.WhyKind("")
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		why, err := app.Why(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		if last = why.Kind; last == is {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Fatalf("run %s: %s, want %s", run, last, is)
}

// paysEnd waits until no payment is under way.
func paysEnd(t *testing.T, app *stepwell.App) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		page, err := app.Page(t.Context(), stepwell.ListFilter{Workflow: "pay", Status: []world.Status{world.Pending, world.Running}}, "", 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Runs) == 0 {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Fatal("payments go on for a minute")
}

// anyRun is a way to results: those of all six are numbers.
var anyRun = stepwell.Define("any", func(stepwell.Context, int) (int, error) { return 0, nil })

// healed waits until each of the fifty has completed, it or the one in its place.
func healed(t *testing.T, app *stepwell.App) {
	t.Helper()
	for _, kind := range stuck {
		for n := range kind.runs {
			id := fmt.Sprintf("%s-%d", kind.workflow, n)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_, err := anyRun.Get(app, id).Result(ctx)
			cancel()
			if err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
	}
}

// TestWalkOfANightByCommands: the fifty are healed with six commands.
func TestWalkOfANightByCommands(t *testing.T) {
	path, app, day := aNight(t)
	code, out, errs := call{}.do(t.Context(), "failures", "--db", path)
	if !regexp.MustCompile(`(?m)^ +15  retrying .* charge +[0-9a-f]{12}  step "charge": the bank is away \(walk_of`).MatchString(out) || !strings.Contains(errs, "bulk wake --retries --status retrying --all") {
		t.Errorf("failures: exit code %d, stdout\n%s\nstderr %s; want the fifteen that are tried again, of what, and how", code, out, errs)
	}
	if _, _, errs := (call{}).do(t.Context(), "runs", "list", "--workflow", "charge", "--db", path); !strings.Contains(errs, "stepwell failures") {
		t.Errorf("runs list: stderr %s; want it to lead to the failures", errs)
	}
	day.Store(true) // the bank is back, and a mended build is deployed
	for _, line := range []struct{ args, out string }{
		{"bulk wake --workflow charge --retries", "woken: 15 runs"},
		{"bulk retry --workflow pay", "retried: 15 runs"},    // those of baskets are among them
		{"bulk wake --workflow import --retries", "woken: "}, // some have gone on by themselves
		{"bulk signal approved true --workflow approval", "sent: 7 runs"},
		{"bulk resume --workflow ship", "resumed: 5 runs"},
		{"bulk retry --workflow basket", "retried: 5 runs"}, // behind its children
	} {
		if strings.Contains(line.args, "basket") {
			paysEnd(t, app)
		}
		code, out, errs := call{}.do(t.Context(), append(strings.Fields(line.args), "--db", path)...)
		if code != exitOK || !strings.Contains(out, line.out) {
			t.Fatalf("%s: exit code %d, stdout %q, stderr %q; want %q", line.args, code, out, errs, line.out)
		}
	}
	healed(t, app)
	code, out, errs = call{}.do(t.Context(), "runs", "list", "--status", "failed", "--db", path)
	if n := strings.Count(out, "  retried as wrun_"); code != exitOK || n != 20 || strings.Count(out, ", completed: ") != n {
		t.Errorf("exit code %d, stderr %q; want all 20 that failed marked as healed in\n%s", code, errs, out)
	}
}

// TestWalkOfANightByPages: the fifty are healed with six forms, each sent and then confirmed.
func TestWalkOfANightByPages(t *testing.T) {
	path, app, day := aNight(t)
	addr := served(t, nil, "--db", path)
	defer http.DefaultClient.CloseIdleConnections()
	day.Store(true)
	page := body(t, http.MethodGet, "http://"+addr+"/ui/failures", nil)
	for _, cause := range []string{"the bank is away", "column 7 is not a date"} {
		if !strings.Contains(page, cause) {
			t.Errorf("the page of failures has no %q", cause)
		}
	}
	if !strings.Contains(page, "Try now…") || !strings.Contains(page, "Try all that wait for their next attempt now…") {
		t.Errorf("the page of failures does not offer to try those that wait again:\n%s", page)
	}
	if page := body(t, http.MethodGet, "http://"+addr+"/ui/", nil); !strings.Contains(page, ">15 runs</a> wait for the next attempt") {
		t.Errorf("the overview does not tell of those that wait:\n%s", page)
	}
	_, token, _ := strings.Cut(page, `name="token" value="`)
	token, _, _ = strings.Cut(token, `"`)
	for _, form := range []bulkForm{
		{"workflow=charge", "retries", 15, nil},
		{"workflow=pay&status=failed", "retry", 15, nil},
		{"status=blocked", "retries", some, nil},
		{"workflow=approval", "signal", 7, url.Values{"event": {"approved"}, "payload": {"true"}, "delivery": {"night"}}},
		{"workflow=ship", "resume", 5, nil},
		{"workflow=basket&status=failed", "retry", 5, nil}, // behind its children
	} {
		if strings.Contains(form.query, "basket") {
			paysEnd(t, app)
		}
		fields := url.Values{"token": {token}, "all": {"yes"}, "act": {form.act}, "query": {form.query}}
		if asks := body(t, http.MethodPost, "http://"+addr+"/ui/runs/act", fields); !strings.Contains(asks, form.times("%d runs?", "?</h1>")) {
			t.Fatalf("%s of %s: it does not ask for %d runs:\n%s", form.act, form.query, form.runs, asks)
		}
		fields.Set("sure", "yes")
		maps.Copy(fields, form.fields)
		if told := body(t, http.MethodPost, "http://"+addr+"/ui/runs/act", fields); !strings.Contains(told, form.times("Done: <strong>%d</strong>", "Done: <strong>")) {
			t.Fatalf("%s of %s: not done to %d runs:\n%s", form.act, form.query, form.runs, told)
		}
	}
	healed(t, app)
}

// bulkForm is what is done to many runs.
type bulkForm struct {
	query, act string
	runs       int
	fields     url.Values
}

// some is a number of runs that is not known: some have gone on by themselves.
const some = -1

func (f *bulkForm) times(format, whatever string) string {
	if f.runs == some {
		return whatever
	}
	return fmt.Sprintf(format, f.runs)
}

// body is what a page answers, with a form or without.
func body(t *testing.T, method, address string, form url.Values) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s, %v\n%s", method, address, resp.Status, err, text)
	}
	return string(text)
}
