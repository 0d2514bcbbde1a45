package wdk

// What the tests have in common: a host on a world, and the words of its client.

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/sqlite"
)

// rig is a host on a world, as its client sees it.
type rig struct {
	*testing.T
	world world.World
	host  *Host
}

func newRig(t *testing.T, kind string) *rig {
	t.Helper()
	var w world.World = memory.New()
	if kind == "sqlite" {
		var err error
		if w, err = sqlite.Open(filepath.Join(t.TempDir(), "app.db"), sqlite.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = w.Close() })
	return &rig{t, w, hostOn(t, w)}
}

// hostOn is one more server of a database.
func hostOn(t *testing.T, w world.World) *Host {
	h := New(w, slog.New(slog.DiscardHandler))
	t.Cleanup(h.Close)
	return h
}

var stores = []string{"memory", "sqlite"}

// call makes a call with arguments in JSON, where ' is ", and returns what comes back, or the name of the refusal.
func (r *rig) call(h *Host, name, args string) (out map[string]any, refusal string) {
	r.Helper()
	got, err := h.Call(r.Context(), name, json.RawMessage(strings.ReplaceAll(args, "'", `"`)))
	var no *Refusal
	if errors.As(err, &no) {
		return nil, no.Name
	}
	if err != nil {
		r.Fatalf("%s %s: %v", name, args, err)
	}
	b, err := json.Marshal(got)
	if err == nil && len(b) > 0 && b[0] == '{' {
		err = json.Unmarshal(b, &out)
	} else if err == nil {
		err = json.Unmarshal(append(append([]byte(`{"it":`), b...), '}'), &out)
	}
	if err != nil {
		r.Fatal(err)
	}
	return out, ""
}

// event asks for an event, and wants it.
func (r *rig) event(run, event string) map[string]any {
	r.Helper()
	out, refusal := r.call(r.host, "events.create", eventOf(run, event))
	if refusal != "" {
		r.Fatalf("%s: refused: %s", event, refusal)
	}
	return out
}

func eventOf(run, event string) string {
	return `{'runId': '` + run + `', 'call': '` + world.NewID("call", time.Now()) + `', 'event': {'specVersion': 6, ` + event + `}}`
}

const (
	runCreated   = `'eventType': 'run_created', 'eventData': {'deploymentId': 'd', 'workflowName': 'workflow//./a//f', 'input': {'$text': 'in'}}`
	runStarted   = `'eventType': 'run_started'`
	resilient    = `'eventType': 'run_started', 'eventData': {'deploymentId': 'd', 'workflowName': 'workflow//./a//f', 'input': {'$text': 'in'}}`
	runCompleted = `'eventType': 'run_completed', 'eventData': {'output': {'$text': 'out'}}`
	runFailed    = `'eventType': 'run_failed', 'eventData': {'error': {'$text': 'devl[{\"message\":1},\"broken\"]'}, 'errorCode': 'USER_ERROR'}`
	runCancelled = `'eventType': 'run_cancelled', 'eventData': {'cancelReason': 'enough'}`
	attrSet      = `'eventType': 'attr_set', 'correlationId': 'attr_1', 'eventData': {'changes': [{'key': 'a', 'value': '1'}, {'key': 'b', 'value': null}], 'writer': {'type': 'step', 'stepId': 'step_1', 'attempt': 2}}`
)

func stepEvent(kind, id, data string) string {
	return `'eventType': 'step_` + kind + `', 'correlationId': '` + id + `', 'eventData': {` + data + `}`
}

func lazy(id string) string { return lazyWith(id, `{'$text': 'x'}`) }

func lazyWith(id, input string) string {
	return stepEvent("started", id, `'stepName': 'step//./a//one', 'input': `+input)
}

func hookEvent(kind, id, data string) string {
	return `'eventType': 'hook_` + kind + `', 'correlationId': '` + id + `', 'eventData': {` + data + `}`
}

func waitEvent(kind, id, data string) string {
	return `'eventType': 'wait_` + kind + `', 'correlationId': '` + id + `', 'eventData': {` + data + `}`
}

// begin has a run that is running.
func (r *rig) begin() string {
	r.Helper()
	id := world.NewID(world.PrefixRun, time.Now())
	r.event(id, runCreated)
	r.event(id, runStarted)
	return id
}

// types are the run's events as the DevKit reads them, with what is wrong with their IDs.
func (r *rig) types(run string) (all []string) {
	r.Helper()
	out, _ := r.call(r.host, "events.list", `{'runId': '`+run+`'}`)
	for i, e := range out["data"].([]any) {
		e := e.(map[string]any)
		all = append(all, e["eventType"].(string))
		if want := fmt.Sprintf("evnt_%026d", i+1); e["eventId"] != want {
			r.Errorf("event %d has the ID %v, want %s", i, e["eventId"], want)
		}
	}
	return all
}

// aRing has one key.
func aRing(t *testing.T) *keyring.Ring {
	t.Helper()
	key, err := keyring.NewKey("k1")
	if err != nil {
		t.Fatal(err)
	}
	ring, err := keyring.New(key)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}
