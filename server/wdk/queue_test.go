package wdk

// Messages and streams.

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// TestQueue: a message has one ID whenever it comes, its attempts are counted but for those that nobody saw, and
// its key holds.
func TestQueue(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	send := `{'queueName': '__wkf_workflow_f', 'message': {'runId': 'r'}, 'headers': {'x-a': 'b'}, 'deploymentId': 'd', 'idempotencyKey': 'k'}`
	sent, _ := r.call(r.host, "queue.send", send)
	if again, _ := r.call(r.host, "queue.send", send); again["messageId"] != sent["messageId"] {
		t.Errorf("the same key: %v, want the same message %v", again, sent)
	}
	for _, want := range []struct {
		attempt  float64
		settle   string
		seconds  string
		nothing  bool
		received int
	}{{1, "unread", "0", false, 1}, {1, "nack", "0", false, 1}, {2, "ack", "0", false, 1}, {0, "", "", true, 0}} {
		got, _ := r.call(r.host, "queue.receive", `{'deploymentId': 'd'}`)
		all := got["it"].([]any)
		if len(all) != want.received {
			t.Fatalf("received %v, want %d messages", all, want.received)
		}
		if want.nothing {
			break
		}
		m := all[0].(map[string]any)
		if m["attempt"] != want.attempt || m["messageId"] != sent["messageId"] || m["headers"].(map[string]any)["x-a"] != "b" {
			t.Errorf("received %v, want attempt %v of %v", m, want.attempt, sent)
		}
		r.call(r.host, "queue.settle", `{'receipts': ['`+m["receipt"].(string)+`'], 'kind': '`+want.settle+`', 'seconds': `+want.seconds+`}`)
	}
}

// TestQueueRefusals: what is out of range is refused, receipts of other queues hold nothing, and each deployment has a
// queue.
func TestQueueRefusals(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	messenger := r.host.queues.messenger
	if err := errors.Join(
		messenger.DeclareQueue(t.Context(), world.MessageQueue{Name: "mine", Visibility: time.Minute, MaxReceives: 3}),
		func() error {
			_, err := messenger.SendMessages(t.Context(), []world.Message{{Queue: "mine", Payload: []byte("1")}})
			return err
		}()); err != nil {
		t.Fatal(err)
	}
	got, err := messenger.ReceiveMessages(t.Context(), world.ReceiveQuery{Queue: "mine", Limit: 1})
	if err != nil || len(got.Messages) != 1 {
		t.Fatal(got, err)
	}
	for _, kind := range []world.SettleKind{world.Ack, world.Nack, world.Extend, world.Bury, world.Unread} {
		for _, receipt := range []string{got.Messages[0].Receipt, "wdk_" + got.Messages[0].Receipt} {
			out, err := r.host.Call(t.Context(), "queue.settle", json.RawMessage(`{"kind": "`+string(kind)+`", "receipts": ["`+receipt+`"]}`))
			if held, _ := out.([]bool); len(held) > 0 && held[0] || err != nil && !errors.Is(err, world.ErrInvalid) {
				t.Errorf("%s of a message of another queue: %v, %v: want that it is not settled", kind, out, err)
			}
		}
	}
	calls := map[string]string{}
	for _, n := range []string{"-1", "1e300", "9223372037", "31536001"} {
		calls["send "+n] = `{"queueName": "q", "message": 1, "deploymentId": "d", "delaySeconds": ` + n + `}`
		calls["settle "+n] = `{"kind": "nack", "receipts": [], "seconds": ` + n + `}`
	}
	for call, args := range calls {
		name, _, _ := strings.Cut(call, " ")
		if out, err := r.host.Call(t.Context(), "queue."+name, json.RawMessage(args)); !errors.Is(err, world.ErrInvalid) {
			t.Errorf("%s: %v, %v: want a refusal", call, out, err)
		}
	}
	ok, err := messenger.SettleMessages(t.Context(), []world.Settlement{{Receipt: got.Messages[0].Receipt, Kind: world.Ack}})
	if err != nil || !ok[0] {
		t.Errorf("the message of another queue is not there any more: %v", err)
	}

	names := map[string]string{}
	for _, d := range []string{"d", "a.b", "a-b", "a/b", "-a-b", "a-b-", "äb", "öb", strings.Repeat("x", 200), strings.Repeat("x", 201)} {
		name := kit.AppQueue(d)
		if other, known := names[name]; known || world.CheckWorkflowName(name) != nil {
			t.Errorf("the queue of %q is %q, as that of %q is", d, name, other)
		}
		names[name] = d
	}
	if names["wdk.d"] != "d" || names["wdk.a-b"] != "a-b" {
		t.Errorf("names that are good are changed: %v", names)
	}
}

// TestStreams: chunks come in order, a reader waits for more, and the end is told.
func TestStreams(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	id := r.begin()
	read := func(from, wait int) map[string]any {
		out, _ := r.call(r.host, "streams.read", fmt.Sprintf(`{'runId': '%s', 'name': 's', 'from': %d, 'waitMs': %d}`, id, from, wait))
		return out
	}
	write := func(rest string) {
		if _, refusal := r.call(r.host, "streams.write", `{'runId': '`+id+`', 'name': 's', `+rest+`}`); refusal != "" {
			t.Fatal(refusal)
		}
	}
	write(`'chunks': [{'$text': 'a'}, {'$text': 'b'}]`)
	waits := make(chan map[string]any)
	go func() { waits <- read(2, 20_000) }()
	write(`'chunks': [{'$text': 'c'}]`)
	if got := <-waits; len(got["chunks"].([]any)) != 1 || got["next"] != 3.0 || got["done"] != false {
		t.Errorf("who waits is told %v, want the third chunk", got)
	}
	if got := read(-2, 0); len(got["chunks"].([]any)) != 2 {
		t.Errorf("the last two are %v", got)
	}
	write(`'close': true`)
	write(`'chunks': [{'$text': 'late'}]`) // is dropped
	if got := read(0, 0); len(got["chunks"].([]any)) != 3 || got["done"] != true {
		t.Errorf("the whole stream is %v", got)
	}
	info, _ := r.call(r.host, "streams.info", `{'runId': '`+id+`', 'name': 's'}`)
	if diff := cmp.Diff(map[string]any{"tailIndex": 2.0, "done": true}, info); diff != "" {
		t.Error(diff)
	}
}

// TestStreamAgain: what is sent again to a stream is written once, on any server, also where others wrote since.
func TestStreamAgain(t *testing.T) {
	t.Parallel()
	for _, kind := range stores {
		r := newRig(t, kind)
		other, id := hostOn(t, r.world), r.begin()
		write := func(h *Host, call, rest string) {
			if _, refusal := r.call(h, "streams.write", `{'runId': '`+id+`', 'name': 's', 'call': '`+call+`', `+rest+`}`); refusal != "" {
				t.Fatal(refusal)
			}
		}
		const a, b, end = `'chunks': [{'$text': 'a'}, {'$text': 'b'}]`, `'chunks': [{'$text': 'a'}]`, `'chunks': [{'$text': 'z'}], 'close': true`
		write(r.host, "1", a)
		write(r.host, "1", `'again': true, `+a)
		write(other, "2", b)
		write(other, "1", `'again': true, `+a)
		write(hostOn(t, r.world), "2", `'again': true, `+b)
		write(other, "3", `'again': true, `+b) // did not come before
		write(r.host, "4", end)
		write(other, "4", `'again': true, `+end)
		out, _ := r.call(r.host, "streams.read", `{'runId': '`+id+`', 'name': 's'}`)
		if n := len(out["chunks"].([]any)); n != 5 || out["done"] != true {
			t.Errorf("%s: the stream has %d chunks, want 5: %v", kind, n, out)
		}
	}
}
