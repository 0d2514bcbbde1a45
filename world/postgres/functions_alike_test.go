package postgres_test

// What the functions of the schema write is what Go writes.

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// ways are what is done by Go and by SQL.
var ways = map[string]struct {
	start         string // of SQL, behind the workflow and the input
	workflow      string
	input         string
	options       []stepwell.StartOption
	message       *world.Message
	publication   *world.Publication
	call          string // of SQL, for these
	signal        string // delivery ID, "-": none
	live, limited bool
}{
	"plain":       {workflow: "w", input: `{"a": [1, "x:y"],"é":"\u00e9"}`},
	"key":         {workflow: "w", input: `null`, start: `, idempotency_key => 'k "1" \ é <'`, options: []stepwell.StartOption{stepwell.Key(`k "1" \ é <`)}},
	"options":     {workflow: "w", input: `1`, start: `, run_id => 'r-1', delay => '1 hour', priority => 4, version => 7`, options: []stepwell.StartOption{stepwell.RunID("r-1"), stepwell.Delay(time.Hour), stepwell.Priority(4), stepwell.Version(7)}},
	"attributes":  {workflow: "w", input: `{}`, start: `, attributes => '{"b": "é<\"", "a": 12.50, "c": [1,2], "d": null, "e<": true}'`, options: []stepwell.StartOption{stepwell.Attributes(map[string]any{"a": json.RawMessage("12.50"), "b": json.RawMessage(`"é<\""`), "c": json.RawMessage("[1,2]"), "d": nil, "e<": true})}},
	"definition":  {workflow: "said", input: `{}`, start: `, attributes => '{"n": 2}'`, options: []stepwell.StartOption{stepwell.Attributes(map[string]any{"n": 2})}},
	"version":     {workflow: "said", input: `{}`, start: `, version => 1`, options: []stepwell.StartOption{stepwell.Version(1)}},
	"live":        {workflow: "said", input: `{}`, live: true},
	"for ever":    {workflow: "ever", input: `{}`},
	"limited":     {workflow: "w", input: `{}`, limited: true},
	"signal":      {workflow: "w", input: `{}`, signal: "d-1"},
	"of a step":   {workflow: "w", input: `{}`, signal: "step_01JD3V7Q5ZJ8K2M4N6P8R0T2V4 and more"},
	"no ID":       {workflow: "w", input: `{}`, signal: "-"},
	"message":     {message: &world.Message{Queue: "mails", Payload: []byte(`{"to": "ann"}`)}, call: `stepwell.send('mails', '{"to": "ann"}')`},
	"group":       {message: &world.Message{Queue: "mails", Payload: []byte(`1`), Group: "g", Priority: 4, Headers: map[string]string{"b": "<x>&\n\u2028", "a": ""}}, call: `stepwell.send('mails', '1', message_group => 'g', priority => 4, headers => '{"b": "<x>&\n\u2028", "a": ""}')`},
	"dedupe":      {message: &world.Message{Queue: "mails", Payload: []byte(`1`), Dedupe: "d", Delay: time.Hour}, call: `stepwell.send('mails', '1', delay => '1 hour', dedupe_id => 'd')`},
	"key 1":       {message: &world.Message{Queue: "keyed", Payload: []byte(`{"n": 1}`)}, call: `stepwell.send('keyed', '{"n": 1}')`},
	"key 1.0":     {message: &world.Message{Queue: "keyed", Payload: []byte(`{"n": 1.0}`)}, call: `stepwell.send('keyed', '{"n": 1.0}')`},
	"key 1e0":     {message: &world.Message{Queue: "keyed", Payload: []byte(`{"n": -100.0E-2}`)}, call: `stepwell.send('keyed', '{"n": -100.0E-2}')`},
	"key 1e21":    {message: &world.Message{Queue: "keyed", Payload: []byte(`{"n": 0.1e+22}`)}, call: `stepwell.send('keyed', '{"n": 0.1e+22}')`},
	"key 0.002":   {message: &world.Message{Queue: "keyed", Payload: []byte(`{"n": 20e-4}`)}, call: `stepwell.send('keyed', '{"n": 20e-4}')`},
	"key 0":       {message: &world.Message{Queue: "keyed", Payload: []byte(`{"n": -0e7}`)}, call: `stepwell.send('keyed', '{"n": -0e7}')`},
	"publication": {publication: &world.Publication{Topic: "order.paid", Payload: []byte(`{"n": 1}`)}, call: `stepwell.publish('order.paid', '{"n": 1}')`},
	"once":        {publication: &world.Publication{Topic: "order.paid", Payload: []byte(`{"n": 1}`), Source: "s", Dedupe: "d", Delay: time.Hour, Headers: map[string]string{"a": "b"}}, call: `stepwell.publish('order.paid', '{"n": 1}', 's', '1 hour', 'd', '{"a":"b"}')`},
}

// TestFunctionsWriteWhatGoWrites: the same by Go and by SQL, twice each; the rows are the same.
func TestFunctionsWriteWhatGoWrites(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			byGo, bySQL := openShop(t), openShop(t)
			app := byGo.app
			for _, w := range []*shop{byGo, bySQL} {
				if way.live {
					worker := world.Worker{ID: world.NewID(world.PrefixWorker, time.Now()), Classes: []world.Class{{Workflow: "said", Version: 1}}}
					if _, err := w.Join(t.Context(), worker); err != nil {
						t.Fatal(err)
					}
				}
				if way.limited {
					if _, _, err := w.LimitRetention(t.Context(), time.Hour, false); err != nil {
						t.Fatal(err)
					}
				}
			}
			c := asCaller(t, bySQL.url, "stepwell")
			ctx := t.Context()
			again := way.options == nil || strings.Contains(way.start, "key")
			for try := range 2 {
				var err error
				switch {
				case way.message != nil:
					var sent []world.Sent
					sent, err = byGo.Messages().SendMessages(ctx, []world.Message{*way.message})
					if id := told[string](t, c, "SELECT "+way.call); len(id) != len(sent[0].ID) || id[len(id)-16:] != sent[0].ID[len(id)-16:] {
						t.Errorf("got ID %s, want one like %s", id, sent[0].ID)
					}
				case way.publication != nil:
					var sent []world.Sent
					sent, err = byGo.Topics().Publish(ctx, []world.Publication{*way.publication})
					if id := told[string](t, c, "SELECT "+way.call); try == 0 && id[len(id)-16:] != sent[0].ID[len(id)-16:] {
						t.Errorf("got ID %s, want one like %s", id, sent[0].ID)
					}
				case try == 0 || again:
					var run *stepwell.Run[json.RawMessage]
					if run, err = app.Start(ctx, way.workflow, json.RawMessage(way.input), way.options...); err != nil {
						t.Fatal(err)
					}
					id := told[string](t, c, "SELECT stepwell.start($1, $2"+way.start+")", way.workflow, way.input)
					if _, err := bySQL.Run(ctx, id); err != nil {
						t.Fatal(err)
					}
					for n := range 2 {
						if way.signal == "" {
							continue
						}
						var options []stepwell.SendOption
						var given *string
						if way.signal != "-" {
							options, given = []stepwell.SendOption{stepwell.DeliveryID(way.signal)}, &way.signal
						}
						text := strings.Repeat(" ", n) + `{"n": "a  b"}`
						if err := app.Signal(ctx, run.ID(), "go <é>", json.RawMessage(text), options...); err != nil {
							t.Fatal(err)
						}
						if fresh := told[bool](t, c, "SELECT stepwell.signal($1, 'go <é>', $2, $3)", id, text, given); fresh != (n == 0 || given == nil) {
							t.Errorf("signal %d: got new %v", n, fresh)
						}
					}
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(written(t, byGo, way.signal != "-"), written(t, bySQL, way.signal != "-")); diff != "" {
				t.Errorf("-Go +SQL:\n%s", diff)
			}
			whole(t, bySQL)
		})
	}
}
