package telemetry

// This file holds the gauges of queues and topics.

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stepwell/stepwell/internal/metrics"
	"github.com/stepwell/stepwell/world"
)

// mostQueues is how many queues have labels of their own: those with the most messages.
const mostQueues = 200

var (
	queueMessages = prometheus.NewDesc("workflow_queue_messages",
		"Messages of a queue, in the whole database: the same whoever tells it. Of each state 100,000 are counted.", []string{"queue", "state"}, nil)
	queueOldest = prometheus.NewDesc("workflow_queue_oldest_ready_seconds",
		"For how long the oldest message of a queue that is ready has been so; 0: none is.", []string{"queue"}, nil)
	publicationsDue = prometheus.NewDesc("workflow_publications_due",
		"Publications that are due and have not gone to all subscriptions. 1,000 are counted.", nil, nil)
	publicationsOldest = prometheus.NewDesc("workflow_publications_oldest_due_seconds",
		"For how long the oldest publication has been due; 0: none is.", nil, nil)
	subscriptionsPaused = prometheus.NewDesc("workflow_subscriptions_paused", "Subscriptions whose queue is paused.", nil, nil)
)

var messageStates = []world.MessageState{world.MessageReady, world.MessageDelayed, world.MessageOut, world.MessageParked, world.MessageDead}

// queueGauges read them.
type queueGauges struct{ world world.World }

// newQueueGauges makes a collector of them.
func newQueueGauges(o *Options) *collector {
	g := &queueGauges{o.World}
	return o.collects("the gauges of queues and topics", g.look, queueMessages, queueOldest, publicationsDue, publicationsOldest, subscriptionsPaused)
}

// look reads the gauges.
func (g *queueGauges) look(ctx context.Context) (out []prometheus.Metric, err error) {
	queues, err := g.world.Messages().Queues(ctx)
	if err != nil {
		return nil, err
	}
	due, err := g.world.Topics().Due(ctx, world.DueQuery{Limit: world.MaxBatch})
	if err != nil {
		return nil, err
	}
	var first time.Time
	for i := range due.Publications {
		if at := due.Publications[i].Due; first.IsZero() || at.Before(first) {
			first = at
		}
	}
	paused := map[string]bool{}
	for i := range queues {
		paused[queues[i].Name] = queues[i].Paused != nil
	}
	n := 0
	for i := range due.Subscriptions {
		if paused[due.Subscriptions[i].OwnQueue()] {
			n++
		}
	}
	out = append(out, gauge(publicationsDue, float64(len(due.Publications))), gauge(publicationsOldest, since(first, due.Now)), gauge(subscriptionsPaused, float64(n)))
	return append(out, ofQueues(queues, due.Now)...), nil
}

// ofQueues are the gauges of queues; those beyond the bound are told together.
func ofQueues(queues []world.QueueStats, now time.Time) (out []prometheus.Metric) {
	all := func(q *world.QueueStats) (n int64) {
		for _, some := range q.Counts {
			n += some
		}
		return n
	}
	slices.SortStableFunc(queues, func(a, b world.QueueStats) int { return cmp.Compare(all(&b), all(&a)) })
	if len(queues) > mostQueues {
		var own []world.QueueStats
		rest := world.QueueStats{MessageQueue: world.MessageQueue{Name: metrics.Other}, Counts: map[world.MessageState]int64{}}
		for i, q := range queues {
			if i < mostQueues && q.Name != metrics.Other { // a queue of that name is told with the rest
				own = append(own, q)
				continue
			}
			for state, n := range q.Counts {
				rest.Counts[state] += n
			}
			if rest.Oldest.IsZero() || !q.Oldest.IsZero() && q.Oldest.Before(rest.Oldest) {
				rest.Oldest = q.Oldest
			}
		}
		queues = append(own, rest)
	}
	for i := range queues {
		q := &queues[i]
		for _, state := range messageStates {
			out = append(out, gauge(queueMessages, float64(q.Counts[state]), q.Name, string(state)))
		}
		out = append(out, gauge(queueOldest, since(q.Oldest, now), q.Name))
	}
	return out
}

// since is for how many seconds something has been so; the zero time: 0.
func since(at, now time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return max(now.Sub(at), 0).Seconds()
}
