package behaviour_test

import (
	"errors"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/webhook"
)

// touchy cannot stand what comes from outside.
type touchy struct{}

func (*touchy) UnmarshalJSON([]byte) error { panic("boom") }

// A body comes from anybody: where a type panics over it, the workflow hears so, and is not blocked for it.
func TestWebhookBodyThatATypePanicsOver(t *testing.T) {
	for _, body := range []string{`{"level":"boom"}`, `{`, ``} {
		r := &webhook.Request{Body: []byte(body)}
		if err := r.Decode(&struct{ Level touchy }{}); !errors.Is(err, stepwell.ErrInvalid) {
			t.Errorf("%s: %v, want %v", body, err, stepwell.ErrInvalid)
		}
	}
}

// A body of null is no order of nothing: it is refused where the type has no nil, as the payload of a hook is.
func TestWebhookBodyOfNull(t *testing.T) {
	type order struct{ Cents int }
	wf := stepwell.Define("null-body", func(ctx stepwell.Context, _ int) ([]string, error) {
		hook, err := webhook.New(ctx, webhook.Token("null-body"))
		if err != nil {
			return nil, err
		}
		var said []string
		for req, err := range hook.All(ctx) {
			if err != nil {
				return nil, err
			}
			took := ""
			for _, into := range []any{new(order), new(int), new([2]int), new(*order), new(any), new([]int), new(map[string]int)} {
				switch err := req.Decode(into); {
				case err == nil:
					took += "+"
				case errors.Is(err, stepwell.ErrInvalid):
					took += "-"
				default:
					return nil, err
				}
			}
			if err := stepwell.Do(ctx, "note", nothing); err != nil {
				return nil, err
			}
			if said = append(said, took); req.Method == "DELETE" {
				break
			}
		}
		return said, nil
	})
	everyWay(t, func(r *rig) {
		wk := r.begin(wf)
		run := start(r, wk, wf, 0)
		r.openHook(run.ID())
		door := r.door(wk.App, "wh_null-body")
		for _, req := range []webhook.Request{
			{Method: "POST", Body: []byte(" null ")}, {Method: "POST", Body: []byte(`{"Cents":1,"Cents":2}`)}, {Method: "POST", Body: []byte(`{"Cents":1}`)},
			{Method: "DELETE", Body: []byte("{\"Cents\":\"\xff\"}")},
		} {
			if _, err := door.Send(r.ctx, req); err != nil {
				r.Fatal(err)
			}
		}
		want(r, run, []string{"---++++", "-------", "+--++-+", "-------"})
		r.replays(run.ID(), wf)
	})
}
