package server

// Heartbeats of hooks: whoever has the token says that they are still at it.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/remote"
)

// survey waits for somebody who says now and then that they are at it.
var survey = stepwell.Define("survey", func(ctx stepwell.Context, _ string) (string, error) {
	hook, err := stepwell.NewHook[string](ctx, stepwell.Token("survey"), stepwell.Metadata("the roof"), stepwell.HeartbeatTimeout(time.Hour))
	if err != nil {
		return "", err
	}
	v, _, err := hook.Wait(ctx)
	return v, err
})

func (r *rig) walkHeartbeats() {
	r.Helper()
	r.want(201, "POST", "/v1/workflows/survey/runs", `{"id": "s1", "input": ""}`)
	r.until("the hook", func() bool { return r.send("GET", "/v1/hooks?run=s1", "").get("0.run") == "s1" })
	if got := r.want(200, "GET", "/v1/hooks/survey", ""); got.get("heartbeat") != "1h" || got.get("metadata") != "the roof" {
		r.Errorf("the hook says %s", got.body)
	}
	if got := r.want(200, "GET", "/v1/hooks?token=survey", ""); got.get("0.heartbeat") != "1h" || got.get("0.metadata") != "the roof" {
		r.Errorf("the list says %s", got.body)
	}
	r.want(202, "POST", "/v1/hooks/survey/heartbeat", `{"page": 3}`)
	r.want(202, "POST", "/v1/hooks/survey/heartbeat", "") // within an eighth of an hour it is the same one
	r.refused(413, "TOO_LARGE", "POST", "/v1/hooks/survey/heartbeat", `"`+strings.Repeat("x", 5000)+`"`)
	r.refused(400, "INVALID", "POST", "/v1/hooks/survey/heartbeat", `{`)
	r.refused(404, "NOT_FOUND", "POST", "/v1/hooks/nobody/heartbeat", `1`)
	r.until("why to tell", func() bool {
		also, _ := r.send("GET", "/v1/runs/s1/why", "").get("also.0").(string)
		return strings.HasPrefix(also, `hook "hook": last heard `)
	})
	if steps := string(r.want(200, "GET", "/v1/runs/s1/steps?payloads=true", "").body); !strings.Contains(steps, `"output":{"page":3}`) || strings.Count(steps, `"outcome":"received"`) != 1 {
		r.Errorf("the journal says %s", steps)
	}
	if log := r.log.String(); !strings.Contains(log, "msg=audit who=anonymous what=heartbeatHook") || !strings.Contains(log, "run_id=s1") || strings.Contains(log, "page") {
		r.Errorf("the audit log should have the heartbeat, and not what it said:\n%s", log)
	}
	r.want(202, "POST", "/v1/hooks/survey", `"done"`)
	r.want(200, "GET", "/v1/runs/s1?wait=30s", "")
	r.refused(410, "RUN_OVER", "POST", "/v1/hooks/survey/heartbeat", `1`)
}

func TestHeartbeatOfAHook(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			newRig(t, kind, Options{}, survey).walkHeartbeats()
		})
	}
}

// Worker and client have the server in the place of a database.
func TestHeartbeatOfAHookOverAServer(t *testing.T) {
	t.Parallel()
	below := memory.New()
	w, err := remote.Open(t.Context(), serveWorld(t, below, Options{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{survey}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var worker sync.WaitGroup
	worker.Go(func() {
		if err := app.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	defer worker.Wait()
	defer stop()
	run, err := survey.Start(t.Context(), app, "")
	if err != nil {
		t.Fatal(err)
	}
	for err = stepwell.ErrNotFound; errors.Is(err, stepwell.ErrNotFound); { // until the hook is open
		err = app.HeartbeatHook(t.Context(), "survey", 3)
	}
	if err != nil {
		t.Fatal(err)
	}
	for also := ""; !strings.Contains(also, `hook "hook": last heard `); {
		why, err := app.Why(t.Context(), run.ID())
		if err != nil {
			t.Fatal(err)
		}
		also = fmt.Sprint(why.Also)
	}
	if err := app.SendHook(t.Context(), "survey", []byte(`"done"`)); err != nil {
		t.Fatal(err)
	}
	if got, err := run.Result(t.Context()); got != "done" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
