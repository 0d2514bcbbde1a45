package engine

// This file words what operators are told without having asked: a run that is blocked or failed, a lease that is lost, a database that is away and is back. Each
// line names the run, its workflow, the step, the cause and what to do; of one kind there are at most a few a minute.

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/internal/logs"
	"github.com/stepwell/stepwell/world"
)

// teller tells operators.
//
//   - Of one kind it tells seldom, see [logs.Seldom]; of a database that is away once when it goes, once a minute meanwhile, and once when it is back.
//   - It looks for the workers of what was asked for, and nobody here has, at most once a minute.
type teller struct {
	*logs.Seldom
	world   world.World
	has     func(wanted) bool // this worker has it
	missing missing
	trouble trouble
}

// runName names the run that a line is about.
type runName struct {
	run, workflow string
	version       int
}

// name names the session's run.
func (c *course) name() runName {
	of := runName{c.own.run, c.own.workflow, 0}
	if c.st != nil && c.st.Birth.Workflow != "" {
		of.workflow, of.version = c.st.Birth.Workflow, c.st.Version
	} else if c.eval.workflow() != nil {
		of.workflow, of.version = c.eval.workflow().Name, c.eval.workflow().Version
	}
	return of
}

// about are the attributes that name the run.
func (of runName) about() (workflow slog.Attr, args []any) {
	args = []any{"run_id", of.run}
	if of.version > 0 {
		args = append(args, "workflow.version", of.version)
	}
	return slog.String("workflow.name", of.workflow), args
}

// blocked says that a run cannot go on.
func (t *teller) blocked(run runName, b *world.Block) {
	of, args := run.about()
	if b.Step != "" {
		args = append(args, "step.id", b.Step)
	}
	cause, hint := causeOf(b), healing[b.Code]
	if b.Code == world.CodeDiverged { // it knows best
		if i := strings.LastIndexByte(b.Message, '\n'); i >= 0 {
			hint = strings.TrimSpace(b.Message[i:])
		}
	}
	t.Warn("run is blocked", of, append(args, "reason", b.Code, "tries", b.Tries, "err", cause, "hint", hint+" More: stepwell runs show "+run.run)...)
}

// causeOf is why a run is blocked: the first line of its message, of a divergence the two sides too.
func causeOf(b *world.Block) logs.Cause {
	first, more, _ := strings.Cut(b.Message, "\n")
	c := logs.Cause{Line: first, Text: b.Message}
	if b.Code == world.CodeDiverged {
		lines := strings.Split(more, "\n")
		lines = lines[:len(lines)-1] // the last is the hint
		c.Text = strings.Join(append([]string{first}, lines...), "\n")
		for _, side := range lines {
			c.Line += "; " + strings.Join(strings.Fields(side), " ")
		}
	}
	return c
}

// healing says by the code of a blocked run what lets it go on.
var healing = map[string]string{
	world.CodePanic:     "Deploy the fix, and the run continues by itself; nothing is lost.",
	world.CodeForeign:   "Deploy the fix: use stepwell.Go instead of go, and in a step's body its own context; nothing is lost.",
	world.CodeDecode:    "Roll back, or deploy a type that fits what is recorded; nothing is lost.",
	world.CodeCorrupt:   "Restore the rows from a backup, or fork the run from before the damage; nothing is overwritten.",
	world.CodeFormat:    "Deploy the newer release that wrote the log; nothing is lost.",
	world.CodeNoKey:     "Give this worker the key; nothing is lost.",
	world.CodeCrashLoop: "Deploy a build that does not end its process, or cancel the run.",
	world.CodeStorage:   "It continues by itself when the log can be read; see the state of the database with stepwell doctor.",
	world.CodeInternal:  "If the message does not say what to do, please report it; nothing is lost.",
}

// failed says that a run has failed.
func (t *teller) failed(run runName, rec *world.Error) {
	of, args := run.about()
	at := rec
	if step, name := failedStep(rec, ""); step != nil {
		at = step
		if args = append(args, "step.id", step.Step); name != "" {
			args = append(args, "step.name", name)
		}
	}
	if code := codeIn(at); code != "" {
		args = append(args, "code", code)
	}
	if where := whereIn(at); where != "" {
		args = append(args, "where", where)
	}
	t.Warn("run failed", of, append(args, "err", logs.CauseOf(rec.Message), "hint", "To see what you can do: stepwell runs show "+run.run)...)
}

// failedStep is the first step's failure in an error, and the step's name as far as it is known; nil: there is none.
func failedStep(rec *world.Error, name string) (*world.Error, string) {
	if rec.Step != "" {
		return rec, name
	}
	var of struct{ Step string } // of a StepError
	if json.Unmarshal(rec.Value, &of) == nil && of.Step != "" {
		name = of.Step
	}
	for _, c := range rec.Causes {
		if c == nil {
			continue
		}
		if found, name := failedStep(c, name); found != nil {
			return found, name
		}
	}
	return nil, ""
}

// codeIn and whereIn are the first of an error and its causes.
func codeIn(rec *world.Error) string {
	return firstIn(rec, func(r *world.Error) string { return r.Code })
}

func whereIn(rec *world.Error) string {
	return firstIn(rec, func(r *world.Error) string { return r.Where })
}

func firstIn(rec *world.Error, of func(*world.Error) string) string {
	if rec == nil {
		return ""
	}
	if v := of(rec); v != "" {
		return v
	}
	for _, c := range rec.Causes {
		if v := firstIn(c, of); v != "" {
			return v
		}
	}
	return ""
}

// lost says that a run is somebody else's now.
func (t *teller) lost(run runName, err error) {
	of, args := run.about()
	t.Warn("run is no longer owned", of, append(args, "err", err, "hint", "The other worker continues after the last event; what this worker had not recorded runs again.")...)
}

// leaseLost says that the worker was taken for dead.
func (t *teller) leaseLost(worker, name string, held int, err error) {
	t.Warn("the lease of this worker is lost", slog.Attr{}, "worker", worker, "name", name, "held", held, "err", err,
		"hint", "Other workers continue its runs, and it joins again. Is the machine overloaded, was it asleep, is the database slow? Config.Lease is how long a worker may be silent.")
}

// trouble is a database that is away, as it is told: once when it goes, once a minute meanwhile, and once when it is back.
type trouble struct {
	mu       sync.Mutex
	is       atomic.Bool // something fails: for who must not wait for the lock
	doing    string      // what fails; "": nothing. What fails beside it is counted; guarded by mu
	since    time.Time   // guarded by mu
	told     time.Time   // guarded by mu
	failures int         // guarded by mu
}

// stillAway is the time between lines about a database that is away.
const stillAway = time.Minute

// away says that something failed and is tried again.
func (tell *teller) away(doing string, err error) {
	t := &tell.trouble
	t.mu.Lock()
	now := time.Now()
	t.failures++
	msg := "the database is away"
	switch {
	case t.doing == "":
		t.doing, t.since, t.failures = doing, now, 1
	case now.Sub(t.told) < stillAway:
		t.mu.Unlock()
		return
	default:
		msg = "the database is still away"
	}
	t.told = now
	since, failures := t.since, t.failures
	t.mu.Unlock()
	t.is.Store(true)
	tell.Warn(msg, slog.Attr{}, "failed", doing, "err", err, "since", since.UTC().Truncate(time.Millisecond), "failures", failures, "hint", awayHint(err))
}

func awayHint(err error) string {
	if errors.Is(err, world.ErrStorage) {
		return "Retried until it works, and nothing is lost; the message says what the database needs."
	}
	return "Retried until the database answers, and nothing is lost."
}

// back says that what failed works again; "" is all that the worker does. Where nothing is amiss it costs one load.
func (tell *teller) back(doing string) {
	t := &tell.trouble
	if !t.is.Load() {
		return
	}
	t.mu.Lock()
	if t.doing == "" || doing != "" && t.doing != doing {
		t.mu.Unlock()
		return
	}
	since, failures := t.since, t.failures
	t.doing = ""
	t.is.Store(false)
	t.mu.Unlock()
	tell.Warn("the database is back", slog.Attr{}, "after", time.Since(since).Round(time.Millisecond), "failures", failures)
}
