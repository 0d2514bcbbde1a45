package server

// This file tests that what runs wait for, and is nothing but time, ends over every door.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote"
)

// tills charge by a step in place and by one that is queued, and fail as long as the bank is away.
func tills() (back *atomic.Bool, defs []stepwell.Definition) {
	back = &atomic.Bool{}
	hourly := stepwell.Retry{Attempts: 3, Base: time.Hour, Jitter: -1}
	charge := func(_ context.Context, in string) (string, error) {
		if !back.Load() {
			return "", errors.New("the bank is away")
		}
		return in, nil
	}
	queued := stepwell.DefineStep("charge", charge, hourly)
	wf := stepwell.Define("till", func(ctx stepwell.Context, _ int) ([]string, error) {
		place := stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) {
			return stepwell.Step(ctx, "in-place", func(ctx context.Context) (string, error) { return charge(ctx, "place") }, hourly)
		})
		queue := stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) { return queued.Run(ctx, "queue") })
		return stepwell.All(ctx, place, queue)
	})
	return back, []stepwell.Definition{wf, queued}
}

// waits waits until both steps of a till wait for their next attempt.
func (r *rig) waits(run string) {
	r.Helper()
	r.until("the steps of "+run+" to wait", func() bool {
		a := r.send("GET", "/v1/workflows/till/runs/"+run+"/steps", "")
		return a.get("steps.0.retryAt") != nil && a.get("steps.1.retryAt") != nil
	})
}

// TestWakeOverREST: one run and many, by choice, with the counts of each kind; without one a delayed start stays delayed.
func TestWakeOverREST(t *testing.T) {
	t.Parallel()
	back, defs := tills()
	r := newRig(t, "sqlite", Options{}, defs...)
	const runs = "/v1/workflows/till/runs"
	for i := range 3 {
		r.want(201, "POST", runs, fmt.Sprintf(`{"id": "t%d", "input": 1}`, i))
	}
	r.want(201, "POST", runs, `{"id": "later", "input": 1, "delay": "1d"}`)
	for i := range 3 {
		r.waits(fmt.Sprint("t", i))
	}
	if a := r.want(202, "POST", runs+"/t0/wake", `{"sleeps": true}`); a.get("woken") != 0.0 {
		t.Errorf("sleeps: got %s, want none", a.body)
	}
	r.refused(400, "INVALID", "POST", runs+"/t0/wake", `{"retry": true}`)
	r.refused(400, "INVALID", "POST", "/v1/bulk/pause", `{"all": true, "retries": true}`)
	back.Store(true)
	if a := r.want(202, "POST", runs+"/t0/wake", `{"retries": true}`); a.get("woken") != 2.0 || a.get("retries") != 2.0 || a.get("sleeps") != 0.0 {
		t.Errorf("retries: got %s, want 2", a.body)
	}
	r.until("the end of t0", func() bool { return r.send("GET", runs+"/t0", "").get("status") == "completed" })
	if a := r.want(200, "POST", "/v1/bulk/wake", `{"filter": {"workflow": "till"}, "retries": true}`); a.get("done") != 2.0 || a.get("unchanged") != 0.0 {
		t.Errorf("bulk wake of retries: got %s, want 2 done", a.body)
	}
	for _, run := range []string{"t1", "t2"} {
		r.until("the end of "+run, func() bool { return r.send("GET", runs+"/"+run, "").get("status") == "completed" })
	}
	if a := r.want(202, "POST", runs+"/later/wake", ""); a.get("woken") != 0.0 {
		t.Errorf("a delayed start, not asked for: got %s, want nothing woken", a.body)
	}
	if a := r.want(200, "POST", "/v1/bulk/wake", `{"filter": {"workflow": "till"}, "starts": true}`); a.get("done") != 1.0 {
		t.Errorf("bulk wake of starts: got %s, want 1 done", a.body)
	}
	r.until("the end of the delayed run", func() bool { return r.send("GET", runs+"/later", "").get("status") == "completed" })
}

// TestWakeOverTheWire: a remote App wakes with an operator's key, which the log names, whoever it says it is; a viewer and a worker that is for
// others do not.
func TestWakeOverTheWire(t *testing.T) {
	t.Parallel()
	back, defs := tills()
	extra, err := ParseKeys("worker?workflow=mail:lim:" + limitedSecret)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, "memory", Options{Keys: append(testKeys(t), extra...)}, defs...)
	as := func(secret string) []string { return []string{"Authorization", "Bearer " + secret} }
	r.want(201, "POST", "/v1/workflows/till/runs", `{"id": "t", "input": 1}`, as(operatorSecret)...)
	r.until("the steps to wait", func() bool {
		a := r.send("GET", "/v1/workflows/till/runs/t/steps", "", as(viewerSecret)...)
		return a.get("steps.0.retryAt") != nil && a.get("steps.1.retryAt") != nil
	})
	tasks, err := r.world.Tasks(t.Context(), "t")
	if err != nil || len(tasks) != 1 {
		t.Fatalf("tasks: %+v, %v", tasks, err)
	}
	wake, _ := json.Marshal(map[string]any{
		"task":   map[string]any{"run": "t", "step": tasks[0].Step, "attempt": 1},
		"events": []any{map[string]any{"type": "step_woken", "id": tasks[0].Step, "attempt": 1, "by": "mallory", "time": time.Now()}},
	})
	for _, secret := range []string{viewerSecret, limitedSecret} {
		if a := r.send("POST", inWorld+"deliver", string(wake), as(secret)...); a.status < 400 {
			t.Errorf("%s: got %d, %s; want it refused", secret, a.status, a.body)
		}
	}
	w := openRemote(t, r.base, remote.Options{Key: operatorSecret})
	app, err := stepwell.New(w, stepwell.Config{Name: "mallory"})
	if err != nil {
		t.Fatal(err)
	}
	back.Store(true)
	if n, err := app.Wake(t.Context(), "t", stepwell.WakeRetries); n != (world.Woken{Retries: 2}) || err != nil {
		t.Fatalf("Wake = %+v, %v; want 2 retries", n, err)
	}
	r.until("the end", func() bool {
		return r.send("GET", "/v1/workflows/till/runs/t", "", as(viewerSecret)...).get("status") == "completed"
	})
	n := 0
	for e, err := range app.Events(t.Context(), "t", stepwell.EventFilter{Types: []world.EventType{world.StepWoken}}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; e.By != "olga" {
			t.Errorf("woken by %q, want olga, whose key it is", e.By)
		}
	}
	if n != 2 {
		t.Errorf("%d wakes in the log, want 2", n)
	}
}
