//go:build unix

package cli

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
	"github.com/stepwell/stepwell/world/sqlite"
)

// The doctor names what waits for somebody in queues and topics, each with the command that shows it.
func TestDoctorOfQueues(t *testing.T) {
	t.Parallel()
	long := func() time.Time { return now.Add(-time.Hour) }
	for place, open := range map[string]func() (string, world.World, error){
		"sqlite": func() (string, world.World, error) {
			path := filepath.Join(t.TempDir(), "app.db")
			w, err := sqlite.Open(path, sqlite.Options{Now: long})
			return path, w, err
		},
		"postgres": func() (string, world.World, error) {
			dsn := pgtest.URL(t)
			w, err := postgres.Open(t.Context(), dsn, postgres.Options{})
			return dsn, w, err
		},
	} {
		t.Run(place, func(t *testing.T) {
			at, w, err := open()
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(err)
			s := spread.Of(w)
			must(s.Queues.DeclareQueue(t.Context(), world.MessageQueue{Name: "mails"}))
			must(s.Queues.DeclareQueue(t.Context(), world.MessageQueue{Name: "left"}))
			_, err = s.Queues.SendMessages(t.Context(), []world.Message{{Queue: "left", Payload: []byte("1")}, {Queue: "left", Payload: []byte("2")}})
			must(err)
			must(s.Subscribe(t.Context(), world.Subscription{Name: "posts", Pattern: "p", Endpoint: &world.PostTarget{URL: "https://example.org/in"}}))
			_, err = s.Queues.SendMessages(t.Context(), []world.Message{{Queue: "subscription.posts", Payload: []byte("1")}})
			must(err)
			posted, err := s.Queues.ReceiveMessages(t.Context(), world.ReceiveQuery{Queue: "subscription.posts", Limit: 1})
			must(err)
			_, err = s.Queues.SettleMessages(t.Context(), []world.Settlement{{Receipt: posted.Messages[0].Receipt, Kind: world.Nack, After: 2 * time.Hour, Error: "it answered 503"}})
			must(err)
			_, err = w.Schedules().PutSchedule(t.Context(), world.Schedule{
				Name: "nightly", Says: world.ScheduleSpec{Workflow: "w", Times: []string{"@every 1s"}, Input: []byte("1")},
				Is: world.ScheduleSoFar{Next: now.Add(-time.Hour), Due: now.Add(-time.Hour)},
			})
			must(err)
			must(s.Subscribe(t.Context(), world.Subscription{Name: "starts", Pattern: "b", Workflow: &world.StartTarget{Name: "nobodys"}}))
			_, err = s.Queues.SendMessages(t.Context(), []world.Message{{Queue: "mails", Payload: []byte("1")}})
			must(err)
			got, err := s.Queues.ReceiveMessages(t.Context(), world.ReceiveQuery{Queue: "mails", Limit: 1})
			must(err)
			_, err = s.Queues.SettleMessages(t.Context(), []world.Settlement{{Receipt: got.Messages[0].Receipt, Kind: world.Bury, Error: "no"}})
			must(err)
			must(s.Queues.PauseQueue(t.Context(), "subscription.starts", &world.QueuePause{Reason: "a test"}))
			sent, err := s.Topics.Publish(t.Context(), []world.Publication{{Topic: "c", Payload: []byte("1")}, {Topic: "c", Payload: []byte("2")}})
			must(err)
			due, err := s.Topics.Due(t.Context(), world.DueQuery{Limit: 1})
			must(err)
			done, err := s.Topics.Spread(t.Context(), world.Spread{Revision: due.Revision, Aside: []world.Aside{{ID: sent[0].ID, Error: "too wide"}}})
			if must(err); !done {
				t.Fatal("it was not set aside")
			}
			must(w.Close())

			_, out, errs := call{}.do(t.Context(), "doctor", "--db", at)
			out = strings.Join(strings.Fields(out), " ")
			want := []string{
				"1 queue with dead letters: mails (1)", "queues peek mails --state dead", "1 queue paused, until resumed: subscription.starts", "topics show starts",
				"starts (no live worker has its workflow nobodys)", "1 publication set aside and delivered to nobody: " + sent[0].ID + ", too wide",
			}
			want = append(want, "1 schedule overdue: nightly (1 h)", "1 endpoint failing: posts (1 message to be posted again: it answered 503)")
			if place == "sqlite" { // whose clock the test has
				want = append(want, "1 queue with messages that nobody receives: left (2 ready, the oldest for 1 h)", "1 publication due and not delivered, the oldest for 1 h")
			} else {
				want = append(want, "nothing has been due for more than a minute")
			}
			for _, text := range want {
				if !strings.Contains(out, text) {
					t.Errorf("got %s%s, want %q", out, errs, text)
				}
			}
		})
	}
}
