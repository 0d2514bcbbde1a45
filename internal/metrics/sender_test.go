package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stepwell/stepwell/internal/metrics"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// flaky is a keeper whose calls may fail, before or behind what they do.
type flaky struct {
	world.MetricsKeeper
	before, behind atomic.Bool
	calls          atomic.Int64
}

var errAway = errors.New("away")

func (f *flaky) KeepMetrics(ctx context.Context, m *world.ProcessMetrics) error {
	f.calls.Add(1)
	if f.before.Load() {
		return errAway
	}
	err := f.MetricsKeeper.KeepMetrics(ctx, m)
	if f.behind.Load() {
		return errAway
	}
	return err
}

func signals(name string) metrics.Series {
	return metrics.Series{Metric: metrics.Signals, Workflow: "w", Name: name}
}

func steps(name string) metrics.Series {
	return metrics.Series{Metric: metrics.StepSeconds, Workflow: "w", Name: name}
}

// read is what all processes have given.
func read(t rapid.TB, w world.MetricsKeeper) metrics.Counts {
	t.Helper()
	all, err := metrics.Read(context.Background(), w)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestWhatIsCountedIsGivenSoon: 10 s behind the first that was counted, at once where the process ends, and never where nothing was counted.
func TestWhatIsCountedIsGivenSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		defer func() { _ = w.Close() }()
		k := &flaky{MetricsKeeper: w}
		s := metrics.NewSender(k, slog.New(slog.DiscardHandler))
		is := func(what string, want, calls int64) {
			t.Helper()
			synctest.Wait()
			if got := read(t, w)[signals("a")].Count; got != want || k.calls.Load() != calls {
				t.Errorf("%s: %d signals in %d calls, want %d in %d", what, got, k.calls.Load(), want, calls)
			}
		}
		<-time.After(time.Hour)
		is("nothing was counted", 0, 0)
		s.Count(signals("a"), 1, 0)
		<-time.After(9 * time.Second)
		s.Count(signals("a"), 1, 0)
		is("9 s later", 0, 0)
		<-time.After(2 * time.Second)
		is("11 s later", 2, 1)
		<-time.After(time.Hour)
		is("an hour later", 2, 1)
		s.Count(signals("a"), 3, 0)
		s.Flush(t.Context())
		is("flushed", 5, 2)
		s.Flush(t.Context())
		is("flushed again", 5, 2)
		k.before.Store(true)
		s.Count(signals("a"), 1, 0)
		<-time.After(11 * time.Second)
		k.before.Store(false)
		is("the database was away", 5, 3)
		<-time.After(11 * time.Second)
		is("it is back", 6, 4)
	})
}

// TestCountsOfOthersAreAbsorbed: those of processes that are gone, so that they do not pile up.
func TestCountsOfOthersAreAbsorbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		defer func() { _ = w.Close() }()
		log := slog.New(slog.DiscardHandler)
		for range 250 {
			s := metrics.NewSender(w, log)
			s.Count(steps("a"), 1, .02)
			s.Flush(t.Context())
		}
		<-time.After(10 * time.Minute)
		last := metrics.NewSender(w, log)
		for range 4 {
			last.Count(steps("a"), 1, 3)
			last.Flush(t.Context())
			<-time.After(11 * time.Minute)
		}
		if all, err := w.Metrics(t.Context()); err != nil || len(all) != 1 {
			t.Errorf("%d processes are kept, %v, want one", len(all), err)
		}
		buckets := make([]int64, 15)
		buckets[2], buckets[9] = 250, 4
		if diff := cmp.Diff(metrics.Value{Count: 254, Sum: 5 + 12, Buckets: buckets}, read(t, w)[steps("a")], cmp.Comparer(func(a, b float64) bool {
			return max(a-b, b-a) < 1e-9
		})); diff != "" {
			t.Errorf("what all have counted (-want +got):\n%s", diff)
		}
	})
}

// TestNothingIsCountedTwice: whatever becomes of calls, whoever ends, is frozen, or absorbs another, what is kept is what was counted by those who gave it.
func TestNothingIsCountedTwice(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plan := rapid.SliceOfN(rapid.IntRange(0, 99), 1, 60).Draw(rt, "plan")
		var fault error
		synctest.Test(t, func(t *testing.T) {
			w := memory.New()
			defer func() { _ = w.Close() }()
			log := slog.New(slog.DiscardHandler)
			k := &flaky{MetricsKeeper: w}
			senders := make([]*metrics.Sender, 3)
			given := int64(0)
			for i := range senders {
				senders[i] = metrics.NewSender(k, log)
			}
			for _, n := range plan {
				s := senders[n%3]
				switch n / 3 % 8 {
				case 0, 1, 2:
					s.Count(signals(fmt.Sprint(n%2)), 1, 0)
					given++
				case 3:
					<-time.After(11 * time.Second)
				case 4:
					<-time.After(11 * time.Minute)
				case 5:
					k.before.Store(!k.before.Load())
				case 6:
					k.behind.Store(!k.behind.Load())
				case 7: // it ends well, and another comes
					k.before.Store(false)
					k.behind.Store(false)
					s.Flush(t.Context())
					senders[n%3] = metrics.NewSender(k, log)
				}
			}
			k.before.Store(false)
			k.behind.Store(false)
			<-time.After(time.Minute)
			for _, s := range senders {
				s.Flush(t.Context())
			}
			sum := int64(0)
			for _, v := range read(rt, w) {
				sum += v.Count
			}
			if sum != given {
				fault = fmt.Errorf("%d are kept, want the %d that were counted", sum, given)
			}
		})
		if fault != nil {
			rt.Fatal(fault)
		}
	})
}

// TestCountsAreReadByOthers: what a later build adds is passed over.
func TestCountsAreReadByOthers(t *testing.T) {
	var c metrics.Counts
	if err := c.UnmarshalJSON([]byte(`[{"metric": "workflow_later_total", "count": 3}, {"metric": "workflow_signals_total", "workflow": "w", "name": "a", "count": 2, "more": 1}]`)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(metrics.Counts{signals("a"): {Count: 2}}, c); diff != "" {
		t.Error(diff)
	}
}
