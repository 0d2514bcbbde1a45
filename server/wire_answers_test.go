package server

// What something in between may put in the place of an answer, under the headers of the server, is nobody's answer: on each route of the wire.

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// forgeries stand in the place of the body of an answer; nil: half of its own does.
var forgeries = map[string][]byte{
	"empty object": []byte(`{}`), "null": []byte(`null`), "list": []byte(`[]`), "text": []byte(`""`), "nothing": {}, "cut": nil,
	"another object": []byte(`{"status": "ok"}`), "no": []byte(`{"ok": false}`), "no answer": []byte(`{"answer": null}`),
}

// forger is a connection that replaces the bodies of good answers to some routes. Their headers stay. It is for one call at a time.
type forger struct {
	below  http.RoundTripper
	routes []string
	body   []byte
	forged int
}

// RoundTrip sends a request, and forges its answer.
func (f *forger) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := f.below.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK || !slices.Contains(f.routes, wireName(r.URL.Path)) {
		return resp, err
	}
	body := f.body
	if body == nil {
		var whole []byte
		whole, err = io.ReadAll(resp.Body)
		body = whole[:len(whole)/2]
	}
	_ = resp.Body.Close()
	f.forged++
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, err
}

// wireName is the call that a path is of; "": the greeting.
func wireName(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, wire.Prefix), "/")
}

// caller makes good calls as a worker that owns a run.
type caller struct {
	worker string
	birth  *world.Commit
}

func newCaller(t *testing.T, w *remote.World) *caller {
	t.Helper()
	c := &caller{worker: world.NewID(world.PrefixWorker, world.Now())}
	if _, err := w.Join(t.Context(), c.joins(c.worker)); err != nil {
		t.Fatal(err)
	}
	limited := c.creates()
	limited.Events[0].Birth.Places = []world.Place{{Limit: "answered", Number: 1}}
	if _, err := w.Commit(t.Context(), limited); err != nil {
		t.Fatal(err)
	}
	c.birth = c.creates()
	c.birth.Worker, c.birth.Claim = c.worker, 1
	if _, err := w.Commit(t.Context(), c.birth); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *caller) joins(id string) world.Worker {
	return world.Worker{ID: id, Classes: []world.Class{{Workflow: "answered", Version: 1}}, Lease: 10 * time.Minute}
}

func (c *caller) creates() *world.Commit {
	birth := &world.Commit{Run: world.NewID(world.PrefixRun, world.Now()), First: 1}
	_, _ = rand.Read(birth.ID[:])
	birth.Events = []world.Event{{Type: world.RunCreated, Time: world.Now(), Payload: json.RawMessage("1"), Birth: &world.Birth{Workflow: "answered", Version: 1}}}
	return birth
}

// calls are one of each route, which the server answers well each time. known is a client whose answers are not forged.
func (c *caller) calls(known *remote.World) map[string]func(ctx context.Context, w *remote.World) error {
	run, value := c.birth.Run, world.NewID(world.PrefixApart, world.Now())
	of := func(_ any, err error) error { return err }
	return map[string]func(ctx context.Context, w *remote.World) error{
		"join": func(ctx context.Context, w *remote.World) error {
			return of(w.Join(ctx, c.joins(world.NewID(world.PrefixWorker, world.Now()))))
		},
		"claim": func(ctx context.Context, w *remote.World) error {
			return of(w.Claim(ctx, world.ClaimQuery{Worker: c.worker}))
		},
		"heartbeat": func(ctx context.Context, w *remote.World) error {
			return of(w.Heartbeat(ctx, world.HeartbeatQuery{Worker: c.worker}))
		},
		"held": func(ctx context.Context, w *remote.World) error { return of(w.Held(ctx, c.worker)) },
		"leave": func(ctx context.Context, w *remote.World) error {
			return w.Leave(ctx, world.NewID(world.PrefixWorker, world.Now()))
		},
		"sweep":   func(ctx context.Context, w *remote.World) error { return of(w.Sweep(ctx, 1)) },
		"commit":  func(ctx context.Context, w *remote.World) error { return of(w.Commit(ctx, c.creates())) },
		"outcome": func(ctx context.Context, w *remote.World) error { return of(w.Outcome(ctx, c.birth)) },
		"deliver": func(ctx context.Context, w *remote.World) error {
			return of(w.Deliver(ctx, &world.Delivery{Run: run, Events: []world.Event{{Type: world.SignalReceived, Name: "a", Time: world.Now()}}}))
		},
		"bindKey": func(ctx context.Context, w *remote.World) error { return of(w.BindKey(ctx, "k1", []byte("print"))) },
		"define": func(ctx context.Context, w *remote.World) error {
			return w.Define(ctx, []world.Definition{{Class: world.Class{Workflow: "answered", Version: 1}}})
		},
		"defined": func(ctx context.Context, w *remote.World) error { return of(w.Defined(ctx, []string{"answered"})) },
		"schemas": func(ctx context.Context, w *remote.World) error {
			return of(w.Schemas(ctx, world.Class{Workflow: "answered", Version: 1}))
		},
		"limitRetention": func(ctx context.Context, w *remote.World) error {
			_, _, err := w.LimitRetention(ctx, 0, false)
			return err
		},
		"keepMetrics": func(ctx context.Context, w *remote.World) error {
			return w.KeepMetrics(ctx, &world.ProcessMetrics{MetricsRef: world.MetricsRef{Process: "answered", Revision: 1}, Says: json.RawMessage("[]")})
		},
		"metrics": func(ctx context.Context, w *remote.World) error { return of(w.Metrics(ctx)) },
		"append": func(ctx context.Context, w *remote.World) error {
			s := world.StreamWrite{Stream: world.NewID(world.PrefixStream, world.Now()), Step: "step_1", Attempt: 1, Chunks: []json.RawMessage{json.RawMessage("1")}}
			return of(w.Append(ctx, &world.Append{Run: run, Worker: c.worker, Claim: 1, StreamWrite: s}))
		},
		"events": func(ctx context.Context, w *remote.World) error { return of(w.Events(ctx, run, world.EventQuery{})) },
		"run":    func(ctx context.Context, w *remote.World) error { return of(w.Run(ctx, run)) },
		"runs":   func(ctx context.Context, w *remote.World) error { return of(w.Runs(ctx, world.RunQuery{})) },
		"hooks":  func(ctx context.Context, w *remote.World) error { return of(w.Hooks(ctx, world.HookQuery{})) },
		"tasks":  func(ctx context.Context, w *remote.World) error { return of(w.Tasks(ctx, run)) },
		"ready":  func(ctx context.Context, w *remote.World) error { return of(w.Ready(ctx, world.ReadyQuery{})) },
		"chunks": func(ctx context.Context, w *remote.World) error {
			return of(w.Chunks(ctx, run, "none", world.ChunkQuery{}))
		},
		"streams": func(ctx context.Context, w *remote.World) error { return of(w.StreamsOf(ctx, run)) },
		"declareQueue": func(ctx context.Context, w *remote.World) error {
			return w.Messages().DeclareQueue(ctx, world.MessageQueue{Name: "answered"})
		},
		"pauseQueue": func(ctx context.Context, w *remote.World) error {
			return w.Messages().PauseQueue(ctx, "answered", nil)
		},
		"dropQueue": func(ctx context.Context, w *remote.World) error {
			if err := known.Messages().DeclareQueue(ctx, world.MessageQueue{Name: "dropped"}); err != nil {
				return err
			}
			return w.Messages().DropQueue(ctx, "dropped")
		},
		"sendMessages": func(ctx context.Context, w *remote.World) error {
			return of(w.Messages().SendMessages(ctx, []world.Message{{Queue: "answered", Payload: json.RawMessage("1")}}))
		},
		"receiveMessages": func(ctx context.Context, w *remote.World) error {
			return of(w.Messages().ReceiveMessages(ctx, world.ReceiveQuery{Queue: "answered", Limit: 1}))
		},
		"peekMessages": func(ctx context.Context, w *remote.World) error {
			return of(w.Messages().PeekMessages(ctx, world.PeekQuery{Queue: "answered"}))
		},
		"purgeMessages": func(ctx context.Context, w *remote.World) error {
			_, _, err := w.Messages().PurgeMessages(ctx, "answered", false)
			return err
		},
		"redriveMessages": func(ctx context.Context, w *remote.World) error {
			_, _, err := w.Messages().RedriveMessages(ctx, "answered")
			return err
		},
		"settleMessages": func(ctx context.Context, w *remote.World) error {
			return of(w.Messages().SettleMessages(ctx, []world.Settlement{{Receipt: world.Receipt(1, 1), Kind: world.Ack}}))
		},
		"queues": func(ctx context.Context, w *remote.World) error { return of(w.Messages().Queues(ctx)) },
		"keepPiece": func(ctx context.Context, w *remote.World) error {
			return w.Values().KeepPiece(ctx, &world.Piece{Run: run, Value: value, Data: []byte("\x001")})
		},
		"dropValue": func(ctx context.Context, w *remote.World) error { return w.Values().DropValue(ctx, run, value) },
		"valueKeys": func(ctx context.Context, w *remote.World) error { return of(w.Values().ValueKeys(ctx)) },
		"piece":     func(ctx context.Context, w *remote.World) error { return of(w.Values().Piece(ctx, run, value, 0)) },
		"spread": func(ctx context.Context, w *remote.World) error {
			due, err := known.Topics().Due(ctx, world.DueQuery{Limit: 1})
			if err != nil {
				return err
			}
			return of(w.Topics().Spread(ctx, world.Spread{Revision: due.Revision, Subscribe: &world.Subscription{Name: "answered", Pattern: "a", Queue: "answered"}}))
		},
		"due": func(ctx context.Context, w *remote.World) error {
			return of(w.Topics().Due(ctx, world.DueQuery{Limit: 1}))
		},
		"publications": func(ctx context.Context, w *remote.World) error {
			return of(w.Topics().Publications(ctx, world.PublicationQuery{}))
		},
		"shapes": func(ctx context.Context, w *remote.World) error { return of(w.Topics().Shapes(ctx)) },
		"listeners": func(ctx context.Context, w *remote.World) error {
			return of(w.Topics().Listeners(ctx, world.ListenerQuery{Limit: 1}))
		},
		"publish": func(ctx context.Context, w *remote.World) error {
			return of(w.Topics().Publish(ctx, []world.Publication{{Topic: "answered", Payload: json.RawMessage("1")}}))
		},
		"subscriptions": func(ctx context.Context, w *remote.World) error { return of(w.Topics().Subscriptions(ctx)) },
		"dueSchedules": func(ctx context.Context, w *remote.World) error {
			return of(w.Schedules().DueSchedules(ctx, "", 1, 0))
		},
		"deleteSchedule": func(ctx context.Context, w *remote.World) error {
			if _, err := known.Schedules().PutSchedule(ctx, world.Schedule{Name: "deleted", Says: world.ScheduleSpec{Workflow: "w", Times: []string{"@daily"}}}); err != nil {
				return err
			}
			return w.Schedules().DeleteSchedule(ctx, "deleted")
		},
		"putSchedule": func(ctx context.Context, w *remote.World) error {
			return of(w.Schedules().PutSchedule(ctx, world.Schedule{Name: "answered", Says: world.ScheduleSpec{Workflow: "w", Times: []string{"@daily"}}}))
		},
		"schedules": func(ctx context.Context, w *remote.World) error {
			return of(w.Schedules().Schedules(ctx, world.ScheduleQuery{}))
		},
		"hold": func(ctx context.Context, w *remote.World) error {
			return w.Starts().Hold(ctx, world.Hold{Workflow: "answered"})
		},
		"release":    func(ctx context.Context, w *remote.World) error { return w.Starts().Release(ctx, "answered") },
		"holds":      func(ctx context.Context, w *remote.World) error { return of(w.Starts().Holds(ctx)) },
		"listLimits": func(ctx context.Context, w *remote.World) error { return of(w.Limits().ListLimits(ctx)) },
		"listLimitKeys": func(ctx context.Context, w *remote.World) error {
			return of(w.Limits().ListLimitKeys(ctx, "answered", "", 1))
		},
		"listHolders": func(ctx context.Context, w *remote.World) error {
			return of(w.Limits().ListHolders(ctx, "answered", "", 1))
		},
		"inLine":   func(ctx context.Context, w *remote.World) error { return of(w.Limits().InLine(ctx, run, "")) },
		"setLimit": func(ctx context.Context, w *remote.World) error { return w.Limits().SetLimit(ctx, "answered", nil) },
		"stats":    func(ctx context.Context, w *remote.World) error { return of(w.Stats(ctx)) },
		"examine":  func(ctx context.Context, w *remote.World) error { return of(world.Findings(ctx, w)) },
	}
}

// TestForgedAnswers: what stands in the place of an answer, under its headers, is none: the outcome is unknown, or the call fails. Each route that the server
// has is called, so that a new one cannot be without.
func TestForgedAnswers(t *testing.T) {
	t.Parallel()
	url := serveWorld(t, kinds["sqlite"](t), Options{})
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	f := &forger{below: base}
	w, err := remote.Open(t.Context(), url, remote.Options{Transport: f, Patience: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	c := newCaller(t, w)
	known := openRemote(t, url, remote.Options{})
	if err := known.Messages().DeclareQueue(t.Context(), world.MessageQueue{Name: "answered"}); err != nil {
		t.Fatal(err)
	}
	calls := c.calls(known)
	for _, rt := range wireRoutes() {
		name := wireName(rt.path)
		if rt.method != "POST" {
			continue // the greeting comes below; notices are hints, and may be lost
		}
		call := calls[name]
		if call == nil {
			t.Errorf("no call tries the route %s: add it to those above", name)
			continue
		}
		if err := call(t.Context(), w); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for how, body := range forgeries {
			f.routes, f.body, f.forged = []string{name}, body, 0
			if name == "join" {
				f.routes = append(f.routes, "heartbeat") // which tells whether it has joined
			}
			if err := call(t.Context(), w); !errors.Is(err, world.ErrUnknownOutcome) && !errors.Is(err, world.ErrStorage) || f.forged == 0 {
				t.Errorf("%s, answered with %s: got %v, want that nobody knows; %d answers were forged", name, how, err, f.forged)
			}
			f.routes = nil
		}
		if err := call(t.Context(), w); err != nil {
			t.Errorf("%s, answered well again: %v", name, err)
		}
	}
	for how, body := range forgeries {
		f.routes, f.body = []string{""}, body
		if _, err := remote.Open(t.Context(), url, remote.Options{Transport: f, Patience: time.Nanosecond}); !errors.Is(err, world.ErrStorage) {
			t.Errorf("the greeting, answered with %s: got %v, want that no server answered", how, err)
		}
	}
}
