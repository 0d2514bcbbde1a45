package server

// Each door that an act made of parts can come through, as every kind of key: the table below has a cell for each. What
// is refused has written nothing; what is admitted stands under the name of the key. Which members bodies have is held by
// testdata/members.txt, and each of those that is restricted is tried as every kind of key, too.

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
)

const (
	farSecret   = "far-worker-secret-0123456"
	rightSecret = "right-worker-secret-01234"
)

// doorKeys are the columns of the table. Keys of viewers and operators cannot be limited.
var doorKeys = []struct {
	who, secret string
	scope       Scope
}{
	{"nobody", "", Open}, {"vic", viewerSecret, Viewer}, {"olga", operatorSecret, Operator}, {"py", stepsSecret, Steps},
	{"far", farSecret, Worker}, {"right", rightSecret, Worker}, // limited to other workflows, and to those of the runs below
	{"wim", workerSecret, Worker}, {"ann", adminSecret, Admin},
}

const doorLimits = "worker?workflow=cargo&step=load:far:" + farSecret +
	" worker?workflow=mail&workflow=pay&workflow=webhooks&step=send&token=mail-:right:" + rightSecret +
	" steps?step=resize:py:" + stepsSecret + " worker:otto:" + otherSecret

// doorCells are what the letters of a cell say. What is admitted has +; what is not tried a dot.
var doorCells = map[rune]string{
	'u': "401 UNAUTHENTICATED", 'f': "403 FORBIDDEN", 'i': "400 INVALID", 't': "413 TOO_LARGE", 'n': "404 NOT_FOUND", 'l': "409 LEASE_LOST", 'c': "409 CONFLICT",
}

// door is a row. Words with $ are filled in: see doorRig.fill.
type door struct {
	cells string // of nobody, a viewer, an operator, a step worker, a worker for others, one for these, a worker, an admin
	call  string // below /v1/world/, or method and path
	body  string
	says  string // what is found where it was admitted; $by and $who are who acts; with a !, what the answer has not
	look  string // where: a call, a body and a path into the answer; "log": By in the log; "places"; "": the answer itself
}

func born(workflow, more string) string {
	id := fmt.Sprintf("%032x", []byte("$name0123456789abcdef")[:16])
	return strings.Replace(birthOf("$name", workflow, "$now", `{"tenant": "ann"}`, more), id, "$id", 1)
}

// sent is a delivery of one event.
func sent(to, event string) string { return `{` + to + `, "events": [{` + at + `, ` + event + `}]}` }

// mailed is a spread with one.
func mailed(to, event string) string {
	return `{"revision": $rev, "mail": [` + sent(to+`, "id": "x1"`, event) + `]}`
}

// turn is what a worker adds to the run that it holds.
func turn(event, more string) string {
	return `{"id": "$id", "run": "$turn", "worker": "$worker", "take": 1, "first": 2, "events": [{"type": "run_started", ` + at + `}, {` + at + `, ` + event + `}]` + more + `}`
}

// ended is the end of an attempt of a step.
func ended(run, worker, more, event string) string {
	return sent(`"worker": "`+worker+`", "task": {"run": "`+run+`", "step": "step_1", "attempt": 1}`+more, `"id": "step_1", "attempt": 1, `+event)
}

func doorTable() []door {
	const (
		run, hook, held = `"run": "$run"`, `"run": "webhooks"`, `"run": "held"`
		boss            = `"by": "the boss", "reason": "r"`
		ours            = `"by": "stepwell", "reason": "r"`
		attr            = `"type": "attr_set", "id": "attr_1", "name": "a", "payload": 1`
		gaveUp          = `"type": "step_retrying", "error": {"code": "ABANDONED", "message": "forged"}`
		signal          = `"type": "signal_received", "name": "a", "payload": `
		forged          = `"type": "hook_received", "payload": {"body": "forged"}`
		opened          = `"type": "hook_created", "id": "hook_1", "name": "h", "token": `
		task            = `{"step": "step_9", "name": "send", "workflow": "mail", "input": 1, "priority": 1`
		put             = `{"name": "$name", "made": {"by": "the boss"}, "paused": {"by": "the boss", "reason": "r"}, "says": {"workflow": "mail", "times": ["@daily"]}`
		schedule        = `schedules {"names": ["$name"]} 0.`
		sub             = `subscriptions {"names": ["$name"]} 0.made.by`
		mail, bank      = `"workflow": "mail", "version": 1`, `"workflow": "bank", "version": 1`
		bobs            = `"places": [{"limit": "bank", "key": "bob", "number": 4}]`
		vault           = `"stepLimits": [{"name": "vault", "number": 99}]`
		teller          = `"definitions": [{` + mail + `, "limits": [{"name": "teller", "number": 99, "path": "a"}]}]`
		joins           = `{"id": "$name", "lease": 60000000000, "classes": [{` + mail + `}]`
	)
	big := `"` + strings.Repeat("x", 3<<20) + `"`
	asked := func(event string) string { return `"type": "step_created", "id": "step_1", "kind": ` + event }
	return []door{
		// What is spread is mail, messages and changes of subscriptions. A worker's mail is signals.
		{"ufffffii", "spread", mailed(held, `"type": "step_completed", "id": "step_1", "payload": "forged"`), "", ""},
		{"ufffffii", "spread", mailed(held, `"type": "step_failed", "id": "step_1", "error": {"message": "forged"}`), "", ""},
		{"ufffffii", "spread", mailed(hook, `"id": "hook_2", `+forged), "", ""},
		{"ufffffii", "spread", mailed(`"token": "wh_signed"`, forged), "", ""},
		{"ufffffii", "spread", mailed(run, `"type": "wait_completed", "id": "wait_1", "outcome": "due"`), "", ""},
		{"ufffffii", "spread", mailed(run, `"type": "cancel_requested", `+boss), "", ""},
		{"ufffffii", "spread", mailed(run, `"type": "run_paused", "id": "x", `+boss), "", ""},
		{"ufffffii", "spread", mailed(run+`, "act": true`, `"type": "run_paused", `+boss), "", ""},
		{"ufffffii", "spread", mailed(run, `"type": "run_resumed", "id": "x", `+boss), "", ""},
		{"uffffffi", "spread", mailed(run+`, "act": true`, `"type": "run_cancelled", `+boss), "", ""},
		{"ufffffff", "spread", mailed(`"worker": "wrkr_otto", "task": {"run": "held", "step": "step_1", "attempt": 1}`, `"type": "step_completed", "id": "step_1"`), "", ""},
		{"uffffftt", "spread", mailed(run, signal+big), "", ""},
		{"ufffffii", "spread", mailed(run, signal+`{"$base64": "eyJhIjoxLCJhIjoyfQ=="}`), "", ""}, // a member twice
		{"ufffff++", "spread", mailed(run, signal+`1`), "true", ""},
		{"ufffff++", "spread", `{"revision": $rev, "messages": [{"queue": "q", "payload": 1}]}`, "true", ""},
		{"ufffff..", "spread", `{"revision": $rev, "cut": {"id": "1-1", "subscription": "s", "left": []}}`, "", ""},
		{"ufffff..", "spread", `{"revision": $rev, "unsubscribe": "s", "aside": [{"id": "1-1", "error": "e"}]}`, "", ""},
		{"ufifffii", "spread", `{"revision": 0, "unsubscribe": "x", "subscribe": {"name": "s", "pattern": "a", "queue": "q"}}`, "", ""},
		{"uf+fff++", "spread", `{"revision": $rev, "subscribe": {"name": "$name", "pattern": "a", "queue": "q", "made": {"by": "the boss"}}}`, "$by", sub},
		{"ufnfff++", "spread", `{"revision": $rev, "unsubscribe": "$name"}`, "", ""},
		{"uf+fff++", "publish", `{"publications": [{"topic": "a", "payload": 1}]}`, "", ""},
		{"uf+fff++", "PUT /v1/subscriptions/$name", `{"pattern": "a", "queue": "q"}`, "$who", sub},
		{"uf+fff++", "POST /v1/topics/a", `{"payload": 1}`, "", ""},
		// IDs of encryption keys.
		{"ufffff++", "bindKey", `{"id": "$name", "print": "AQID"}`, "AQID", "print"},
		{"ufffff++", "commit", strings.Replace(born("mail", ""), `"payload"`, `"sealed": "k-$name", "payload"`, 1), "", ""},
		// Starts, and what they hold of limits.
		{"uf+ff+++", "commit", born("mail", ""), "", ""},
		{"uf+fff++", "commit", born("bank", ""), "", ""},
		{"ufffff..", "commit", born("mail", `, "parent": {"run": "held", "step": "step_1"}`), "", ""},
		{"ufffff..", "commit", born("mail", `, "origin": {"run": "theirs", "seq": 1}`), "", ""},
		{"uffff...", "commit", strings.Replace(born("mail", ""), `}}]`, `}}, {"type": "run_paused", `+at+`, `+boss+`}]`, 1), "", ""},
		{"ufffff..", "commit", strings.Replace(born("mail", ""), `{`, `{"ack": "1-1", `, 1), "", ""},
		{"ufffff..", "commit", strings.Replace(born("mail", ""), `{`, `{"schedule": {"name": "s", "says": {"workflow": "mail", "times": ["@daily"]}}, `, 1), "", ""},
		{"uf+ff+..", "commit", born("pay", `, `+bobs), "[{bank ann 1", "places"},
		{"......++", "commit", born("pay", `, `+bobs), "[{bank bob 4", "places"},
		{"ufffff..", "commit", born("unsaid", `, `+bobs), "", ""}, // no worker has said what it is under
		{"....ff..", "join", joins + `, ` + vault + `}`, "", ""},
		{"....ff..", "join", joins + `, ` + teller + `}`, "", ""},
		{"ufffff..", "define", `{` + teller + `}`, "", ""},
		{"ufffff..", "define", `{"definitions": [{` + bank + `}]}`, "", ""},
		// What a worker writes beside its own log, and whose worker it is.
		{"ufffff..", "commit", turn(opened+`"courier-ada", "chosen": true`, ""), "", ""},
		{"ufffff..", "commit", turn(opened+`"courier-ada", "chosen": false`, ""), "", ""},
		{"ufffff..", "commit", turn(opened+`"wh_orders", "chosen": true`, ""), "", ""},
		{"ufffff..", "commit", turn(`"type": "wait_created", "id": "wait_1", "kind": "event", "name": "a", "listen": {"pattern": "#", "shape": "[\"#\",null,\"\"]", "hash": 0}`, ""), "", ""},
		{"ufffff..", "commit", turn(asked(`"await", "name": "a", "peer": "theirs"`), ""), "", ""},
		{"ufffff..", "commit", turn(asked(`"send", "name": "a", "peer": "theirs"`), `, "send": [`+sent(`"run": "theirs"`, signal+`1`)+`]`), "", ""},
		{"ufffff..", "commit", turn(asked(`"child", "name": "a", "peer": "$name"`), `, "births": [`+born("bank", `, "parent": {"run": "$turn", "step": "step_1"}`)+`]`), "", ""},
		{"ufffff..", "commit", turn(attr, `, "births": [`+born("mail", `, "parent": {"run": "held", "step": "step_1"}`)+`]`), "", ""},
		{"ufffff..", "commit", turn(asked(`"message", "name": "q"`), `, "messages": [{"queue": "q", "payload": 1}]`), "", ""},
		{"ufffff..", "commit", turn(asked(`"publication", "name": "a"`), `, "published": [{"topic": "a", "payload": 1}]`), "", ""},
		{"ufffff..", "commit", turn(attr, `, "anew": [{"step": "step_1", "run": "theirs", `+strings.Replace(at, "time", "at", 1)+`}]`), "", ""},
		{"ufffiiii", "commit", turn(attr, `, "tasks": [`+task+`, "run": "held"}]`), "", ""},
		{"ufffiiii", "commit", turn(attr, `, "dropped": [{"run": "held", "step": "step_1", "attempt": 1}]`), "", ""},
		{"ufffiiii", "commit", turn(attr, `, "send": [`+ended("held", "wrkr_otto", "", `"type": "step_completed"`)+`]`), "", ""},
		{"uffffiii", "commit", turn(attr, `, "send": [`+sent(`"run": "$run", "act": true`, `"type": "run_cancelled", `+boss)+`]`), "", ""},
		{"uffff...", "commit", turn(attr, `, "births": [`+strings.Replace(born("mail", ""), `{`, `{"messages": [{"queue": "q", "payload": 1}], `, 1)+`]`), "", ""},
		{"ufffllll", "commit", strings.Replace(turn(attr, ""), "$turn", "held", 1), "", ""},
		{"ufffffff", "commit", strings.Replace(turn(attr, ""), "$worker", "wrkr_otto", 1), "", ""},
		{"uffff...", "commit", strings.Replace(turn(`"type": "run_completed"`, ""), `"run": "$turn", "worker": "$worker", "take": 1`, run, 1), "", ""},
		{"ufffffff", "append", `{"run": "held", "worker": "wrkr_otto", "take": 1, "stream": "s", "chunks": [1]}`, "", ""},
		{"ufffllll", "append", `{"run": "held", "worker": "$worker", "take": 1, "stream": "s", "chunks": [1]}`, "", ""},
		{"ufffllll", "append", `{"run": "held", "worker": "$worker", "task": {"run": "held", "step": "step_1", "attempt": 1}, "step": "step_1", "attempt": 1, "stream": "s", "chunks": [1]}`, "", ""},
		{"uffff...", "join", joins + `}`, "", ""},
		{"uffffccc", "join", strings.Replace(joins, "$name", "wrkr_otto", 1) + `}`, "", ""},
		{"ufffff..", "claim", `{"worker": "$worker", "classes": [{` + bank + `}], "runs": 1, "n": 9}`, "", ""},
		{"ufffff..", "claim", `{"worker": "$worker", "steps": ["weigh"], "tasks": 1, "n": 9}`, "", ""},
		{"ufffffff", "heartbeat", `{"worker": "wrkr_otto"}`, "", ""},
		{"ufffffff", "leave", `{"worker": "wrkr_otto"}`, "", ""},
		{"ufffffff", "held", `{"worker": "wrkr_otto", "n": 9}`, "", ""},
		{"ufffff..", "keepMetrics", `{"process": "$name", "revision": 1, "says": [], "absorbs": [{"process": "prcs_1", "revision": 1}]}`, "", ""},
		{"u.......", "sweep", `{"limit": 1}`, "", ""},
		// Deliveries.
		{"uf+ff+++", "deliver", sent(run, signal+`1`), "", ""},
		{"uftffttt", "deliver", sent(run, signal+big), "", ""},
		{"uf+ff+++", "deliver", sent(run+`, "act": true`, `"type": "run_paused", `+boss), "$by", "log"},
		{"uf+ff+++", "deliver", sent(run+`, "act": true`, `"type": "run_paused", `+ours), "$by", "log"},
		{"uffffff+", "deliver", sent(run+`, "act": true`, `"type": "run_cancelled", `+ours), "$by", "log"},
		{"uffff+++", "deliver", sent(hook, `"id": "hook_2", `+forged), "", ""},
		{"uffff+++", "deliver", sent(`"token": "wh_signed"`, forged), "", ""},
		{"uffff+++", "deliver", sent(run, `"type": "wait_completed", "id": "wait_1", "outcome": "due"`), "", ""},
		{"uffff+++", "deliver", sent(run, `"type": "step_completed", "id": "step_1", "payload": "forged"`), "", ""},
		{"ufffffff", "deliver", ended("held", "wrkr_otto", "", `"type": "step_completed", "payload": "forged"`), "", ""},
		{"ufffllll", "deliver", ended("held", "$worker", "", `"type": "step_completed", "payload": "forged"`), "", ""},
		{"ufffflll", "deliver", ended("held", "", "", `"type": "step_completed", "payload": "forged"`), "", ""},
		{"ufffff..", "deliver", ended("lost", "$worker", `, "retryAt": "$now"`, gaveUp), "", ""},
		{"ufflllll", "POST /v1/steps/fail", `{"receipt": "$receipt", "error": {"code": "ABANDONED", "message": "forged"}, "delay": "0s"}`, "", ""},
		{"ufflllll", "POST /v1/steps/complete", `{"receipt": "$receipt", "output": "forged"}`, "", ""},
		{"ufflllll", "POST /v1/steps/write", `{"receipt": "$receipt", "stream": "s", "chunks": [1]}`, "", ""},
		{"uff+ff++", "POST /v1/steps/take", `{"steps": ["resize"]}`, "", ""},
		{"ufffff..", "POST /v1/steps/take", `{"steps": ["weigh"]}`, "", ""},
		// Schedules, queues, holds, limits.
		{"uf+fff++", "putSchedule", put + `}`, "$by", schedule + "made.by"},
		{"uf+fff++", "putSchedule", put + `}`, "$by", schedule + "paused.by"},
		{"ufffff++", "putSchedule", put + `, "set": "theirs"}`, "theirs", schedule + "set"},
		{"uf+fff++", "PUT /v1/schedules/$name", `{"workflow": "mail", "times": ["@daily"]}`, "$who", schedule + "made.by"},
		{"ufffff++", "dueSchedules", `{"limit": 1}`, "", ""},
		{"uf+fff++", "pauseQueue", `{"queue": "q", "pause": {"by": "the boss", "reason": "r"}}`, "$by", `queues {"names": ["q"]} 0.paused.by`},
		{"uf+fff++", "pauseQueue", `{"queue": "q", "pause": {"by": "stepwell", "reason": "r"}}`, "$by", `queues {"names": ["q"]} 0.paused.by`},
		{"uf+fff++", "POST /v1/queues/q/pause", `{"reason": "r"}`, "$who", `queues {"names": ["q"]} 0.paused.by`},
		{"uf+fff++", "sendMessages", `{"messages": [{"queue": "q", "payload": 1}]}`, "", ""},
		{"ufifffii", "settleMessages", `{"settlements": [{"receipt": "1-1", "kind": "ack"}]}`, "", ""},
		{"uf+fff++", "declareQueue", `{"name": "$name"}`, "", ""},
		{"ufnfffnn", "dropQueue", `{"queue": "none"}`, "", ""},
		{"ufnfffnn", "purgeMessages", `{"queue": "none"}`, "", ""},
		{"ufnfffnn", "redriveMessages", `{"queue": "none"}`, "", ""},
		{"ufnfffnn", "receiveMessages", `{"queue": "none", "limit": 1}`, "", ""},
		{"ufnfffnn", "deleteSchedule", `{"name": "none"}`, "", ""},
		{"uf+fff++", "release", `{"workflow": "$name"}`, "", ""},
		{"uf+fff++", "hold", `{"workflow": "$name", "by": "the boss"}`, "$who", "hold"},
		{"uf+fff++", "POST /v1/workflows/$name/hold", `{"note": "n"}`, "$who", "hold"},
		{"uf+fff++", "setLimit", `{"limit": "vault", "number": 3}`, "", ""},
		{"uf+fff++", "PUT /v1/limits/vault", `{"number": 3}`, "", ""},
		{"uff.....", "limitRetention", `{"retention": 3600000000000}`, "", ""},
		{"uffffff+", "limitRetention", `{"retention": 3600000000000000, "raise": true}`, "", ""},
		// REST.
		{"uf+fff++", "POST /v1/runs/$run/pause", `{"reason": "r"}`, "$who", "log"},
		{"uf+fff++", "DELETE /v1/runs/$run", "", "", ""},
		{"uffffff+", "DELETE /v1/runs/$run?force=true", "", "$who", "log"},
		{"uf+fff++", "POST /v1/runs/$run/signals/a", `1`, "", ""},
		{"uffffff+", "POST /v1/bulk/cancel", `{"filter": {"key": "none"}}`, "", ""},
		{"ufffff..", "POST /wdk/v1/create", `{}`, "", ""},
		// What is read.
		{".+......", "subscriptions", `{}`, "!sesame", ""},
		{".+......", "due", `{"limit": 1}`, "!sesame", ""},
		{".+......", "GET /v1/subscriptions", "", "!sesame", ""},
		{"u.+fff++", "subscriptions", `{}`, "https://example.com/services/T0123456789abcdef0123/x?token=sesame", "0.endpoint.url"},
		{".+......", "events", `{"run": "webhooks"}`, "!wh_", ""},
		{".+......", "GET /v1/runs/webhooks/events", "", "!wh_", ""},
		{".+......", "GET /v1/runs/webhooks/why", "", "!wh_", ""},
		{".+......", "GET /v1/runs/webhooks/steps", "", "!wh_", ""},
		{"uf+f...+", "hooks", `{}`, "wh_", ""},
		{"....+...", "hooks", `{}`, "!wh_", ""},
		{"u++ff+++", "events", `{"run": "held"}`, "", ""},
		{"u++ff+++", "run", `{"run": "held"}`, "", ""},
		{"u++ff+++", "tasks", `{"run": "held"}`, "", ""},
		{"u++ff+++", "chunks", `{"run": "held", "stream": "s"}`, "", ""},
		{"u++ff+++", "streams", `{"run": "held"}`, "", ""},
		{"....++..", "runs", `{}`, "!theirs", ""},
		{"....+...", "stats", `{}`, "!mail", ""},
		{"u++ff+++", "defined", `{"workflows": ["mail"]}`, "", ""},
		{"u++ff+++", "schemas", `{"workflow": "mail", "version": 1}`, "", ""},
		{"....++..", "defined", `{}`, "!bank", ""},
		{"u++ff+++", "ready", `{"classes": [{` + mail + `}], "limit": 1}`, "", ""},
		{"u++fff++", "peekMessages", `{"queue": "q"}`, "", ""},
		{"u++fff++", "listLimitKeys", `{"limit": "bank", "most": 1}`, "", ""},
		{"u++fff++", "valueKeys", `{}`, "", ""},
		{"u++fff++", "queues", `{"names": ["q"]}`, "", ""},
		{"u++fff++", "publications", `{}`, "", ""},
		{"u++fff++", "shapes", `{}`, "", ""},
		{"u++fff++", "listeners", `{"limit": 1}`, "", ""},
		{"u++fff++", "due", `{"limit": 1}`, "", ""},
		{"u++fff++", "schedules", `{}`, "", ""},
		{"u++fff++", "listLimits", `{}`, "", ""},
		{"u++fff++", "listHolders", `{"limit": "bank", "most": 1}`, "", ""},
		{"u++fff++", "inLine", `{"run": "held"}`, "", ""},
		{"unnffnnn", "piece", `{"run": "held", "value": "valu_01JD3V7Q61QK1ZXW0D8F4T6S2B", "number": 0}`, "", ""},
		{"uf.ff...", "keepPiece", `{"run": "held", "value": "valu_01JD3V7Q61QK1ZXW0D8F4T6S2B", "number": 0, "data": "AAA="}`, "", ""},
		{"uf.ff...", "dropValue", `{"run": "held", "value": "valu_01JD3V7Q61QK1ZXW0D8F4T6S2B"}`, "", ""},
		{"u++f..++", "holds", `{}`, "", ""},
		{"uf+fff++", "examine", `{}`, "", ""},
		{"....++..", "metrics", `{}`, "!prcs", ""},
		// At last, as it goes on from here: what a worker may write.
		{"uffff+..", "commit", turn(opened+`"mail-7", "chosen": true`, ""), "", ""},
	}
}

// TestAbuseDoors: see the table. Each door of the wire has a row.
func TestAbuseDoors(t *testing.T) {
	on := map[string]map[int]door{"sqlite": {}, "postgres": {}}
	there := map[string]bool{"outcome": true} // it has the body of commit
	for i, d := range doorTable() {
		there[d.call] = true
		for _, kind := range sample.OneFor(t, fmt.Sprint("door ", i), "sqlite", "postgres") {
			on[kind][i] = d
		}
	}
	for _, rt := range wireRoutes() {
		if name := strings.TrimPrefix(rt.path, inWorld); rt.method == "POST" && !there[name] {
			t.Errorf("the table has no row for %s", name)
		}
	}
	for kind, open := range map[string]func(testing.TB) world.World{"sqlite": kinds["sqlite"], "postgres": openPostgres} {
		t.Run(kind, func(t *testing.T) {
			r := newDoorRig(t, open(t))
			rows := on[kind]
			for i := range len(doorTable()) {
				if d, mine := rows[i]; mine {
					r.refuses(&d)
				}
			}
			for _, m := range restrictedMembers(t) {
				d := door{call: m.call, body: m.body}
				for _, key := range doorKeys {
					switch refused := !key.scope.covers(m.least) || m.whole && (key.who == "far" || key.who == "right"); {
					case key.secret == "":
						d.cells += "u"
					case refused || key.scope == Steps:
						d.cells += "f"
					default:
						d.cells += "."
					}
				}
				r.refuses(&d)
			}
			for i := range len(doorTable()) {
				if d, mine := rows[i]; mine {
					r.admits(i, &d)
				}
			}
		})
	}
}
