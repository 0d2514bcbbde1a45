package server

// What comes from outside is held against the types of code in another process: by REST, by Apps that have not the code, and behind a server.

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote"
)

type bought struct {
	Customer string `json:"customer"`
	Items    []struct {
		SKU   string `json:"sku"`
		Count int8   `json:"count"`
	} `json:"items"`
	At time.Time `json:"at"`
}

type verdict struct {
	OK bool `json:"ok"`
}

// vetted are the events that purchases wait for.
var vetted = stepwell.Event[verdict]("vetted")

// purchase is a workflow that takes an event and payloads of a hook. Its second version takes something else.
func purchase(version int) stepwell.Definition {
	if version == 2 {
		return stepwell.Define("purchase", func(stepwell.Context, []int) (int, error) { return 2, nil }, stepwell.Version(2))
	}
	return stepwell.Define("purchase", func(ctx stepwell.Context, in bought) (verdict, error) {
		hook, err := stepwell.NewHook[verdict](ctx, stepwell.Token("of-"+in.Customer))
		if err != nil {
			return verdict{}, err
		}
		if _, _, err := vetted.Wait(ctx); err != nil {
			return verdict{}, err
		}
		v, _, err := hook.Wait(ctx)
		return v, err
	}, stepwell.Accepts(vetted, stepwell.HookPayload[verdict]()))
}

// send posts JSON and reads the answer.
func send(t *testing.T, url, body string, into any) int {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	_ = json.NewDecoder(resp.Body).Decode(into) // another answer than what is waited for
	return resp.StatusCode
}

func unfit(t *testing.T, url, body string, want ...world.Misfit) {
	t.Helper()
	var p Problem
	status := send(t, url, body, &p)
	if strings.Contains(url, "/hooks/") && strings.Contains(p.Detail, "purchase") {
		t.Errorf("%s tells the workflow to who has the token: %s", url, p.Detail)
	}
	if status != http.StatusUnprocessableEntity || p.Code != "UNFIT" || !cmp.Equal(p.Errors, want) {
		t.Errorf("%s: status %d, %s: %s, %v; want 422 UNFIT with %v", url, status, p.Code, p.Detail, p.Errors, want)
	}
}

func everyKind(t *testing.T, test func(t *testing.T, w world.World)) {
	for kind, open := range map[string]func(testing.TB) world.World{"memory": kinds["memory"], "sqlite": kinds["sqlite"], "postgres": openPostgres} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func TestWhatDoesNotFitIsRefusedAtTheDoor(t *testing.T) {
	t.Parallel()
	everyKind(t, func(t *testing.T, w world.World) {
		url := serveWorld(t, w, Options{})
		far := openRemote(t, url, remote.Options{})
		runs := url + "/v1/workflows/purchase/runs"
		count := func() int {
			page, err := w.Runs(t.Context(), world.RunQuery{})
			if err != nil {
				t.Fatal(err)
			}
			return len(page.Runs)
		}
		var before struct{ ID string }
		if status := send(t, runs, `{"input":{"items":7},"id":"early","delay":"1h"}`, &before); status != http.StatusCreated {
			t.Fatalf("a start where no worker is alive: status %d, want 201, as ever", status)
		}
		live(t, w, purchase(1))
		bad := `{"customer":"ada","items":[{"sku":"a","count":1},{"sku":5,"count":128}],"at":"soon","more":1}`
		places := []world.Misfit{
			{Pointer: "/at", Expected: "a time such as 2026-05-01T12:00:00Z", Got: `"soon"`},
			{Pointer: "/items/1/count", Expected: "a whole number from -128 to 127", Got: "128"},
			{Pointer: "/items/1/sku", Expected: "a text", Got: "5"},
		}
		await(t, "the worker has told its schemas", func() bool {
			var p Problem
			return send(t, runs, `{"input":7}`, &p) == http.StatusUnprocessableEntity
		})
		was := count()
		unfit(t, runs, `{"input":`+bad+`}`, places...)
		unfit(t, runs, `{"input":null}`, world.Misfit{Expected: "an object", Got: "null"})
		for name, w := range map[string]world.World{"an App": w, "a remote App": far} {
			app, err := stepwell.New(w, stepwell.Config{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = app.Start(t.Context(), "purchase", json.RawMessage(bad))
			ue, _ := errors.AsType[*world.UnfitError](err)
			if ue == nil || !errors.Is(err, stepwell.ErrUnfit) || !errors.Is(err, stepwell.ErrInvalid) || ue.Version != 1 || !cmp.Equal(ue.Places, places) {
				t.Errorf("%s: %v, want ErrUnfit with %v", name, err, places)
			}
		}
		// Who writes to the server's world without an App is told the same.
		birth := &world.Birth{Workflow: "purchase", Version: 1, Priority: 2, Retention: day}
		_, err := far.Commit(t.Context(), &world.Commit{ID: [16]byte{1}, Run: "raw", First: 1, Events: []world.Event{{Seq: 1, Type: world.RunCreated, Time: world.Now(), Birth: birth, Payload: json.RawMessage(bad)}}})
		if !errors.Is(err, world.ErrUnfit) {
			t.Errorf("a birth by the wire: %v, want ErrUnfit", err)
		}
		if now := count(); now != was {
			t.Fatalf("%d runs were written", now-was)
		}

		var run struct{ ID string }
		if status := send(t, runs, `{"input":{"CUSTOMER":"ada","items":null,"other":[1]}}`, &run); status != http.StatusCreated {
			t.Fatalf("what encoding/json takes: status %d", status)
		}
		signals, hook := runs+"/"+run.ID+"/signals/", url+"/v1/hooks/of-ada"
		await(t, "the hook is open", func() bool {
			hooks, err := w.Hooks(t.Context(), world.HookQuery{Token: "of-ada"})
			return err == nil && len(hooks) == 1
		})
		place := world.Misfit{Pointer: "/ok", Expected: "true or false", Got: `the text "yes"`}
		unfit(t, signals+"vetted", `{"ok":"yes"}`, place)
		unfit(t, hook, `{"ok":"yes"}`, place)
		was = count()
		const well, also = `{"customer":"bob","items":[],"at":"2026-05-01T12:00:00Z"}`, `"signals":[{"event":"another","payload":7},{"event":"vetted","payload":`
		unfit(t, runs, `{"input":`+well+`,`+also+`{"ok":"yes"}}]}`, place)
		unfit(t, runs, `{"input":`+well+`,"idempotencyKey":"new",`+also+`{"ok":"yes"}}]}`, place)
		for name, w := range map[string]world.World{"an App": w, "a remote App": far} {
			app, err := stepwell.New(w, stepwell.Config{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = app.Start(t.Context(), "purchase", json.RawMessage(well), stepwell.AlsoSignal("vetted", json.RawMessage(`{"ok":"yes"}`)))
			if ue, _ := errors.AsType[*world.UnfitError](err); ue == nil || !cmp.Equal(ue.Places, []world.Misfit{place}) || !strings.Contains(err.Error(), `event "vetted"`) {
				t.Errorf("%s: an event that goes with a start: %v, want ErrUnfit with %v and the event's name", name, err, place)
			}
		}
		if now := count(); now != was {
			t.Fatalf("%d runs were written whose event did not fit", now-was)
		}
		var accepted struct{ Accepted bool }
		for _, door := range []string{signals + "another", signals + "vetted", hook} {
			if status := send(t, door, `{"ok":true}`, &accepted); status != http.StatusAccepted {
				t.Errorf("%s: status %d, want 202", door, status)
			}
		}
		await(t, "the run is over", func() bool {
			row, err := w.Run(t.Context(), run.ID)
			return err == nil && row.Status == world.Completed && string(row.Output) == `{"ok":true}`
		})

		// A second version: a start gets that, unless it asks for the first.
		stop := live(t, w, purchase(2))
		await(t, "the second version has told its schemas", func() bool {
			var p Problem
			return send(t, runs, `{"input":`+bad+`}`, &p) == http.StatusUnprocessableEntity && len(p.Errors) == 1
		})
		unfit(t, runs, `{"input":{}}`, world.Misfit{Expected: "an array", Got: "an object"})
		unfit(t, runs, `{"input":[1],"version":1}`, world.Misfit{Expected: "an object", Got: "an array"})
		if status := send(t, runs, `{"input":[1]}`, &run); status != http.StatusCreated {
			t.Errorf("what the second version takes: status %d", status)
		}
		if status := send(t, runs, `{"input":[1],"version":7,"delay":"1h"}`, &run); status != http.StatusCreated {
			t.Errorf("a version that nobody has: status %d, want it to wait, as ever", status)
		}
		stop()
		await(t, "the second version is gone", func() bool {
			return send(t, runs, `{"input":{},"delay":"1h"}`, &run) == http.StatusCreated
		})
	})
}

func TestSchemasAreTold(t *testing.T) {
	t.Parallel()
	everyKind(t, func(t *testing.T, w world.World) {
		url := serveWorld(t, w, Options{})
		live(t, w, purchase(1), purchase(2))
		get := func(path string, into any) {
			t.Helper()
			resp, err := http.Get(url + path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			if err := json.NewDecoder(resp.Body).Decode(into); err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: status %d, %v", path, resp.StatusCode, err)
			}
		}
		var first, newest, none world.Schemas
		await(t, "the schemas are told", func() bool { get("/v1/workflows/purchase", &newest); return newest.Version == 2 })
		get("/v1/workflows/purchase?version=1", &first)
		get("/v1/workflows/nothing", &none)
		if !bytes.Contains(newest.Input, []byte(`"int64"`)) || newest.Events != nil {
			t.Errorf("the newest: %+v", newest)
		}
		if none.Version != 0 || none.Input != nil {
			t.Errorf("of what nobody has: %+v", none)
		}
		for _, words := range []string{`"int8"`, `"date-time"`, `"customer":`} {
			if !strings.Contains(string(first.Input), words) {
				t.Errorf("input = %s, want %s in it", first.Input, words)
			}
		}
		event := `{"type":"object","properties":{"ok":{"type":["boolean","null"]}}}`
		if string(first.Events["vetted"]) != event || len(first.Hooks) != 1 || string(first.Hooks[0]) != event {
			t.Errorf("events = %s, hooks = %s, want %s", first.Events, first.Hooks, event)
		}
		if want := `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`; string(first.Output) != want {
			t.Errorf("output = %s, want %s", first.Output, want)
		}
		var m manifest
		get(ManifestPath, &m)
		i := slices.IndexFunc(m.Workflows, func(p provided) bool { return p.Name == "purchase" && p.Version == 1 })
		if i < 0 || m.Workflows[i].Schemas == nil || !cmp.Equal(*m.Workflows[i].Schemas, first) {
			t.Errorf("the manifest has %+v, want %+v", m.Workflows, first)
		}
	})
}

// A schema that is damaged, or too large, counts as none.
func TestDamagedSchemasRefuseNothing(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no schema": `{"input":7,"events":{"a":null}}`, "leads nowhere": `{"input":{"$ref":"#/$defs/x"}}`, "no JSON Schema": `{"input":{"type":{},"properties":[]}}`, "no set": `[]`,
		"itself": `{"input":{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}}`, "others' words": `{"input":{"enum":[1],"pattern":"x","anyOf":[{"type":"null"}]}}`,
		"deep": `{"input":` + strings.Repeat(`{"items":`, 3000) + `{}` + strings.Repeat(`}`, 3001),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := kinds["memory"](t)
			url := serveWorld(t, w, Options{})
			d := world.Definition{Class: world.Class{Workflow: "told", Version: 1}}
			d.Describe(json.RawMessage(text))
			definer := w
			if err := definer.Define(t.Context(), []world.Definition{d}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Join(t.Context(), world.Worker{ID: world.NewID(world.PrefixWorker, world.Now()), Name: "a", Classes: []world.Class{d.Class}, Lease: time.Minute}); err != nil {
				t.Fatal(err)
			}
			var run struct{ ID string }
			if status := send(t, url+"/v1/workflows/told/runs", `{"input":{"a":[[1]]}}`, &run); status != http.StatusCreated {
				t.Errorf("status %d, want 201", status)
			}
		})
	}
}

// A repeat of what was accepted is answered as before when a worker with another type has come since.
func TestARepeatIsAnsweredWhateverTheTypeIsNow(t *testing.T) {
	t.Parallel()
	everyKind(t, func(t *testing.T, w world.World) {
		at := serveWorld(t, w, Options{})
		far := openRemote(t, at, remote.Options{})
		runs := at + "/v1/workflows/purchase/runs"
		refuses := func(url, body string) func() bool {
			return func() bool {
				var p Problem
				return send(t, url, body, &p) == http.StatusUnprocessableEntity && p.Code == "UNFIT"
			}
		}
		stop := live(t, w, purchase(1))
		await(t, "the worker's type is known", refuses(runs, `{"input":[1]}`))
		const input, yes = `{"customer":"ada","items":[],"at":"2026-05-01T12:00:00Z"}`, `{"ok":true}`
		var first struct{ ID string }
		if status := send(t, runs, `{"input":`+input+`,"idempotencyKey":"k"}`, &first); status != http.StatusCreated {
			t.Fatalf("a start: status %d", status)
		}
		signal := func(id, payload string) int {
			return sendAs(t, runs+"/"+first.ID+"/signals/vetted", id, payload)
		}
		hook := func(id, payload string) int { return sendAs(t, at+"/v1/hooks/of-ada", id, payload) }
		await(t, "the hook is there", func() bool { return hook("h", yes) == http.StatusAccepted })
		if status := signal("s", yes); status != http.StatusAccepted {
			t.Fatalf("a signal: status %d", status)
		}
		var with struct{ ID string }
		const sends = `{"input":` + input + `,"idempotencyKey":"with","delay":"1h","signals":[{"event":"vetted","payload":` + yes + `,"deliveryId":"d"}]}`
		if status := send(t, runs, sends, &with); status != http.StatusCreated {
			t.Fatalf("a start with an event: status %d", status)
		}
		var late struct{ ID string } // one that is not over when the type changes
		if status := send(t, runs, `{"input":{"customer":"bob","items":[],"at":"2026-05-01T12:00:00Z"},"idempotencyKey":"late"}`, &late); status != http.StatusCreated {
			t.Fatalf("a start: status %d", status)
		}
		await(t, "the other hook is there", func() bool { return sendAs(t, at+"/v1/hooks/of-bob", "h", yes) == http.StatusAccepted })
		stop()
		other := stepwell.Event[[]int]("vetted")
		live(t, w, stepwell.Define("purchase", func(ctx stepwell.Context, _ []int) (int, error) { return 0, stepwell.Sleep(ctx, "nap", time.Hour) },
			stepwell.Accepts(other, stepwell.HookPayload[[]int]()), stepwell.FailOn(stepwell.Divergence)))
		await(t, "the other type is known", refuses(runs, `{"input":`+input+`}`))
		for range 2 {
			var again struct{ ID string }
			if status := send(t, runs, `{"input":`+input+`,"idempotencyKey":"k"}`, &again); status != http.StatusOK || again.ID != first.ID {
				t.Errorf("the start again: status %d, run %s; want 200 and %s", status, again.ID, first.ID)
			}
			if status := send(t, runs, sends, &again); status != http.StatusOK || again.ID != with.ID {
				t.Errorf("the start with an event again: status %d, run %s; want 200 and %s", status, again.ID, with.ID)
			}
		}
		app, err := stepwell.New(far, stepwell.Config{})
		if err != nil {
			t.Fatal(err)
		}
		again, err := app.Start(t.Context(), "purchase", json.RawMessage(input), stepwell.Key("late"))
		if err != nil || again.ID() != late.ID {
			t.Errorf("the start again by a remote App: %v", err)
		}
		for what, status := range map[string]int{
			"a signal": signal("s", yes), "a payload": hook("h", yes), "a payload of another run": sendAs(t, at+"/v1/hooks/of-bob", "h", yes),
		} {
			if status != http.StatusAccepted {
				t.Errorf("%s again: status %d, want 202", what, status)
			}
		}
		unfit(t, runs, `{"input":`+input+`,"idempotencyKey":"new"}`, world.Misfit{Expected: "an array", Got: "an object"})
	})
}

// sendAs posts JSON under a delivery ID.
func sendAs(t *testing.T, url, id, body string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", id)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode
}

// Of two workers with the same version the one that came last is heard; where it is gone, and the other one has another
// type, that one is.
func TestALiveWorkersTypeHolds(t *testing.T) {
	t.Parallel()
	everyKind(t, func(t *testing.T, w world.World) {
		at := serveWorld(t, w, Options{}) + "/v1/workflows/shape/runs"
		accepts := func(input string) func() bool {
			return func() bool {
				var p Problem
				return send(t, at, `{"input":`+input+`}`, &p) == http.StatusCreated
			}
		}
		refuses := func(input string) func() bool { accepts := accepts(input); return func() bool { return !accepts() } }
		worker := func(d stepwell.Definition, far bool) (stop func()) {
			w := w
			if far {
				w = openRemote(t, strings.TrimSuffix(at, "/v1/workflows/shape/runs"), remote.Options{})
			}
			return live(t, w, d)
		}
		worker(stepwell.Define("shape", func(stepwell.Context, string) (int, error) { return 0, nil }), false)
		await(t, "the first type holds", refuses(`7`))
		stop := worker(stepwell.Define("shape", func(stepwell.Context, int) (int, error) { return 0, nil }), true)
		await(t, "the newer type holds", refuses(`"a"`))
		stop()
		await(t, "the type of the one that lives holds again", accepts(`"a"`))
		await(t, "and no other does", refuses(`7`))
	})
}
