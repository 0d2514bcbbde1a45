package telemetry_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/stepwell/stepwell/telemetry"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

const ofQueues = `
# HELP workflow_publications_due Publications that are due and have not gone to all subscriptions. 1,000 are counted.
# TYPE workflow_publications_due gauge
workflow_publications_due 1
# HELP workflow_publications_oldest_due_seconds For how long the oldest publication has been due; 0: none is.
# TYPE workflow_publications_oldest_due_seconds gauge
workflow_publications_oldest_due_seconds 60
# HELP workflow_queue_messages Messages of a queue, in the whole database: the same whoever tells it. Of each state 100,000 are counted.
# TYPE workflow_queue_messages gauge
workflow_queue_messages{queue="mails",state="dead"} 1
workflow_queue_messages{queue="mails",state="delayed"} 1
workflow_queue_messages{queue="mails",state="out"} 1
workflow_queue_messages{queue="mails",state="parked"} 0
workflow_queue_messages{queue="mails",state="ready"} 1
# HELP workflow_queue_oldest_ready_seconds For how long the oldest message of a queue that is ready has been so; 0: none is.
# TYPE workflow_queue_oldest_ready_seconds gauge
workflow_queue_oldest_ready_seconds{queue="mails"} 60
# HELP workflow_subscriptions_paused Subscriptions whose queue is paused.
# TYPE workflow_subscriptions_paused gauge
workflow_subscriptions_paused 1
`

// gauges makes the metrics of a world as the server has them.
func gauges(t *testing.T, w world.World) *prometheus.Registry {
	t.Helper()
	registry := prometheus.NewRegistry()
	if _, err := telemetry.New(telemetry.Options{World: w, Totals: true, Registerer: registry}); err != nil {
		t.Fatal(err)
	}
	return registry
}

// What queues and topics have is told as it is, and no queue beyond the bound has a label of its own.
func TestQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		queues, topics := w.Messages(), w.Topics()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(queues.DeclareQueue(t.Context(), world.MessageQueue{Name: "mails"}))
		send := func(queue string, delay time.Duration) {
			t.Helper()
			_, err := queues.SendMessages(t.Context(), []world.Message{{Queue: queue, Payload: []byte("1"), Delay: delay}})
			must(err)
		}
		send("mails", 0)
		send("mails", 0)
		got, err := queues.ReceiveMessages(t.Context(), world.ReceiveQuery{Queue: "mails", Limit: 2, Visibility: time.Hour})
		must(err)
		_, err = queues.SettleMessages(t.Context(), []world.Settlement{{Receipt: got.Messages[0].Receipt, Kind: world.Bury, Error: "no"}})
		must(err)
		send("mails", 0)
		send("mails", time.Hour)
		due, err := topics.Due(t.Context(), world.DueQuery{Limit: 1})
		must(err)
		sub := world.Subscription{Name: "s", Pattern: "a", Queue: "mails"}
		_, err = topics.Spread(t.Context(), world.Spread{Revision: due.Revision, Subscribe: &sub})
		must(err)
		must(queues.PauseQueue(t.Context(), "mails", &world.QueuePause{Reason: "a test"}))
		_, err = topics.Publish(t.Context(), []world.Publication{{Topic: "a", Payload: []byte("1")}, {Topic: "a", Payload: []byte("2"), Delay: time.Hour}})
		must(err)
		time.Sleep(time.Minute)
		names := []string{"workflow_queue_messages", "workflow_queue_oldest_ready_seconds", "workflow_publications_due", "workflow_publications_oldest_due_seconds", "workflow_subscriptions_paused"}
		if err := testutil.GatherAndCompare(gauges(t, w), strings.NewReader(ofQueues), names...); err != nil {
			t.Error(err)
		}
		if problems, err := testutil.GatherAndLint(gauges(t, w)); err != nil || len(problems) > 0 {
			t.Errorf("lint: %v, %v", problems, err)
		}

		for i := range 300 {
			name := fmt.Sprintf("of.%d", i)
			must(queues.DeclareQueue(t.Context(), world.MessageQueue{Name: name}))
			send(name, 0)
		}
		registry := gauges(t, w)
		if n, err := testutil.GatherAndCount(registry, "workflow_queue_oldest_ready_seconds"); err != nil || n != 201 {
			t.Errorf("%d queues have series, %v, want 200, and one of the others", n, err)
		}
		all, err := registry.Gather()
		must(err)
		told := 0.0
		for _, f := range all {
			if f.GetName() == "workflow_queue_messages" {
				for _, m := range f.GetMetric() {
					told += m.GetGauge().GetValue()
				}
			}
		}
		if told != 304 {
			t.Errorf("%v messages are told, want all 304", told)
		}
	})
}
