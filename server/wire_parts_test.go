package server

// An act on the wire may have parts that are acts of their own: each is held to what is held of it elsewhere. Who may do
// what TestAbuseDoors holds; these tests say what becomes of it.

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote"
)

// onRigs runs a test on each kind of world, a share a day.
func onRigs(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	t.Parallel()
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f(t, wireRig(t, kind))
		})
	}
}

// TestWireSubscribesAsOperator: an operator's subscription is his, and what was published before goes to those before.
func TestWireSubscribesAsOperator(t *testing.T) {
	onRigs(t, func(t *testing.T, r *rig) {
		k := r.world.Messages()
		for _, q := range []string{"first", "second"} {
			if err := k.DeclareQueue(t.Context(), world.MessageQueue{Name: q}); err != nil {
				t.Fatal(err)
			}
		}
		far := openRemote(t, r.base, remote.Options{Key: operatorSecret})
		app, err := stepwell.New(far, stepwell.Config{Name: "the boss"})
		if err != nil {
			t.Fatal(err)
		}
		pub := app.World().Topics()
		subscribe := func(name, queue string) {
			body := fmt.Sprintf(`{"spread": {"revision": 0, "subscribe": {"name": %q, "pattern": "a", "queue": %q, "made": {"by": "the boss"}}}}`, name, queue)
			r.is(r.call("topics", body, as(operatorSecret)...), "spread", true)
		}
		subscribe("one", "first")
		if _, err := pub.Publish(t.Context(), []world.Publication{{Topic: "a", Payload: []byte("1")}}); err != nil {
			t.Fatal(err)
		}
		subscribe("two", "second")
		r.is(r.call("subscriptions", `{}`, as(operatorSecret)...), "subscriptions.1.made.by", "olga")
		if got := r.want(200, "POST", "/v1/queues/first/receive", `{"wait": "20s"}`, as(operatorSecret)...); got.get("messages.0.payload") != 1.0 {
			t.Errorf("who stood before got %s", got.body)
		}
		if got := r.want(200, "POST", "/v1/queues/second/receive", `{}`, as(operatorSecret)...); got.get("messages.0") != nil {
			t.Errorf("who came later got %s", got.body)
		}
		if due := r.call("subscriptions", `{"due": 10}`, as(operatorSecret)...); due.get("publications") != nil {
			t.Errorf("an operator has something to spread: %s", due.body)
		}
		r.is(r.call("topics", `{"spread": {"revision": 0, "unsubscribe": "two"}}`, as(operatorSecret)...), "spread", true)
		r.is(r.call("subscriptions", `{}`, as(operatorSecret)...), "subscriptions.1", nil)
	})
}

// TestWireBindsKeysOfWorkers: the ID of the next encryption key is bound by who works with it, and nobody else.
func TestWireBindsKeysOfWorkers(t *testing.T) {
	onRigs(t, func(t *testing.T, r *rig) {
		for _, secret := range []string{operatorSecret, limitedSecret} {
			r.refused(403, "FORBIDDEN", "POST", inWorld+"key", `{"id": "next", "print": "AQID"}`, as(secret)...)
			sealed := strings.Replace(birthOf("sealed", "mail", "2030-01-01T00:00:00Z", `"garbage"`, ""), `"payload"`, `"sealed": "next", "payload"`, 1)
			r.refused(403, "FORBIDDEN", "POST", inWorld+"commit", sealed, as(secret)...)
		}
		r.is(r.call("key", `{"id": "next"}`, as(operatorSecret)...), "print", nil)
		r.is(r.call("key", `{"id": "next", "print": "BAUG"}`, as(workerSecret)...), "print", "BAUG")
		r.is(r.call("key", `{"id": "next", "print": "AQID"}`, as(operatorSecret)...), "print", "BAUG")
		if log := r.log.String(); !strings.Contains(log, "act=bind") || !strings.Contains(log, "key_id=next") {
			t.Error("that a key was bound has no audit line")
		}
	})
}

// TestWirePlacesAreDefined: what a run holds of limits is what its definition says, whatever the client says.
func TestWirePlacesAreDefined(t *testing.T) {
	onRigs(t, func(t *testing.T, r *rig) {
		limits := `[{"name": "bank", "number": 1, "path": "tenant"}, {"name": "alone", "number": 1, "computed": true}]`
		r.call("join", `{"id": "wrkr_l", "classes": [{"workflow": "mail", "version": 1}], "definitions": [{"workflow": "mail", "version": 1, "limits": `+limits+`}], "leaseMs": 60000}`, as(workerSecret)...)
		now := world.Now().Format("2006-01-02T15:04:05Z07:00")
		place := `{"limit": "alone", "key": "k", "number": 1}`
		for name, said := range map[string]string{
			"another number": `, "places": [{"limit": "alone", "key": "k", "number": 4}, {"limit": "bank", "key": "ann", "number": 4}]`,
			"another tenant": `, "places": [` + place + `, {"limit": "bank", "key": "bob", "number": 1}]`,
			"another limit":  `, "places": [` + place + `, {"limit": "other", "number": 1}]`,
			"not that one":   `, "places": [` + place + `]`,
		} {
			run := strings.ReplaceAll(name, " ", "-")
			r.call("commit", birthOf(run, "mail", now, `{"tenant": "ann"}`, said), as(operatorSecret)...)
			got := fmt.Sprint(r.log1(run)[0].Birth.Places)
			if want := fmt.Sprint([]world.Place{{Limit: "alone", Key: "k", Number: 1}, {Limit: "bank", Key: "ann", Number: 1}}); got != want {
				t.Errorf("%s: the run needs %s, want %s", name, got, want)
			}
		}
		r.refused(400, "INVALID", "POST", inWorld+"commit", birthOf("keyless", "mail", now, `{"tenant": "ann"}`, ""), as(operatorSecret)...)
		r.refused(403, "FORBIDDEN", "POST", inWorld+"commit", birthOf("unknown", "nobody", now, `1`, `, "places": [{"limit": "bank", "key": "bob", "number": 1}]`), as(operatorSecret)...)
		r.call("commit", birthOf("free", "nobody", now, `1`, ""), as(operatorSecret)...)
		theirs := `{"id": "wrkr_x", "classes": [], "definitions": [], "stepLimits": [{"name": "vault", "number": %d}], "steps": ["%s"], "leaseMs": 60000}`
		r.call("join", fmt.Sprintf(theirs, 2, "open"), as(workerSecret)...)
		r.refused(403, "FORBIDDEN", "POST", inWorld+"join", strings.Replace(fmt.Sprintf(theirs, 99, "send it"), "wrkr_x", "wrkr_y", 1), as(limitedSecret)...)
		r.call("join", strings.Replace(fmt.Sprintf(theirs, 2, "send it"), "wrkr_x", "wrkr_y", 1), as(limitedSecret)...)
	})
}

// TestWireKeysOfMessages: a message holds a place of the key that its payload has, whatever its sender says.
func TestWireKeysOfMessages(t *testing.T) {
	onRigs(t, func(t *testing.T, r *rig) {
		k := r.world.Messages()
		if err := k.DeclareQueue(t.Context(), world.MessageQueue{Name: "jobs", Limits: []world.SaidLimit{{Name: "tenants", Number: 1, Path: "tenant", Messages: true}}}); err != nil {
			t.Fatal(err)
		}
		r.call("messages", `{"send": [{"queue": "jobs", "payload": {"tenant": "ann"}, "keys": {"tenants": "bob"}}]}`, as(operatorSecret)...)
		r.want(200, "POST", "/v1/queues/jobs/receive", `{"wait": "20s"}`, as(operatorSecret)...)
		holders := func(key string) any {
			return r.call("limits", `{"limit": "tenants", "most": 10, "holdersOf": "`+key+`"}`, as(viewerSecret)...).get("holders.0")
		}
		if holders("bob") != nil || holders("ann") == nil {
			t.Errorf("bob's place is held by %v, and ann's by %v; want hers to be held", holders("bob"), holders("ann"))
		}
	})
}

// TestLimitedKeysChooseTheirTokens: a limited key opens hooks with tokens that it may choose, and no others.
func TestLimitedKeysChooseTheirTokens(t *testing.T) {
	t.Parallel()
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			own := "own-tokens-worker-secret-01"
			keys, err := ParseKeys("worker?workflow=mail&token=mail-:tim:" + own + " worker?workflow=mail:lim:" + limitedSecret)
			if err != nil {
				t.Fatal(err)
			}
			r := newRig(t, kind, Options{Keys: append(testKeys(t), keys...)})
			turn := func(worker, run, token string, chosen bool) string {
				return fmt.Sprintf(`{"id": "%032x", "run": %q, "worker": %q, "take": 1, "first": 2, "events": [{"type": "run_started", %s}, {"type": "hook_created", %[4]s, "id": "hook_1", "name": "h", "token": %q, "chosen": %t}]}`,
					(run + "0123456789abcdef")[:16], run, worker, at, token, chosen)
			}
			for i, secret := range []string{own, limitedSecret} {
				worker, run := fmt.Sprint("wrkr_", i), fmt.Sprint("m", i)
				r.want(201, "POST", "/v1/workflows/mail/runs", fmt.Sprintf(`{"id": %q, "version": 1, "input": 1}`, run), as(operatorSecret)...)
				r.call("join", fmt.Sprintf(`{"id": %q, "classes": [{"workflow": "mail", "version": 1}], "leaseMs": 60000}`, worker), as(secret)...)
				r.is(r.call("take", fmt.Sprintf(`{"worker": %q, "classes": [{"workflow": "mail", "version": 1}], "runs": 1, "n": 1}`, worker), as(secret)...), "runs.0.run", run)
				for token, chosen := range map[string]bool{"courier-ada": true, "courier-bob": false, "wh_orders": true, "0123456789abcdefghijklmnop": true} {
					r.refused(403, "FORBIDDEN", "POST", inWorld+"commit", turn(worker, run, token, chosen), as(secret)...)
				}
			}
			r.refused(403, "FORBIDDEN", "POST", inWorld+"commit", turn("wrkr_1", "m1", "mail-7", true), as(limitedSecret)...)
			r.call("commit", turn("wrkr_0", "m0", "mail-7", true), as(own)...)
			r.call("commit", turn("wrkr_1", "m1", "wh_0123456789abcdefghijklmnop", false), as(limitedSecret)...)
		})
	}
}

// revision is that of the subscriptions.
func (r *rig) revision() int64 {
	r.Helper()
	due, err := r.world.Topics().Due(r.Context(), world.DueQuery{Limit: 1})
	if err != nil {
		r.Fatal(err)
	}
	return due.Revision
}

func (r *rig) holds() []world.Hold {
	r.Helper()
	all, err := r.world.Starts().Holds(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return all
}
