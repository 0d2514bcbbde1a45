package cli

// What did not fit, as whoever operates meets it: a recorded result that today's type cannot hold, payloads that were set aside, the stack of a panic.

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

const (
	undecodedRun = "wrun_01JD5B0000000000000000DECO"
	panickedRun  = "wrun_01JD5B0000000000000000PANI"
	asideRun     = "wrun_01JD5B0000000000000000ASID"
	asideOverRun = "wrun_01JD5B0000000000000000OVER"
)

// unfit makes a file with such runs.
func unfit(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "unfit.db")
	w, err := sqlite.Open(path, sqlite.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	joinFixture(t, w)
	f := &filler{t: t, w: w, now: now}
	order := world.Birth{Workflow: "order", Version: 2, Priority: 1}
	at := ago(time.Minute)
	block := func(code, step, message string) *world.Release {
		return &world.Release{WakeAt: now.Add(30 * time.Second), Blocked: &world.Block{Code: code, Since: at, Tries: 5, Seq: 5, Step: step, Message: message}}
	}
	f.run(undecodedRun, order, `{}`, block(world.CodeDecode, "step_1", `the recorded result of step "charge" does not fit: decode int: it is a string`), append(begins(at),
		event(world.StepCreated, "step_1", at, named(world.KindClosure, "charge")), event(world.StepStarted, "step_1", at, try(1)),
		event(world.StepCompleted, "step_1", at, try(1), carries(`"ch_7"`))))
	f.run(panickedRun, order, `{}`, block(world.CodePanic, "", "panic: no\ngoroutine 7 [running]:\nmain.order(...)\n\t/app/order.go:12 +0x1d"), begins(at))
	aside := func(n int, events ...world.Event) (all []world.Event) {
		all = append(begins(at), event(world.WaitCreated, "wait_1", at, named(world.KindEvent, "paid")))
		for i := range n {
			from := int64(len(all) + 1)
			all = append(all, event(world.SignalReceived, "", at, named("", "paid"), carries(`"x"`)),
				event(world.StepCreated, "step_"+string(rune('a'+i)), at, named(world.KindAside, "paid"), func(e *world.Event) {
					e.From, e.Outcome, e.Error = from, world.OutcomePassed, &world.Error{Message: "it is a string", Code: world.CodeDecode}
				}))
		}
		return append(all, events...)
	}
	f.run(asideRun, order, `{}`, &world.Release{Waiting: "event"}, aside(2))
	f.run(asideOverRun, order, `{}`, nil, aside(1, world.Event{Type: world.RunCompleted, Time: at}))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestUndecodedResult: a run that is blocked as its code cannot hold what a step came to can go on in a fork, with another result, and nothing runs again.
func TestUndecodedResult(t *testing.T) {
	env := map[string]string{"STEPWELL_DB": unfit(t)}
	_, out, _ := call{env: env}.do(context.Background(), "runs", "show", undecodedRun)
	for _, line := range []string{"runs fork " + undecodedRun + " --result charge=PAYLOAD", "export " + undecodedRun + " | stepwell check -- PROGRAM"} {
		if !strings.Contains(out, "stepwell "+line) {
			t.Errorf("it does not propose %q:\n%s", line, out)
		}
	}
	if code, _, _ := (call{env: env}).do(context.Background(), "runs", "fork", undecodedRun, "--result", "charge=PAYLOAD"); code != exitUsage {
		t.Errorf("pasted as it is: exit code %d, want %d", code, exitUsage)
	}
	if code, _, errs := (call{env: env}).do(context.Background(), "runs", "fork", undecodedRun, "--result", "charge=7", "--id", "healed"); code != exitOK {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	if code, out, _ := (call{env: env}).do(context.Background(), "events", "healed", "--json"); code != exitOK || !strings.Contains(out, `"payload":7`) || strings.Contains(out, "ch_7") {
		t.Errorf("exit code %d, want a result of 7 in\n%s", code, out)
	}
}

// TestStackOnTerminal: a stack is lines, and its tabs are room.
func TestStackOnTerminal(t *testing.T) {
	_, out, _ := call{env: map[string]string{"STEPWELL_DB": unfit(t)}}.do(context.Background(), "runs", "show", panickedRun)
	if want := "  main.order(...)\n      /app/order.go:12 +0x1d\n"; !strings.Contains(out, want) || strings.Contains(out, `\u0009`) {
		t.Errorf("want %q in\n%s", want, out)
	}
}

// TestDoctorTellsOfPayloads that were set aside: how many runs have some, and the command that shows one that may wait for the right one.
func TestDoctorTellsOfPayloads(t *testing.T) {
	env := map[string]string{"STEPWELL_DB": unfit(t)}
	_, out, _ := call{env: env}.do(context.Background(), "doctor")
	show := "runs show " + asideRun
	if !strings.Contains(out, "2 runs have payloads that did not fit and were set aside") || !strings.Contains(out, "1 not over") || !strings.Contains(out, asideRun+" (2)") || !strings.Contains(out, show) {
		t.Errorf("got\n%s", out)
	}
	if _, out, _ := (call{env: env}).do(context.Background(), strings.Fields(show)...); strings.Count(out, "set aside  ") != 2 || !strings.Contains(out, "it is a string") {
		t.Errorf("what it names shows no payloads that were set aside:\n%s", out)
	}
	if _, out, _ := (call{env: map[string]string{"STEPWELL_DB": night(t)}}).do(context.Background(), "doctor"); !strings.Contains(out, "none of these runs has a payload set aside") {
		t.Errorf("without any: got\n%s", out)
	}
}
