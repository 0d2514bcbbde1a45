package server

// What the table of TestAbuseDoors is tried on: a server with workers of each kind of key, and all that may not change.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// doorRig is a server with workers of every kind of key, and runs that are theirs and others'.
type doorRig struct {
	*rig
	n     int
	steps string // the step worker
}

func newDoorRig(t *testing.T, w world.World) *doorRig {
	keys, err := ParseKeys(doorLimits)
	if err != nil {
		t.Fatal(err)
	}
	r := &doorRig{rig: newRigOn(t, w, Options{Keys: append(testKeys(t), keys...)})}
	r.server.Drain() // nothing waits, and no answer goes on for ever
	op, otto := as(operatorSecret), as(otherSecret)
	start := func(workflow, run, more string) {
		r.want(201, "POST", "/v1/workflows/"+workflow+"/runs", `{"id": "`+run+`", "version": 1, "input": {"tenant": "ann"}`+more+`}`, op...)
	}
	join := func(worker, workflow, more string, key []string) {
		r.call("join", `{"id": "`+worker+`", "leaseMs": 600000, "classes": [{"workflow": "`+workflow+`", "version": 1}]`+more+`}`, key...)
	}
	take := func(worker, workflow string, n int, key []string) *reply {
		return r.call("take", fmt.Sprintf(`{"worker": %q, "classes": [{"workflow": %q, "version": 1}], "runs": 1, "steps": ["weigh"], "tasks": 1, "n": %d}`, worker, workflow, n), key...)
	}
	for _, k := range doorKeys {
		if k.scope == Worker || k.scope == Admin {
			workflow := map[bool]string{true: "cargo", false: "mail"}[k.who == "far"]
			start(workflow, "turn-"+k.who, "")
			join("wrkr_"+k.who, workflow, "", as(k.secret))
			got := r.call("take", `{"worker": "wrkr_`+k.who+`", "classes": [{"workflow": "`+workflow+`", "version": 1}], "runs": 1, "n": 1}`, as(k.secret)...)
			r.is(got, "runs.0.run", "turn-"+k.who)
		}
	}
	said := `, "stepLimits": [{"name": "vault", "number": 2}], "definitions": [{"workflow": "mail", "version": 1}, {"workflow": "pay", "version": 1, "limits": [{"name": "bank", "number": 1, "path": "tenant"}]}]`
	teller := `, "definitions": [{"workflow": "bank", "version": 1, "limits": [{"name": "teller", "number": 1}]}]`
	for worker, c := range map[string][3]string{"wrkr_otto": {"held", "mail", said}, "wrkr_gone": {"lost", "bank", teller}} {
		run, workflow := c[0], c[1]
		start(workflow, run, "")
		join(worker, workflow, `, "steps": ["weigh"]`+c[2], otto)
		r.is(take(worker, workflow, 1, otto), "runs.0.run", run)
		r.call("commit", strings.NewReplacer("$id", fmt.Sprintf("%032x", len(worker+run+workflow)), "$turn", run, "$worker", worker).Replace(
			turn(`"type": "step_created", "id": "step_1", "kind": "task", "name": "weigh", "queued": true`, `, "tasks": [{"step": "step_1", "name": "weigh", "workflow": "`+workflow+`", "input": 1, "priority": 1}]`)), otto...)
		n := 1
		r.until("the step to be taken", func() bool { n++; return take(worker, workflow, n, otto).get("tasks.0.run") == run })
	}
	r.call("leave", `{"worker": "wrkr_gone"}`, otto...)
	start("mail", "victim", `, "delay": "1h"`)
	start("bank", "theirs", `, "delay": "1h"`)
	openWebhooks(t, w)
	r.want(200, "PUT", "/v1/queues/q", `{}`, op...)
	r.want(200, "PUT", "/v1/subscriptions/a-hook", `{"pattern": "never", "endpoint": {"url": "https://example.com/services/T0123456789abcdef0123/x?token=sesame"}}`, op...)
	r.call("keepMetrics", `{"process": "prcs_1", "revision": 1, "says": []}`, as(workerSecret)...)
	r.steps = r.want(200, "POST", "/v1/steps/take", `{"steps": ["resize"]}`, as(stepsSecret)...).get("worker").(string)
	return r
}

// fill fills in a text for a cell.
func (r *doorRig) fill(who, name, run, text string) string {
	r.Helper()
	r.n++
	worker, holds := "wrkr_"+who, "turn-"+who
	switch who {
	case "py":
		worker = r.steps
	case "nobody", "vic", "olga":
		worker, holds = "wrkr_right", "turn-right"
	}
	revision := ""
	if strings.Contains(text, "$rev") {
		revision = fmt.Sprint(r.revision())
	}
	receipt := (&stepReceipt{Worker: worker, Run: "lost", Step: "step_1", Attempt: 1, Began: 1}).text()
	return strings.NewReplacer("$name", name, "$run", run, "$turn", holds, "$worker", worker, "$rev", revision, "$id", fmt.Sprintf("%032x", 1_000_000+r.n),
		"$now", world.Now().Format(time.RFC3339), "$receipt", receipt).Replace(text)
}

// ask opens a door.
func (r *doorRig) ask(d *door, who, secret, name, run string, headers ...string) *reply {
	r.Helper()
	method, path, rest := strings.Cut(d.call, " ")
	if !rest {
		method, path = "POST", inWorld+d.call
	}
	if secret != "" {
		headers = append(headers, as(secret)...)
	}
	headers = append(headers, "X-Forwarded-For", "192.0.2.1", "X-Forwarded-User", "the boss")
	return r.send(method, r.fill(who, name, run, path), r.fill(who, name, run, d.body), headers...)
}

// state is all that a refused act may not have changed.
func (r *doorRig) state() string {
	r.Helper()
	w, ctx, all := r.world, r.Context(), []any{}
	add := func(v any, err error) {
		r.Helper()
		if err != nil {
			r.Fatal(err)
		}
		all = append(all, v)
	}
	runs, err := r.world.Runs(ctx, world.RunQuery{Limit: 1000})
	add(runs, err)
	for _, run := range runs.Runs {
		add(r.world.Events(ctx, run.ID, world.EventQuery{}))
		add(w.Tasks(ctx, run.ID))
		add(r.world.StreamsOf(ctx, run.ID))
	}
	add(r.world.Hooks(ctx, world.HookQuery{}))
	add(w.Topics().Subscriptions(ctx))
	add(w.Topics().Publications(ctx, world.PublicationQuery{Limit: 100}))
	add(w.Schedules().Schedules(ctx, world.ScheduleQuery{Limit: 100}))
	queues, err := w.Messages().Queues(ctx)
	add(queues, err)
	for _, q := range queues {
		add(w.Messages().PeekMessages(ctx, world.PeekQuery{Queue: q.Name, Limit: 100}))
	}
	add(w.Starts().Holds(ctx))
	add(w.Limits().ListLimits(ctx))
	defined, err := w.Defined(ctx, []string{"mail", "bank", "pay", "cargo"})
	defined.Live = nil
	add(defined, err)
	add(w.BindKey(ctx, "victim", nil))
	stats, err := r.world.Stats(ctx)
	add(stats.Counters.Deliveries, err)
	text, err := json.Marshal(all)
	if err != nil {
		r.Fatal(err)
	}
	return string(text)
}

// refuses asks as everybody whom a row refuses, and holds that nothing was written.
func (r *doorRig) refuses(d *door) {
	r.Helper()
	before, began := r.state(), len(r.log.String())
	for i, key := range doorKeys {
		want := doorCells[rune(d.cells[i])]
		if want == "" {
			continue
		}
		a := r.ask(d, key.who, key.secret, "victim", "victim")
		if got := fmt.Sprintf("%d %v", a.status, a.get("code")); got != want {
			r.Errorf("%s %.200s as %s: got %s %.200s, want %s", d.call, d.body, key.who, got, a.body, want)
		}
	}
	if now := r.state(); now != before {
		i := 0
		for i < len(now) && i < len(before) && now[i] == before[i] {
			i++
		}
		i = max(0, i-100)
		r.Errorf("%s %.200s: refused, and it wrote: %.300s, then %.300s", d.call, d.body, before[i:], now[i:])
	}
	for line := range strings.Lines(r.log.String()[began:]) {
		if strings.Contains(line, "msg=audit") && !strings.Contains(line, " refused=") {
			r.Errorf("%s %.200s: refused, and the audit says it was done: %s", d.call, d.body, line)
		}
	}
}

// admits asks as everybody whom a row admits, plainly and through an assistant, and looks at what stands.
func (r *doorRig) admits(row int, d *door) {
	r.Helper()
	_, boss, _ := strings.Cut(d.body, `"by": "`)
	boss, _, _ = strings.Cut(boss, `"`)
	for i, key := range doorKeys {
		if d.cells[i] != '+' {
			continue
		}
		signed := strings.Contains(d.says, "$")
		for _, through := range []string{"", "claude"}[:map[bool]int{true: 2, false: 1}[signed]] {
			name := fmt.Sprint("d", row, "-", key.who, through)
			run := name
			if strings.Contains(d.call+d.body, "$run") {
				r.want(201, "POST", "/v1/workflows/mail/runs", `{"id": "`+run+`", "version": 1, "delay": "1h", "input": {"tenant": "ann"}}`, as(operatorSecret)...)
			}
			var headers []string
			who, by := key.who, key.who
			if key.scope == Worker {
				by += " through " + boss
			}
			if through != "" {
				headers = []string{"Stepwell-Through", through}
				who += " through " + through
				by = who
			}
			at := fmt.Sprintf("%s %.200s as %s", d.call, d.body, who)
			began := len(r.log.String())
			a := r.ask(d, key.who, key.secret, name, run, headers...)
			if people := key.scope == Operator || key.scope == Admin; people && (signed || strings.Contains(d.body, "spread")) && !strings.Contains(r.log.String()[began:], "msg=audit who="+key.who) {
				r.Errorf("%s: the audit does not have it", at)
			}
			if a.status >= 300 {
				r.Errorf("%s: got %d %.300s, want it to be admitted", at, a.status, a.body)
				continue
			}
			want := strings.NewReplacer("$by", by, "$who", who).Replace(d.says)
			if hidden, hides := strings.CutPrefix(want, "!"); hides {
				if strings.Contains(string(a.body), hidden) {
					r.Errorf("%s: it is told %.500s", at, a.body)
				}
			} else if got := r.looks(d, a, name, run); !strings.HasPrefix(got, want) || strings.Contains(d.says, "$") && got != want {
				r.Errorf("%s: what stands says %q, want %q", at, got, want)
			}
		}
	}
}

// looks is what stands where a row has one look.
func (r *doorRig) looks(d *door, a *reply, name, run string) string {
	r.Helper()
	words := strings.Fields(d.look)
	switch {
	case d.look == "" && d.says == "":
		return ""
	case d.look == "": // somewhere in the answer
		if strings.Contains(string(a.body), d.says) {
			return d.says
		}
		return string(a.body)
	case d.look == "log":
		log := r.log1(run)
		return log[len(log)-1].By
	case d.look == "places":
		return fmt.Sprint(r.log1(name)[0].Birth.Places)
	case d.look == "hold":
		all := r.holds()
		return all[slices.IndexFunc(all, func(h world.Hold) bool { return h.Workflow == name })].By
	case len(words) > 1: // a call, its body, and a path
		last := len(words) - 1
		a = r.call(words[0], r.fill("ann", name, run, strings.Join(words[1:last], " ")), as(adminSecret)...)
		return fmt.Sprint(a.get(words[last]))
	}
	return fmt.Sprint(a.get(d.look))
}
