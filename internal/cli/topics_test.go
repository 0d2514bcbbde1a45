package cli

// Topics on the command line, on a database and on a server in front of one.

import (
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world/sqlite"
)

func TestTopics(t *testing.T) {
	onPlaces(t, sqlite.Options{Now: func() time.Time { return now }}, nil, walkTopics)
}

func walkTopics(s *prompt) {
	s.refuses(3, "stepwell queues declare", "topics", "subscribe", "all", "#", "--queue", "mails")
	s.says("declared", "queues", "declare", "mails")
	s.says("subscribed all to #", "topics", "subscribe", "all", "#", "--queue", "mails", "--match", `{"n":1}`, "--ordered")
	s.says("subscribed ship", "topics", "subscribe", "ship", "order.*", "--workflow", "ship", "--key", "k-{payload.n}", "--attribute", "n={payload.n}")
	out := s.says("it is not shown again: whsec_", "topics", "subscribe", "bill", "order.paid", "--url", "https://bill.invalid:1/", "--give-up", "1d")
	if again := s.says("subscribed bill", "topics", "subscribe", "bill", "order.paid", "--url", "https://bill.invalid:1/"); strings.Contains(again, "whsec") {
		s.Errorf("the secret of %q is shown again: %q", out, again)
	}
	for want, args := range map[string][]string{
		"targets":                   {"topics", "subscribe", "x", "#"},
		"unmatched brace":           {"topics", "subscribe", "x", "#", "--workflow", "w", "--key", "{"},
		"are for --workflow":        {"topics", "subscribe", "x", "#", "--queue", "mails", "--key", "k"},
		"are for --url":             {"topics", "subscribe", "x", "#", "--queue", "mails", "--private"},
		"a word is empty":           {"topics", "subscribe", "x", "a..b", "--queue", "mails"},
		"name=template":             {"topics", "subscribe", "x", "a", "--workflow", "w", "--attribute", "n"},
		"--match":                   {"topics", "subscribe", "x", "a", "--queue", "mails", "--match", "{"},
		"want an http or https URL": {"topics", "subscribe", "x", "a", "--url", "x"},
		"name=value":                {"topics", "publish", "a", "1", "--header", "x"},
		`the word "*"`:              {"topics", "publish", "a.*", "1"},
		"do this to the queue":      {"topics", "pause", "all"},
		"has no endpoint":           {"topics", "rotate-secret", "ship"},
		"not the ID of a message":   {"topics", "redeliver", "ship", "--message", "7"},
	} {
		s.refuses(2, want, args...)
	}
	s.says("published publ_", "topics", "publish", "order.paid", `{"n":1}`, "--id", "a", "--source", "till", "--header", "clerk=ann")
	s.says("earlier, with this ID", "topics", "publish", "order.paid", `{"n":1}`, "--id", "a")
	s.says(`"result":"published"`, "topics", "publish", "order.late", "1", "--delay", "1h", "--json")
	s.says("due in ", "topics", "publications", "order.late")
	s.says("order.paid", "topics", "publications")
	s.says("workflow ship", "topics", "list")
	s.says("servers only", "topics", "show", "bill")
	s.says("paused bill", "topics", "pause", "bill", "--reason", "tea")
	s.says("stepwell topics resume bill", "topics", "show", "bill")
	s.says("resumed", "topics", "resume", "bill")
	s.says("whsec_", "topics", "rotate-secret", "bill")
	s.says("redelivered 0 dead letters", "topics", "redeliver", "ship")
	_, out, _ = s.call.do(s.Context(), append([]string{"__complete", "topics", "show"}, append(s.where, "b")...)...)
	if !strings.Contains(out, "bill\torder.paid") {
		s.Errorf("completion: got %q", out)
	}
	s.says("unsubscribed bill", "topics", "unsubscribe", "bill")
	s.refuses(3, "stepwell topics list", "topics", "unsubscribe", "bill")
	s.refuses(3, "there is no subscription bill", "topics", "show", "bill")
	// Making and ending subscriptions has spread what was due.
	s.says(`{"n":1}`, "queues", "peek", "mails")
}
