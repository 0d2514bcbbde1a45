package ui_test

// Queues: what a page shows of messages, and what is done to dead letters.

import (
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/uitest"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world"
)

// letters makes a queue with a dead letter and a message that is ready.
func letters(s *site) world.Messenger {
	s.Helper()
	k, ctx := s.World.Messages(), s.Context()
	if err := k.DeclareQueue(ctx, world.MessageQueue{Name: "mails"}); err != nil {
		s.Fatal(err)
	}
	send := func(text string) {
		if _, err := k.SendMessages(ctx, []world.Message{{Queue: "mails", Payload: []byte(text)}}); err != nil {
			s.Fatal(err)
		}
	}
	send(`{"to":"<b>ann</b>"}`)
	got, err := k.ReceiveMessages(ctx, world.ReceiveQuery{Queue: "mails", Limit: 1})
	if err != nil || len(got.Messages) != 1 {
		s.Fatal(got, err)
	}
	if _, err := k.SettleMessages(ctx, []world.Settlement{{Receipt: got.Messages[0].Receipt, Kind: world.Bury, Error: "no such <address>"}}); err != nil {
		s.Fatal(err)
	}
	send(`"next"`)
	return k
}

func TestQueuePages(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	s.want("/ui/queues", "There is no queue")
	letters(s)
	s.want("/ui/queues", `<a href="/ui/queues/mails">mails</a>`, "dead letters", `data-label="ready">1<`, `data-label="dead">1<`)
	if p := s.want("/ui/queues/mails", "&lt;b&gt;ann", "no such &lt;address&gt;", ">Redrive 1<", ">Pause<"); strings.Contains(p.body, "next") {
		t.Error("where there are dead letters the page shows others")
	}
	s.want("/ui/queues/mails?state=", "&lt;b&gt;ann", "next")
	s.want("/ui/queues/mails?state=out", "No message is out.")
	s.post("/ui/queues/mails/pause", "reason", "the mail server moves")
	s.want("/ui/queues", "the mail server moves")
	s.want("/ui/queues/mails?did=queue-pause", "The queue is paused", ">Resume<", "the mail server moves")
	s.post("/ui/queues/mails/redrive")
	if p := s.want("/ui/queues/mails", "0 dead", "2 ready"); strings.Contains(p.body, ">Redrive") {
		t.Error("there is a button for dead letters, and none is there")
	}
	s.post("/ui/queues/mails/resume")
	s.want("/ui/queues/mails", ">Pause<")
	k := s.World.Messages()
	if err := k.DeclareQueue(s.Context(), world.MessageQueue{Name: "mails", Limits: []world.SaidLimit{
		{Name: "mails", Number: 3, Path: "to", Weights: map[string]int{"ann": 2}}, {Name: "bank", Number: 100, Per: time.Minute},
	}}); err != nil {
		t.Fatal(err)
	}
	s.want("/ui/queues/mails", `<a href="/ui/limits/mails">mails</a>: 3 at once, for each to; weights: 1 key`, `<a href="/ui/limits/bank">bank</a>: 100 in 1m<`)
	s.want("/ui/limits/mails", "by messages at work")
	for path, status := range map[string]int{"/ui/queues/none": 404, "/ui/queues/mails?state=gone": 400, "/ui/queues/mails?cursor=x": 400, "/ui/queues/a%20b": 400} {
		if p := s.get(path); p.status != status {
			t.Errorf("%s: got %d, want %d", path, p.status, status)
		}
	}
	if p := s.post("/ui/queues/mails/explode"); p.status != 404 {
		t.Errorf("an act that is none: got %d, want 404", p.status)
	}
	if log := s.Log.String(); !strings.Contains(log, `what="ui pause"`) || !strings.Contains(log, "queue=mails") {
		t.Error("the audit log has no pause of the queue")
	}
}

// TestQueuePagesOfViewers: who may not act sees the messages, and no button.
func TestQueuePagesOfViewers(t *testing.T) {
	t.Parallel()
	s := newSite(t, uitest.Locked(t))
	letters(s)
	s.login(uitest.ViewerSecret)
	if p := s.want("/ui/queues/mails", "no such"); strings.Contains(p.body, "Redrive") || strings.Contains(p.body, ">Pause<") {
		t.Error("a viewer has a button")
	}
	if p := s.post("/ui/queues/mails/pause"); p.status != 403 {
		t.Errorf("a viewer pauses: got %d, want 403", p.status)
	}
}
