package metrics

// This file sends what a process has counted to its world, and reads what all have sent.

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/stepwell/stepwell/observe"
	"github.com/stepwell/stepwell/world"
)

const (
	sendEvery = 10 * time.Second // behind something that was counted
	sendTime  = 5 * time.Second  // for the world to answer
	deadAfter = 5 * time.Minute  // a process that has given nothing for so long may be absorbed: alive, it begins anew
	lookEvery = 10 * time.Minute // for those
)

// Sender counts, and gives its world what it has counted: 10 s behind the first that the world has not, and when it is closed. While nothing is counted it does
// nothing. What became of a call is not always known, so what was given stays as it is, and is given again, until that is known.
type Sender struct {
	keeper  world.MetricsKeeper
	log     *slog.Logger
	counter *Counter

	mu    sync.Mutex
	timer *time.Timer // nil: nothing was counted that is not given; guarded by mu

	sending sync.Mutex // one at a time; it guards what follows
	ref     world.MetricsRef
	given   Counts   // by this process, as the world has it under whatever name
	extra   Counts   // what was absorbed, less what was given under another name
	next    *message // it is not known whether the world has it
	looked  time.Time
	away    bool // the last call failed
}

// message is what is given at once.
type message struct {
	world.ProcessMetrics
	counts   Counts // of this process
	total    int64  // of the counter, at most what counts has
	absorbed Counts
}

// NewSender makes one for a world.
func NewSender(keeper world.MetricsKeeper, log *slog.Logger) *Sender {
	return &Sender{keeper: keeper, log: log, counter: NewCounter(NewLabels()), extra: Counts{}}
}

// Count counts n of a series, or one that took so many seconds.
func (s *Sender) Count(of Series, n int64, seconds float64) {
	s.counter.Count(of, n, seconds)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil {
		s.timer = time.AfterFunc(sendEvery, s.send)
	}
}

// Ended counts a run that no worker has ended: somebody did from outside.
func (s *Sender) Ended(workflow string, status world.Status, took time.Duration) {
	s.Count(Series{Metric: RunsCompleted, Workflow: workflow, Name: string(status)}, 1, 0)
	s.Count(Series{Metric: RunSeconds, Workflow: workflow}, 1, max(took, 0).Seconds())
}

// Swept counts runs that were deleted.
func (s *Sender) Swept(runs int) {
	if runs > 0 {
		s.Count(Series{Metric: Swept}, int64(runs), 0)
	}
}

// Observer counts what is done beside a worker.
func (s *Sender) Observer() *observe.Observer {
	return &observe.Observer{Swept: s.Swept}
}

// Flush gives what the world has not, until ctx ends: for a process that ends, or is frozen.
func (s *Sender) Flush(ctx context.Context) {
	s.mu.Lock()
	idle := s.timer == nil
	if !idle {
		s.timer.Stop()
		s.timer = nil
	}
	s.mu.Unlock()
	s.sending.Lock() // also behind one that is on its way
	defer s.sending.Unlock()
	if !idle || s.next != nil {
		_ = s.give(ctx)
	}
}

func (s *Sender) send() {
	s.mu.Lock()
	s.timer = nil
	s.mu.Unlock()
	s.sending.Lock()
	defer s.sending.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), sendTime)
	defer cancel()
	err := s.give(ctx)
	switch {
	case err == nil:
		s.away = false
		return
	case errors.Is(err, world.ErrClosed):
		return
	case !s.away && !errors.Is(err, world.ErrInvalid) && !errors.Is(err, world.ErrNotFound): // a server that is older has no place for it
		s.log.Info("what this process has counted could not be given to the database, and is given later", "err", err)
	}
	s.away = true
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil {
		s.timer = time.AfterFunc(sendEvery, s.send)
	}
}

// give gives one message, and another where the world has not taken it as it was.
func (s *Sender) give(ctx context.Context) error {
	var err error
	for range 5 { // what was not known to be given, then with what others have absorbed, without it, as another process, and once more
		m, again := s.next, s.next != nil
		if m == nil {
			if m, err = s.message(ctx); err != nil {
				return err
			}
			s.next = m
		}
		err = s.keeper.KeepMetrics(ctx, &m.ProcessMetrics)
		switch {
		case err == nil:
			s.next, s.ref, s.given = nil, m.MetricsRef, m.counts
			s.extra.Add(m.absorbed, 1)
			if again && s.counter.Total() > m.total { // counted since
				continue
			}
			return nil
		case !errors.Is(err, world.ErrConflict):
			return err
		case len(m.Absorbs) == 0: // absorbed itself: it begins anew, with what was not given
			s.ref, s.extra = world.MetricsRef{}, Counts{}
			s.extra.Add(s.given, -1)
		}
		s.next = nil // without what others have absorbed
	}
	return err
}

// message is what there is to give. Every few minutes it has what others counted that give nothing any more.
func (s *Sender) message(ctx context.Context) (*message, error) {
	m := &message{total: s.counter.Total(), absorbed: Counts{}}
	m.counts = s.counter.Counts()
	m.MetricsRef = world.MetricsRef{Process: s.ref.Process, Revision: s.ref.Revision + 1}
	if m.Process == "" {
		m.Process = world.NewID("prcs", time.Now())
	}
	if s.looked.IsZero() || time.Since(s.looked) > lookEvery {
		s.looked = time.Now()
		all, err := s.keeper.Metrics(ctx)
		if err != nil {
			return nil, err
		}
		for _, other := range all {
			var counts Counts
			if other.Age < deadAfter || other.Process == m.Process || len(m.Absorbs) == mostAbsorbed || json.Unmarshal(other.Says, &counts) != nil {
				continue
			}
			m.absorbed.Add(counts, 1)
			m.Absorbs = append(m.Absorbs, other.MetricsRef)
		}
	}
	total := Counts{}
	labels := NewLabels()
	for _, part := range []Counts{s.extra, m.absorbed, m.counts} {
		total.Merge(part, labels)
	}
	var err error
	m.Says, err = json.Marshal(total)
	return m, err
}

// mostAbsorbed is how many others a message absorbs at most.
const mostAbsorbed = 100

// Read is what all processes have given. What cannot be read is left out.
func Read(ctx context.Context, keeper world.MetricsKeeper) (Counts, error) {
	all, err := keeper.Metrics(ctx)
	if err != nil {
		return nil, err
	}
	total, labels := Counts{}, NewLabels()
	for _, p := range all {
		var counts Counts
		if json.Unmarshal(p.Says, &counts) == nil {
			total.Merge(counts, labels)
		}
	}
	return total, nil
}
