package behaviour_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// ambiguous is JSON that two readers would read in two ways: encoding/json takes it.
var ambiguous = map[string]string{
	"a member twice":                   `{"cents":1,"cents":2}`,
	"a member twice, written in two":   `{"cents":1,"c\u0065nts":2}`,
	"a member twice, deep":             `{"a":[{"b":{"c":1,"c":1}}]}`,
	"not UTF-8":                        "{\"name\":\"\xff\"}",
	"a member's name that is not":      "{\"\xff\":1}",
	"half of a surrogate pair escaped": `{"name":"\ud800"}`,
}

// TestAmbiguousJSONComesThroughNoDoor: what REST refuses in a payload the Go API does, wherever it takes raw JSON, and nothing is written.
func TestAmbiguousJSONComesThroughNoDoor(t *testing.T) {
	onWorlds(t, func(r *rig) {
		wf := stepwell.Define("waits", func(ctx stepwell.Context, _ json.RawMessage) (int, error) {
			if _, err := stepwell.NewHook[json.RawMessage](ctx, stepwell.Token("door")); err != nil {
				return 0, err
			}
			if err := stepwell.Do(ctx, "one", nothing); err != nil {
				return 0, err
			}
			return 0, stepwell.Sleep(ctx, "long", time.Hour)
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, json.RawMessage(`{}`), stepwell.RunID("r1"))
		until(r, "the sleep", func() bool { q := r.get(run.ID()).Queue; return q != nil && q.Owner == "" })
		event := stepwell.Event[json.RawMessage]("e")
		at := world.Now()
		for what, text := range ambiguous {
			raw := json.RawMessage(text)
			birth := &world.Birth{Workflow: "waits", Priority: 1}
			for door, knock := range map[string]func() error{
				"Start":           func() error { _, err := wk.Start(r.ctx, "waits", raw); return err },
				"Start elsewhere": func() error { _, err := wk.Start(r.ctx, "nobody", raw); return err },
				"typed Start":     func() error { _, err := wf.Start(r.ctx, wk.App, raw); return err },
				"Start, attribute": func() error {
					_, err := wk.Start(r.ctx, "nobody", []byte(`1`), stepwell.Attributes(map[string]any{"a": raw}))
					return err
				},
				"Signal":   func() error { return wk.Signal(r.ctx, "r1", "e", raw) },
				"Send":     func() error { return event.Send(r.ctx, wk.App, "r1", raw) },
				"SendHook": func() error { return wk.SendHook(r.ctx, "door", raw) },
				"Restart":  func() error { _, err := wk.Restart(r.ctx, "r1", stepwell.RestartOptions{Input: raw}); return err },
				"Fork":     func() error { _, err := wk.Fork(r.ctx, "r1", stepwell.ForkOptions{Input: raw}); return err },
				"Fork, result": func() error {
					_, err := wk.Fork(r.ctx, "r1", stepwell.ForkOptions{Results: map[string]json.RawMessage{"one": raw}})
					return err
				},
				"filter by input": func() error {
					_, err := wk.Page(r.ctx, stepwell.ListFilter{Input: raw}, "", 1)
					return err
				},
				"filter by attribute": func() error {
					_, err := wk.Page(r.ctx, stepwell.ListFilter{Attributes: stepwell.Match{"a": raw}}, "", 1)
					return err
				},
				"AdmitCommit": func() error {
					return wk.AdmitCommit(&world.Commit{Run: "x", Events: []world.Event{{Type: world.RunCreated, Time: at, Birth: birth, Payload: raw}}})
				},
				"AdmitCommit, attribute": func() error {
					b := *birth
					b.Attributes = map[string]json.RawMessage{"a": raw}
					return wk.AdmitCommit(&world.Commit{Run: "x", Events: []world.Event{{Type: world.RunCreated, Time: at, Birth: &b, Payload: []byte(`1`)}}})
				},
				"AdmitDelivery": func() error {
					return wk.AdmitDelivery(&world.Delivery{Run: "r1", Events: []world.Event{{Type: world.SignalReceived, Name: "e", Payload: raw}}})
				},
			} {
				if err := knock(); !errors.Is(err, stepwell.ErrInvalid) {
					r.Errorf("%s: %s: %v, want %v", door, what, err, stepwell.ErrInvalid)
				}
			}
		}
		n := 0
		for _, err := range wk.List(r.ctx, stepwell.ListFilter{}) {
			if n++; err != nil {
				r.Fatal(err)
			}
		}
		if q := r.get("r1").Queue; n != 1 || q == nil || q.Mail != 0 {
			r.Errorf("%d runs, want one, with no mail: %+v", n, q)
		}
	})
}

// TestARunOfBeforeIsRestarted: what a log has came in by the rules of its day, and goes on.
func TestARunOfBeforeIsRestarted(t *testing.T) {
	onWorlds(t, func(r *rig) {
		wf := stepwell.Define("old", func(_ stepwell.Context, in map[string]int) (int, error) { return in["cents"], nil })
		c := &world.Commit{ID: [16]byte{1}, Run: "old-1", First: 1, Events: []world.Event{{
			Seq: 1, Type: world.RunCreated, Time: world.Now(), Birth: &world.Birth{Workflow: "old", Priority: 1}, Payload: []byte(ambiguous["a member twice"]),
		}}}
		if _, err := r.world.Commit(r.ctx, c); err != nil {
			r.Fatal(err)
		}
		wk := r.begin(wf)
		want(r, wf.Get(wk.App, "old-1"), 2)
		again, err := wk.Restart(r.ctx, "old-1", stepwell.RestartOptions{})
		if err != nil {
			r.Fatal(err)
		}
		want(r, wf.Get(wk.App, again.ID()), 2)
		forked, err := wk.Fork(r.ctx, "old-1", stepwell.ForkOptions{At: 1})
		if err != nil {
			r.Fatal(err)
		}
		want(r, wf.Get(wk.App, forked.ID()), 2)
	})
}
