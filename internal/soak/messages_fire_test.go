//go:build unix

package soak

// This file is the proof with messages: what is published and sent comes out wherever it is for, and starts what it
// starts once.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/topic"
	"github.com/stepwell/stepwell/world"
)

// TestMessagesUnderFire publishes and sends parcels, some again, while those who handle them, and the runs that they
// start and that wait for them, are killed and stopped; on PostgreSQL the server restarts and connections are cut, too.
// Of the far ones the first process is a server, which burns as the others do; they work through it, and encrypt.
func TestMessagesUnderFire(t *testing.T) {
	for _, name := range slices.Concat(sample.One(t, "sqlite", "postgres"), sample.One(t, "postgres/far", "sqlite/far")) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := *soakSeed
			if seed == 0 {
				seed = rand.Uint64()
			}
			t.Logf("again: go test ./internal/soak -run TestMessagesUnderFire -soak.time=%s -soak.seed=%d", *soakTime, seed)
			store, where, _ := strings.Cut(name, "/")
			f := &fire{rnd: rand.New(rand.NewPCG(seed, 10)), cuts: map[string][]time.Time{}, counts: map[string]int{}}
			url, places, burn := "sqlite:"+filepath.Join(t.TempDir(), "messages.db"), 1, *soakTime/2
			if store == "postgres" {
				f.server = pgtest.New(t, pgtest.Config{}) // fsync as users have it
				url = f.server.URL(t)
			}
			through := func(string) string { return url }
			if where == "far" {
				places, burn = workers, burn/2
			} else if store == "postgres" {
				f.proxy, places, burn = pgtest.NewProxy(t, url), workers, *soakTime
				through = func(name string) string { return named(t, f.proxy.URL(url), name) }
				_ = openLedger(t, url).Close(context.Background())
			}
			f.crew = newCrew(t, t.TempDir(), places, through)
			f.crew.told.Post, f.crew.told.Book = true, f.proxy != nil
			at := through("producer")
			if where == "far" {
				f.crew.told.Keys, f.crew.front = newKeys(t), freeAddress(t)
				at = "http://" + f.crew.front
			}
			postUnderFire(t, f, seed, url, at, burn)
		})
	}
}

// postUnderFire burns for a while. The client is at one URL, the store itself at another.
func postUnderFire(t *testing.T, f *fire, seed uint64, url, at string, burn time.Duration) {
	ctx, stop := context.WithTimeout(t.Context(), burn+4*patience)
	defer stop()
	trail := &trail{begin: time.Now()}
	f.log = trail.add
	for place := range f.crew.members {
		if err := f.crew.hire(place); err != nil {
			t.Fatal(err)
		}
	}
	s := &sender{producer: producer{app: counting(t, at, f.crew.told.Keys)}, made: make([][]parcel, sources), subscribers: 3}
	if f.crew.told.Book {
		s.subscribers++
	}
	if err := s.insist(ctx, func(bool) error { return s.subscribe(ctx) }); err != nil {
		t.Fatal(err)
	}
	enough, produced := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(produced)
		s.produce(ctx, seed, enough)
	}()
	var burnt error
	if f.proxy != nil {
		burnt = f.burn(ctx, burn)
	} else {
		burnt = f.smoulder(ctx, burn)
	}
	if burnt != nil {
		t.Errorf("the fire: %v", burnt)
	}
	quiet, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	if err := s.until(quiet, func() (bool, error) { // machines are slow
		select {
		case <-produced: // as something failed
			return true, nil
		default:
			return s.count() >= 5*sources, nil
		}
	}); err != nil {
		t.Errorf("few parcels after %s: %v", 2*patience, err)
	}
	close(enough)
	out := time.Now()
	select {
	case <-produced:
	case <-quiet.Done():
		t.Errorf("%s after the fire not all parcels have come to those who wait for them", 2*patience)
		stop()
		<-produced
	}
	if err := s.until(quiet, func() (bool, error) { return s.quiet(quiet) }); err != nil {
		t.Errorf("%s after the fire something is not over: %v", 2*patience, err)
	}
	for _, err := range s.faults {
		t.Error(err)
	}
	if t.Failed() {
		s.tellStuck(t)
	}
	if err := f.crew.dismiss(); err != nil {
		t.Error(err)
	}
	t.Logf("%d parcels, all over %s after the fire; %d calls of the client were made again; faults %v", s.count(), time.Since(out).Round(time.Millisecond), s.retries.Load(), f.counts)
	s.app = counting(t, url, f.crew.told.Keys) // past the server and the proxy
	q := &inquest{app: s.app}
	s.examine(t, q, f.crew.dir)
	if f.server != nil {
		q.conn = connect(t, url)
		q.empty(context.Background(), t)
	}
	if f.crew.told.Book {
		s.booked(t, q)
	}
	q.report(t, trail)
	if f.proxy != nil {
		f.enough(t)
	}
}

// sender publishes and sends.
type sender struct {
	producer
	made        [][]parcel // by source, in order; guarded by mu
	subscribers int
}

func (s *sender) queues() world.Messenger {
	return s.app.World().Messages()
}

func (s *sender) topics() world.Publisher {
	return s.app.World().Topics()
}

// subscribe makes the subscription that starts runs, whose queue is received from again as soon as the others are.
func (s *sender) subscribe(ctx context.Context) error {
	if _, err := topic.Subscribe(ctx, s.app, topic.ToWorkflow("ship", "parcel.made", shipFlow)); err != nil {
		return err
	}
	return s.queues().DeclareQueue(ctx, world.MessageQueue{Name: shipped, Visibility: 2 * time.Second, MaxReceives: world.MaxReceives})
}

// produce has each source send one parcel after the other until stop.
func (s *sender) produce(ctx context.Context, seed uint64, stop <-chan struct{}) {
	if err := s.until(ctx, func() (bool, error) { // who subscribes later gets less
		all, err := topic.Subscriptions(ctx, s.app)
		return len(all) == s.subscribers, err
	}); err != nil {
		s.fault(fmt.Errorf("subscriptions: %w", err))
		return
	}
	var all sync.WaitGroup
	defer all.Wait()
	for of := range sources {
		all.Go(func() {
			if err := s.source(ctx, of, rand.New(rand.NewPCG(seed, 11+uint64(of))), stop); err != nil {
				s.fault(fmt.Errorf("source %d: %w", of, err))
			}
		})
	}
}

// source sends one parcel after the other until stop, and returns when each has come to the run that waits for it.
func (s *sender) source(ctx context.Context, of int, rnd *rand.Rand, stop <-chan struct{}) error {
	awaited := of // all before it are
	for n, stopped := of, false; !stopped; n += sources {
		if err := s.carry(ctx, parcel{n, "made"}, rnd); err != nil {
			return err
		}
		select {
		case <-stop:
			stopped = true
		default:
		}
		for ; awaited <= n && (stopped || awaited <= n-ahead*sources); awaited += sources {
			if err := s.awaited(ctx, awaited); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *sender) fault(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, err)
}

// ahead is by how many parcels a source may be ahead of the runs that wait for them.
const ahead = 6

// carry publishes and sends one parcel, and has a run wait for it.
func (s *sender) carry(ctx context.Context, p parcel, rnd *rand.Rand) error {
	s.mu.Lock()
	s.made[p.N%sources] = append(s.made[p.N%sources], p)
	s.mu.Unlock()
	id := fmt.Sprint(p.N)
	await := func() error {
		return s.insist(ctx, func(bool) error {
			_, err := awaitFlow.Start(ctx, s.app, p.N, stepwell.Key("await-"+id))
			return err
		})
	}
	acts := []func() error{
		s.once(ctx, rnd, func() (string, error) {
			return made.Publish(ctx, s.app, p, topic.Source(source(p.N)), topic.DeliveryID(id))
		}),
		s.once(ctx, rnd, func() (string, error) { return work.Send(ctx, s.app, p, queue.DedupeID(id, time.Hour)) }),
		s.once(ctx, rnd, func() (string, error) { return paid.Publish(ctx, s.app, parcel{p.N, "paid"}, topic.DeliveryID(id)) }),
		await,
	}
	if text, ok := p.wrong(); ok {
		acts = append(acts, s.once(ctx, rnd, func() (string, error) { return odd.Publish(ctx, s.app, text, topic.DeliveryID("odd-"+id)) }))
	}
	rnd.Shuffle(len(acts), func(i, j int) { acts[i], acts[j] = acts[j], acts[i] })
	for _, act := range acts {
		if err := act(); err != nil {
			return fmt.Errorf("parcel %d: %w", p.N, err)
		}
		_ = dawdle(ctx, rnd.IntN(40))
	}
	return nil
}

// once sends what may be sent again, sometimes again: it is the same one.
func (s *sender) once(ctx context.Context, rnd *rand.Rand, send func() (id string, err error)) func() error {
	times := 1 + rnd.IntN(2)*rnd.IntN(3)
	return func() error {
		first := ""
		for range times {
			id := ""
			if err := s.insist(ctx, func(bool) (err error) { id, err = send(); return err }); err != nil {
				return err
			}
			if first != "" && id != first {
				return fmt.Errorf("it is %s, and sent again %s", first, id)
			}
			first = id
		}
		return nil
	}
}

// awaited waits for the run that waits for a parcel.
func (s *sender) awaited(ctx context.Context, n int) error {
	got := 0
	err := s.insist(ctx, func(bool) error {
		run, err := awaitFlow.Start(ctx, s.app, n, stepwell.Key(fmt.Sprint("await-", n)))
		if err == nil {
			got, err = run.Result(ctx)
		}
		return err
	})
	if err == nil && got != n {
		err = fmt.Errorf("it got %d", got)
	}
	if err != nil {
		return fmt.Errorf("the run that waits for parcel %d: %w", n, err)
	}
	return nil
}

// quiet reports whether nothing is left to be done. What is published comes to queues, what is in queues to runs, and
// what runs send to queues: it is looked for in this order.
func (s *sender) quiet(ctx context.Context) (bool, error) {
	if due, err := s.topics().Due(ctx, world.DueQuery{Limit: 1}); err != nil || len(due.Publications) > 0 {
		return false, err
	}
	if empty, err := s.handled(ctx); err != nil || !empty {
		return false, err
	}
	page, err := s.app.Page(ctx, stepwell.ListFilter{Status: []world.Status{world.Pending, world.Running}}, "", 1)
	if err != nil || len(page.Runs) > 0 {
		return false, err
	}
	return s.handled(ctx)
}

// handled reports whether queues have nothing but dead letters.
func (s *sender) handled(ctx context.Context) (bool, error) {
	queues, err := s.queues().Queues(ctx)
	if err != nil {
		return false, err
	}
	for i := range queues {
		for state, n := range queues[i].Counts {
			if state != world.MessageDead && n > 0 {
				return false, nil
			}
		}
	}
	return true, nil
}

// tellStuck says what is left.
func (s *sender) tellStuck(t *testing.T) {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	due, err := s.topics().Due(ctx, world.DueQuery{Limit: 10})
	t.Logf("due: %+v, %v", due, err)
	queues, err := s.queues().Queues(ctx)
	t.Logf("queues: %+v, %v", queues, err)
	page, err := s.app.Page(ctx, stepwell.ListFilter{Status: []world.Status{world.Pending, world.Running}}, "", 10)
	for _, r := range page.Runs {
		why, err := s.app.Why(ctx, r.ID)
		t.Logf("%s of %s: %v, %v", r.ID, r.Workflow, why, err)
	}
	t.Log(err)
}

func (s *sender) count() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range s.made {
		n += len(of)
	}
	return n
}
