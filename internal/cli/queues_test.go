package cli

// Queues on the command line, on a database and on a server in front of one.

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world/sqlite"
)

// queueShell runs commands about queues on one place.
type queueShell struct {
	*testing.T
	call  call
	where []string
}

func (q *queueShell) do(args ...string) (code int, out, errs string) {
	q.Helper()
	return q.call.do(q.Context(), append(append([]string{"queues"}, args...), q.where...)...)
}

// says runs a command that works, and holds what it says.
func (q *queueShell) says(want string, args ...string) string {
	q.Helper()
	code, out, errs := q.do(args...)
	if code != 0 || !strings.Contains(out, want) {
		q.Fatalf("queues %q: exit code %d, %q, %q; want %q", args, code, out, errs, want)
	}
	return out
}

// refuses runs a command that does not work, and holds what it says.
func (q *queueShell) refuses(code int, want string, args ...string) {
	q.Helper()
	if got, out, errs := q.do(args...); got != code || !strings.Contains(errs, want) {
		q.Errorf("queues %q: exit code %d, %q, %q; want %d and %q", args, got, out, errs, code, want)
	}
}

// receives receives one message.
func (q *queueShell) receives(args ...string) (m api.Message) {
	q.Helper()
	out := q.says(`"receipt"`, append([]string{"receive", "mails", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		q.Fatal(err)
	}
	return m
}

func TestQueues(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"database", "server"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "app.db")
			w, err := sqlite.Open(path, sqlite.Options{Now: func() time.Time { return now }})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			q := &queueShell{T: t, where: []string{"--db", path}}
			if place == "server" {
				q.where = []string{"--server", serveFile(t, path, server.Options{})}
			}
			walkQueues(q)
		})
	}
}

// walkQueueLimits declares limits, sees them, and ends them.
func walkQueueLimits(q *queueShell) {
	q.says("declared", "declare", "few", "--limit", `{"number": 1, "path": "to", "weights": {"ann": 2}}`, "--limit", `{"name": "line", "number": 100, "per": "1m", "burst": 50}`)
	q.says("few: 1 at once, for each to; weights: 1 key", "show", "few")
	q.says("line: 100 in 1m, 50 at one moment", "show", "few")
	q.says("limits show line", "show", "few")
	q.says(`"weights":{"ann":2}`, "show", "few", "--json")
	q.says("declared", "declare", "few", "--visibility", "1m")
	q.says("few: 1 at once", "show", "few")
	q.refuses(2, "no string, number or boolean at to", "send", "few", `{}`)
	q.refuses(2, "unknown field", "declare", "few", "--limit", `{"number": 1, "untilEnd": true}`)
	q.refuses(2, "more after", "declare", "few", "--limit", `{"number": 1} {}`)
	q.refuses(2, "want 1 or more", "declare", "few", "--limit", `{}`)
	q.refuses(2, "not both", "declare", "few", "--limit", `{"number": 1}`, "--no-limits")
	q.says("declared", "declare", "few", "--no-limits")
	if text := q.says("receives", "show", "few"); strings.Contains(text, "at once") {
		q.Errorf("limits that were ended are shown: %s", text)
	}
	q.says("dropped", "drop", "few")
}

func walkQueues(q *queueShell) {
	q.refuses(3, "stepwell queues declare mails", "show", "mails")
	q.refuses(3, "stepwell queues declare mails", "send", "mails", "1")
	q.says("declared queue mails", "declare", "mails", "--visibility", "5m", "--max-receives", "3")
	q.refuses(2, "visibility", "declare", "mails", "--visibility", "1ms")
	walkQueueLimits(q)
	q.says("sent message mesg_", "send", "mails", `{"to":"ann"}`, "--dedupe-id", "a", "--header", "trace=1")
	q.says("was sent to queue mails earlier", "send", "mails", `{"to":"ann"}`, "--dedupe-id", "a")
	q.says("sent", "send", "mails", `{"to":"bob"}`, "--priority", "4")
	q.says("sent", "send", "mails", `1`, "--delay", "1h")
	q.refuses(2, "want 1 to 4", "send", "mails", "1", "--priority", "5")
	q.refuses(2, "is received in order", "send", "mails", "1", "--delay", "1h", "--group", "g")
	q.refuses(2, "name=value", "send", "mails", "1", "--header", "trace")
	q.says("2 ready, 1 delayed, 0 out, 0 parked, 0 dead", "show", "mails")
	q.says("mails      2        1    0       0     0     0 s", "list")
	q.says(`{"to":"bob"}`, "peek", "mails", "--state", "ready")

	m := q.receives("--match", `{"to":"ann"}`)
	if string(m.Payload) != `{"to":"ann"}` || m.Headers["trace"] != "1" || m.Priority != 2 {
		q.Errorf("received %+v", m)
	}
	q.says("extended", "extend", "mails", m.Receipt, "--visibility", "10m")
	q.says("acknowledged "+m.Receipt, "ack", "mails", m.Receipt)
	q.refuses(1, "old receipt", "ack", "mails", m.Receipt)
	q.refuses(1, `"code":"RECEIPT_OLD"`, "nack", "mails", m.Receipt, "--json")
	m = q.receives()
	q.says("returned", "nack", "mails", m.Receipt, "--error", "busy")
	m = q.receives()
	if m.Receives != 2 || m.Error != "busy" {
		q.Errorf("received %+v, want the second time", m)
	}
	q.says("buried", "bury", "mails", m.Receipt, "--error", "no such address")
	q.says("no such address", "peek", "mails", "--state", "dead")
	q.says("stepwell queues redrive mails", "show", "mails")
	q.says("paused queue mails", "pause", "mails", "--reason", "tea")
	q.says("paused by", "show", "mails")
	q.says("tea", "list")
	q.says(`"messages":1`, "redrive", "mails", "--json")
	if code, out, errs := q.do("receive", "mails"); code != 0 || out != "" || !strings.Contains(errs, "no messages that are ready") {
		q.Errorf("receive of a paused queue: %d, %q, %q", code, out, errs)
	}
	q.says("resumed", "resume", "mails")
	q.says("rcpt_", "receive", "mails", "--most", "10")
	q.refuses(1, "queues purge mails --all", "drop", "mails")
	q.refuses(2, "which messages", "purge", "mails")
	q.says("purged 0 messages", "purge", "mails", "--dead")
	q.says("purged 2 messages", "purge", "mails", "--all")
	q.refuses(2, "not the ID of a message", "redrive", "mails", "--message", "7")
	_, out, _ := q.call.do(q.Context(), append([]string{"__complete", "queues", "show"}, append(q.where, "m")...)...)
	if !strings.Contains(out, "mails\t0 messages are ready") {
		q.Errorf("completion: got %q", out)
	}
	q.says("dropped queue mails", "drop", "mails")
	q.refuses(3, "there is no queue mails", "peek", "mails")
	q.refuses(2, "want 1 to 128", "show", "a b")
}
