package server

// What somebody acts through is in the logs, behind who it was.

import (
	"errors"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote"
	"github.com/stepwell/stepwell/world/remote/wire"
)

func TestThrough(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{Keys: testKeys(t)})
	operator := []string{"Authorization", bearer(operatorSecret)}
	r.want(201, "POST", orders, `{"id": "t1", "input": {"customer": "gus", "cents": 5}}`, operator...)
	pausedBy := func(want string) {
		t.Helper()
		if why := r.want(200, "GET", orders+"/t1/why", "", operator...); why.get("by") != want {
			t.Errorf("why: got %s, want paused by %s", why.body, want)
		}
		r.want(202, "POST", orders+"/t1/resume", "", operator...)
		r.until("the run to go on", func() bool { return r.send("GET", orders+"/t1/why", "", operator...).get("kind") != "paused" })
	}
	paused := func() {
		t.Helper()
		r.until("the pause", func() bool { return r.send("GET", orders+"/t1/why", "", operator...).get("kind") == "paused" })
	}
	pause := func(by string) *world.Delivery {
		return &world.Delivery{ID: "pause:" + by, Run: "t1", Act: true, Events: []world.Event{{Type: world.RunPaused, Time: world.Now(), By: by}}}
	}

	r.want(202, "POST", orders+"/t1/pause", "", append(operator, wire.ThroughHeader, "mcp claude 2")...)
	paused()
	pausedBy("olga through mcp claude 2")

	// Over the wire, where who acts is not for the client to say, and with more than is kept.
	long := "mcp " + strings.Repeat("x", 10*wire.MostThrough)
	w := openRemote(t, r.base, remote.Options{Key: operatorSecret, Through: long})
	if _, err := w.Deliver(t.Context(), pause("ann")); err != nil {
		t.Fatal(err)
	}
	paused()
	kept := long[:wire.MostThrough-1] + "…"
	pausedBy("olga through " + kept)

	viewer := openRemote(t, r.base, remote.Options{Key: viewerSecret, Through: "mcp claude 2"})
	if _, err := viewer.Deliver(t.Context(), pause("eve")); !errors.Is(err, remote.ErrForbidden) {
		t.Errorf("a viewer pauses: got %v, want forbidden", err)
	}
	for _, want := range []string{`who=olga what=pauseRun from=`, `through="mcp claude 2" run_id=t1`, `who=olga what=worldDeliver from=`, `through="` + kept + `" run_id=t1 act=run_paused`} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("the log does not have %q:\n%s", want, r.log.String())
		}
	}
}
