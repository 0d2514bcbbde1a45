package server

// Several servers in front of one database: a remote worker may come through any of them, by turns, and goes on at the
// next one where one dies.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
	"github.com/stepwell/stepwell/world/remote"
	"github.com/stepwell/stepwell/world/remote/wire"
	"github.com/stepwell/stepwell/world/worldtest"
)

// roundRobin sends requests to servers by turns, as balancers do.
type roundRobin struct {
	base  http.RoundTripper
	hosts []string
	n     atomic.Int64
}

func newRoundRobin(t testing.TB, urls ...string) *roundRobin {
	t.Helper()
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	b := &roundRobin{base: base}
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		b.hosts = append(b.hosts, u.Host)
	}
	return b
}

func (b *roundRobin) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host, r.URL.Host = "", b.hosts[b.n.Add(1)%int64(len(b.hosts))]
	return b.base.RoundTrip(r)
}

// openPair opens a PostgreSQL database twice, as two processes do.
func openPair(t testing.TB, db string) (a, b world.World) {
	t.Helper()
	var pair [2]world.World
	for i := range pair {
		w, err := postgres.Open(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		pair[i] = w
	}
	return pair[0], pair[1]
}

// balanced is a world of two servers, to which its calls go by turns. Each server counts what it does itself.
type balanced struct {
	*remote.World
	below [2]world.World
}

// Stats adds up what the servers count.
func (w balanced) Stats(ctx context.Context) (world.Stats, error) {
	stats, err := w.World.Stats(ctx)
	stats.Counters = world.Counters{}
	for _, below := range w.below {
		one, statsErr := below.Stats(ctx)
		err = errors.Join(err, statsErr)
		from, to := reflect.ValueOf(one.Counters), reflect.ValueOf(&stats.Counters).Elem()
		for i := range to.NumField() {
			to.Field(i).SetInt(to.Field(i).Int() + from.Field(i).Int())
		}
	}
	return stats, err
}

// serveTwice puts two servers in front of a database. What it returns makes clients.
func serveTwice(t testing.TB, db string) (open func() balanced) {
	t.Helper()
	a, b := openPair(t, db)
	urls := []string{serveWorld(t, a, Options{}), serveWorld(t, b, Options{})}
	return func() balanced {
		return balanced{openRemote(t, urls[0], remote.Options{Transport: newRoundRobin(t, urls...)}), [2]world.World{a, b}}
	}
}

// Two servers of one database are a world.
func TestRemoteWorldOfTwoServers(t *testing.T) {
	cluster := pgtest.Shared(t)
	worldtest.RunOver(t, func(tb testing.TB) world.World {
		return serveTwice(tb, cluster.URL(tb))()
	}, sample.Share(t, 20))
}

func TestRemoteWorkersOfTwoServers(t *testing.T) {
	cluster := pgtest.Shared(t)
	pair := func(tb testing.TB) (a, b world.World) {
		open := serveTwice(tb, cluster.URL(tb))
		return open(), open()
	}
	t.Run("shared", func(t *testing.T) { t.Parallel(); worldtest.RunSharedSome(t, pair, sample.Share(t, 6)) })
	t.Run("workers", func(t *testing.T) { t.Parallel(); worldtest.RunWorkers(t, pair) })
}

// TestRemoteAppOutlivesKilledServer: a server is killed while the worker behind it is in the middle of a step, and
// another one is there. Beside them is a worker on the database. The run was claimed once, and the bodies of its steps
// ran once.
func TestRemoteAppOutlivesKilledServer(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Shared(t)
	key, err := keyring.NewKey("k1")
	if err != nil {
		t.Fatal(err)
	}
	ring, err := keyring.New(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, keys := range map[string]*keyring.Ring{"plain": nil, "encrypted": ring} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, a, b := cluster.URL(t), freeAddress(t), freeAddress(t)
			beside, err := postgres.Open(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := beside.Close(); err != nil {
					t.Errorf("Close = %v", err)
				}
			})
			first := spawn(t, mission{DB: db, Listen: a})
			spawn(t, mission{DB: db, Listen: b})
			work(t, beside, stepwell.Define("another", func(stepwell.Context, int) (int, error) { return 0, nil }))
			var bodies atomic.Int32
			inStep, goOn := make(chan struct{}), make(chan struct{})
			flow := stepwell.Define("flow", func(ctx stepwell.Context, n int) (int, error) {
				for _, name := range []string{"before", "long", "after"} {
					var err error
					if n, err = stepwell.Step(ctx, name, func(ctx context.Context) (int, error) {
						if bodies.Add(1); name == "long" {
							close(inStep)
							select {
							case <-goOn:
							case <-ctx.Done():
								return 0, errors.New("its context ended")
							}
						}
						return n + 1, nil
					}); err != nil {
						return 0, err
					}
				}
				return n, nil
			})
			g := newGate(t, a)
			app := workWith(t, openRemote(t, "http://"+g.Addr().String(), remote.Options{}), keys, flow)
			run, err := flow.Start(t.Context(), app, 1)
			if err != nil {
				t.Fatal(err)
			}
			<-inStep
			first.kill()
			g.aim(b)
			close(goOn)
			if got, err := run.Result(t.Context()); err != nil || got != 4 {
				t.Fatalf("got %d, %v, want 4", got, err)
			}
			info, err := app.Get(t.Context(), run.ID())
			if err != nil || info.Claims != 1 || bodies.Load() != 3 {
				t.Errorf("got %d claims, %d bodies, %v; want 1 and 3", info.Claims, bodies.Load(), err)
			}
		})
	}
}

// copying sends each commit and each delivery to one server and then to another one, and gives the second one's answer: a balancer that tries again.
type copying struct{ *roundRobin }

func (c copying) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/v1/world/commit" && r.URL.Path != "/v1/world/deliver" {
		return c.roundRobin.RoundTrip(r)
	}
	_, answer, err := c.both(r)
	return answer, err
}

// both sends a request to both servers, one after the other. Of the first answer there is what nobody is to read.
func (c copying) both(r *http.Request) (unread []byte, answer *http.Response, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, nil, err
	}
	first := r.Clone(r.Context())
	first.Body, r.Body = io.NopCloser(bytes.NewReader(body)), io.NopCloser(bytes.NewReader(body))
	answer, err = c.roundRobin.RoundTrip(first)
	if err != nil {
		return nil, nil, err
	}
	unread, err = io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil {
		return nil, nil, err
	}
	answer, err = c.roundRobin.RoundTrip(r)
	return unread, answer, err
}

// What comes to two servers is done once, and who sent it hears so from either: no step begins again, and no start is refused for its own sake.
func TestCopiesComeToTwoServers(t *testing.T) {
	a, b := openPair(t, pgtest.URL(t))
	urls := []string{serveWorld(t, a, Options{}), serveWorld(t, b, Options{})}
	w := openRemote(t, urls[0], remote.Options{Transport: copying{newRoundRobin(t, urls...)}})
	var bodies atomic.Int64
	task := stepwell.DefineStep("task", func(_ context.Context, n int) (int, error) { bodies.Add(1); return n, nil })
	flow := stepwell.Define("copied", func(ctx stepwell.Context, n int) (sum int, err error) {
		for i := range n {
			v, err := stepwell.Step(ctx, "step", func(context.Context) (int, error) { bodies.Add(1); return i, nil })
			if err != nil {
				return 0, err
			}
			sum += v
		}
		two, err := stepwell.All(ctx, task.Start(ctx, 1), task.Start(ctx, 2))
		for _, v := range two {
			sum += v
		}
		return sum, err
	})
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{flow, task}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := app.Run(ctx); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	defer running.Wait()
	defer stop()
	const runs, steps = 5, 4
	for i := range runs {
		run, err := flow.Start(t.Context(), app, steps, stepwell.RunID(fmt.Sprint("copied-", i)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := run.Result(t.Context()); err != nil || got != 0+1+2+3+1+2 {
			t.Errorf("%s = %d, %v; want 9", run.ID(), got, err)
		}
	}
	if n := bodies.Load(); n != runs*(steps+2) {
		t.Errorf("%d bodies began, want %d", n, runs*(steps+2))
	}
}

// losing sends each claim to both servers until one of them gives what it looks for: of that one the answer is lost, and the other one's is read.
type losing struct {
	copying
	gives      func(*world.Claimed) bool
	on         atomic.Bool
	lost       atomic.Bool
	heartbeats atomic.Int64 // since then
	ten        chan struct{}
}

func (l *losing) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/v1/world/heartbeat" && l.lost.Load() && l.heartbeats.Add(1) == 10 {
		close(l.ten)
	}
	if r.URL.Path != "/v1/world/claim" || !l.on.Load() || l.lost.Load() {
		return l.roundRobin.RoundTrip(r)
	}
	first, answer, err := l.both(r)
	if err != nil {
		return nil, err
	}
	second, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	gave := func(text []byte) bool {
		claimed, err := wire.DecodeAnswer[world.Claimed](text)
		return err == nil && l.gives(&claimed)
	}
	if answer.Body = io.NopCloser(bytes.NewReader(second)); gave(second) { // then the first one gave nothing
		l.lost.Store(true)
		answer.Body = io.NopCloser(bytes.NewReader(first))
		answer.ContentLength = int64(len(first))
	} else if gave(first) {
		l.lost.Store(true)
	}
	return answer, err
}

// TestTakesComeToTwoServers: what a claim gave whose answer nobody read, as the one that was read is another server's to its copy, is found by the second heartbeat
// that lists it, and moves: a run before the worker's first heartbeat, without a new lease, and a task of a run that its worker works on meanwhile.
func TestTakesComeToTwoServers(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Shared(t)
	for what, gives := range map[string]func(*world.Claimed) bool{
		"run":  func(claimed *world.Claimed) bool { return len(claimed.Runs) > 0 },
		"task": func(claimed *world.Claimed) bool { return len(claimed.Tasks) > 0 },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			a, b := openPair(t, cluster.URL(t))
			urls := []string{serveWorld(t, a, Options{}), serveWorld(t, b, Options{})}
			net := &losing{copying: copying{newRoundRobin(t, urls...)}, gives: gives, ten: make(chan struct{})}
			net.on.Store(what == "run")
			w := openRemote(t, urls[0], remote.Options{Transport: net})
			var bodies atomic.Int64
			worked, begun := make(chan struct{}), make(chan struct{}, 10)
			both := stepwell.Event[int]("both")
			task := stepwell.DefineStep("task", func(context.Context, int) (int, error) { bodies.Add(1); close(worked); return 1, nil })
			client := openRemote(t, urls[0], remote.Options{})
			flow := stepwell.Define("flow", func(ctx stepwell.Context, _ int) (int, error) {
				busy := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
					return stepwell.Step(ctx, "long", func(context.Context) (int, error) { // its session is there for as long as it runs
						begun <- struct{}{}
						select {
						case <-worked:
							return 1, nil
						case <-net.ten:
							return 0, stepwell.Fatal(errors.New("nobody worked on the task"))
						}
					})
				})
				queued := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
					return stepwell.Step(ctx, "until-queued", func(ctx context.Context) (int, error) { // and has the other slot until then
						begun <- struct{}{}
						for {
							if tasks, err := client.Tasks(ctx, stepwell.Info(ctx).Run); err != nil || len(tasks) > 0 {
								net.on.Store(true)
								return 1, err
							}
						}
					})
				})
				if _, _, err := both.Wait(ctx); err != nil { // a task that came before would run in one of the slots, unseen
					return 0, err
				}
				all, err := stepwell.All(ctx, queued, busy, task.Start(ctx, 1))
				return len(all), err
			})
			starter, err := stepwell.New(client, stepwell.Config{Definitions: []stepwell.Definition{flow, task}})
			if err != nil {
				t.Fatal(err)
			}
			run, err := flow.Start(t.Context(), starter, 1)
			if err != nil {
				t.Fatal(err)
			}
			app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{flow, task}, MaxSteps: 2})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() {
				if err := app.Run(ctx); err != nil {
					t.Errorf("Run = %v", err)
				}
			})
			defer running.Wait()
			defer stop()
			<-begun
			<-begun
			if err := both.Send(t.Context(), starter, run.ID(), 1); err != nil {
				t.Fatal(err)
			}
			if got, err := run.Result(t.Context()); err != nil || got != 3 {
				t.Errorf("got %d, %v; want 3", got, err)
			}
			stats, err := client.Stats(t.Context())
			if err != nil || len(stats.Workers) != 1 || !net.lost.Load() || bodies.Load() != 1 {
				t.Errorf("got %d workers, %d bodies, %v, a lost answer %t; want one that never gave all up", len(stats.Workers), bodies.Load(), err, net.lost.Load())
			}
		})
	}
}
