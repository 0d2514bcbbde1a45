package worldtest

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/world"
)

// BenchmarkAppend measures batches of a stream: by one writer, and by 64 steps at once with a
// stream each.
func BenchmarkAppend(b *testing.B, open func(testing.TB) world.World) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprint("writers=", writers), func(b *testing.B) {
			w := open(b)
			id := world.NewID(world.PrefixWorker, world.Now())
			if _, err := w.Join(b.Context(), world.Worker{ID: id, Name: "host:1", Lease: longLease}); err != nil {
				b.Fatal(err)
			}
			c := birth("greet")
			c.Worker, c.Claim = id, 1
			if _, err := w.Commit(b.Context(), c); err != nil {
				b.Fatal(err)
			}
			chunk := json.RawMessage(`"ten tokens or so of what a model says"`)
			var next atomic.Int64
			b.SetParallelism(max(writers/2, 1))
			b.ResetTimer()
			write := func(step string, pos int64) {
				a := &world.Append{Run: c.Run, Worker: id, Claim: 1}
				a.StreamWrite = world.StreamWrite{Stream: step, Step: step, Attempt: 1, Pos: pos, Chunks: []json.RawMessage{chunk, chunk}}
				if _, err := w.Append(b.Context(), a); err != nil {
					b.Error(err)
				}
			}
			if writers == 1 {
				for i := range b.N {
					write("step_1", int64(2*i))
				}
			} else {
				b.RunParallel(func(pb *testing.PB) {
					step := fmt.Sprint("step_", next.Add(1))
					for pos := int64(0); pb.Next(); pos += 2 {
						write(step, pos)
					}
				})
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "batches/s")
		})
	}
}

// BenchmarkDeliver measures signals with an ID: by one sender, and by 32 at once, to a run that
// reads a hundred at a time.
func BenchmarkDeliver(b *testing.B, open func(testing.TB) world.World) {
	for _, senders := range []int{1, 32} {
		b.Run(fmt.Sprint("senders=", senders), func(b *testing.B) {
			w := open(b)
			id := world.NewID(world.PrefixWorker, world.Now())
			if _, err := w.Join(b.Context(), world.Worker{ID: id, Name: "host:1", Lease: longLease}); err != nil {
				b.Fatal(err)
			}
			c := birth("greet")
			c.Worker, c.Claim = id, 1
			if _, err := w.Commit(b.Context(), c); err != nil {
				b.Fatal(err)
			}
			var next atomic.Int64
			seq := int64(2)
			send := func(read bool) {
				n := next.Add(1)
				if _, err := w.Deliver(b.Context(), signal(c.Run, fmt.Sprint("delivery-", n), "a")); err != nil {
					b.Error(err)
				}
				if !read || n%100 != 0 {
					return
				}
				heartbeat, err := w.Heartbeat(b.Context(), world.HeartbeatQuery{Worker: id})
				if err != nil {
					b.Error(err)
				}
				turn := &world.Commit{ID: commitID(), Run: c.Run, Worker: id, Claim: 1, First: seq, Mail: rows(heartbeat.Mail)}
				for _, m := range heartbeat.Mail {
					e := m.Events[0]
					e.Delivery, e.Time = m.ID, world.Now()
					turn.Events = append(turn.Events, e)
				}
				if len(turn.Events) == 0 {
					return
				}
				if _, err := w.Commit(b.Context(), turn); err != nil {
					b.Error(err)
				}
				seq += int64(len(turn.Events))
			}
			b.ResetTimer()
			if senders == 1 {
				for range b.N {
					send(true)
				}
			} else {
				b.SetParallelism(senders / 2)
				var readers atomic.Int64
				b.RunParallel(func(pb *testing.PB) {
					reads := readers.Add(1) == 1
					for i := 0; pb.Next(); i++ {
						send(reads)
					}
				})
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
		})
	}
}

// BenchmarkPublish measures publications: by one publisher, and by 32 at once.
func BenchmarkPublish(b *testing.B, open func(testing.TB) world.World) {
	for _, publishers := range []int{1, 32} {
		b.Run(fmt.Sprint("publishers=", publishers), func(b *testing.B) {
			topics := open(b).Topics()
			b.SetParallelism(max(publishers/2, 1))
			b.ResetTimer()
			publish := func() {
				if _, err := topics.Publish(b.Context(), []world.Publication{{Topic: "order.paid", Payload: []byte(`{"order":4711,"amount":12.5}`)}}); err != nil {
					b.Error(err)
				}
			}
			if publishers == 1 {
				for range b.N {
					publish()
				}
			} else {
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						publish()
					}
				})
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "publications/s")
		})
	}
}

// BenchmarkSpread measures the spreading of 10,000 publications to one subscription, and of 1,000
// to 100.
func BenchmarkSpread(b *testing.B, open func(testing.TB) world.World) {
	for subscriptions, thousands := range map[int]int{1: 10, 100: 1} {
		b.Run(fmt.Sprint("subscriptions=", subscriptions), func(b *testing.B) {
			w := open(b)
			s := spread.Of(w)
			for i := range subscriptions {
				sub := world.Subscription{Name: fmt.Sprint("s", i), Pattern: "order.*", Match: []byte(`{"paid":true}`), Workflow: &world.StartTarget{Name: "w"}}
				if err := s.Subscribe(b.Context(), sub); err != nil {
					b.Fatal(err)
				}
			}
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				for range thousands {
					all := make([]world.Publication, 1000)
					for i := range all {
						all[i] = world.Publication{Topic: "order.paid", Payload: []byte(`{"order":4711,"amount":12.5,"paid":true}`)}
					}
					if _, err := s.Topics.Publish(b.Context(), all); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				if _, err := s.All(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*1_000*thousands*subscriptions)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}

// BenchmarkLookBack measures how long waits take to get earlier publications: one wait, and 1,000
// at once, among 1,000,000 publications, a hundredth of them under their topic. Another wait
// matches all of them. open opens a store with existing waits.
func BenchmarkLookBack(b *testing.B, open func(testing.TB) world.World) {
	w := open(b)
	s := spread.Of(w)
	id := world.NewID(world.PrefixWorker, world.Now())
	if _, err := w.Join(b.Context(), world.Worker{ID: id, Name: "host:1", Lease: longLease}); err != nil {
		b.Fatal(err)
	}
	for i := range 1_000 {
		all := make([]world.Publication, 1_000)
		for j := range all {
			topic := "order.seen"
			if j%100 == 0 {
				topic = "order.paid"
			}
			all[j] = world.Publication{Topic: topic, Payload: fmt.Appendf(nil, `{"order":%d,"amount":12.5,"paid":true}`, i*1_000+j)}
		}
		if _, err := s.Topics.Publish(b.Context(), all); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := s.All(b.Context()); err != nil {
		b.Fatal(err)
	}
	for _, of := range []struct {
		topic string
		waits int
	}{{"order.paid", 1}, {"order.paid", 1_000}, {"order.*", 1}} {
		b.Run(fmt.Sprint(of.topic, "/waits=", of.waits), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				c := birth("greet")
				c.Worker, c.Claim = id, 1
				for i := range of.waits {
					e := listens(fmt.Sprint("wait_", i), of.topic, fmt.Sprintf(`{"order":%d}`, i*100), time.Hour)
					e.Time = world.Now()
					c.Events = append(c.Events, e)
				}
				if _, err := w.Commit(b.Context(), c); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := s.All(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
