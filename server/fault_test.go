package server

// A server, a remote worker, and the connection between them: each is killed at each moment, and at any, and nothing is lost or done twice.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/remote"
)

// cutter does to the n-th request what networks do.
type cutter struct {
	below http.RoundTripper
	how   string // before: it is not sent; after: its answer is lost; blind: the connection breaks when it was sent
	n     int64
	count atomic.Int64
	cut   atomic.Bool
}

var errCut = errors.New("connection reset by the test")

func (c *cutter) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.count.Add(1) != c.n {
		return c.below.RoundTrip(r)
	}
	c.cut.Store(true)
	if c.how == "before" {
		return nil, errCut
	}
	if c.how == "blind" {
		ctx, broken := context.WithCancel(r.Context())
		defer broken()
		r = r.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { broken() }}))
	}
	resp, err := c.below.RoundTrip(r)
	if err == nil {
		_ = resp.Body.Close() // unread
	}
	return nil, errCut
}

// TestCutAtEachRequest cuts the connection between a remote worker and its server at its n-th request, for each n, or a share of them, until a run gets through uncut.
func TestCutAtEachRequest(t *testing.T) {
	for _, how := range []string{"before", "after", "blind"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			const most = 100
			from, step := sample.Of(t, 6)
			for n := from; n <= most+step; n += step { // one beyond the most is tried
				least, cut := cutOnce(t, how, n)
				if !cut {
					if n-1 < least {
						t.Errorf("%d requests were cut, want %d or more: is anything sent?", n-1, least)
					}
					return
				}
			}
			t.Fatalf("still cut at request %d", most)
		})
	}
}

// cutOnce also returns how many requests there must have been at least: the greeting, the worker's registration, a claim, and all commits but the
// birth, which is not the worker's.
func cutOnce(t *testing.T, how string, n int) (least int, cut bool) {
	t.Helper()
	below, dir := memory.New(), t.TempDir()
	url := serveWorld(t, below, Options{})
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	c := &cutter{below: base, how: how, n: int64(n)}
	where := fmt.Sprintf("request %d cut %s", n, how)
	w, err := remote.Open(t.Context(), url, remote.Options{Transport: c})
	if err != nil { // its first request: a program would begin again
		if w, err = remote.Open(t.Context(), url, remote.Options{Transport: c}); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
	}
	app, err := stepwell.New(w, stepwell.Config{Definitions: harmed(dir), Lease: remoteLease})
	if err != nil {
		t.Fatal(err)
	}
	client, err := stepwell.New(below, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	if _, err := harmedFlow.Start(t.Context(), client, 1, stepwell.RunID("r")); err != nil {
		t.Fatal(err)
	}
	if err := harmedEvent.Send(t.Context(), client, "r", "go"); err != nil {
		t.Fatal(err)
	}
	overOrFail(t, where, client, "r")
	stop()
	if err := errors.Join(<-ended, w.Close()); err != nil {
		t.Errorf("%s: the worker ended with %v", where, err)
	}
	return 3 + unharmed(t, where, dir, below, "r") - 1, c.cut.Load()
}

// overOrFail waits for a run's result.
func overOrFail(t *testing.T, where string, app *stepwell.App, run string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
	defer cancel()
	if _, err := harmedFlow.Get(app, run).Result(ctx); err != nil {
		t.Fatalf("%s: run %s: %v", where, run, err)
	}
}

// TestKillRemoteWorkerAtEachCall kills a remote worker before and after its n-th commit, delivery and take; another one goes on when the lease is over.
func TestKillRemoteWorkerAtEachCall(t *testing.T) {
	for _, op := range []faults.Op{faults.Commit, faults.Claim} {
		for _, late := range sample.OneFor(t, string(op), false, true) {
			t.Run(fmt.Sprintf("%s/after=%v", op, late), func(t *testing.T) {
				t.Parallel()
				below, dir := memory.New(), t.TempDir()
				url := serveWorld(t, below, Options{})
				client, err := stepwell.New(below, stepwell.Config{})
				if err != nil {
					t.Fatal(err)
				}
				const most = 40
				from, step := sample.Of(t, 3)
				for n := from; n <= most+step; n += step { // one beyond the most is tried
					run, where := fmt.Sprint("r", n), fmt.Sprintf("killed at %s %d, after %v", op, n, late)
					victim := spawn(t, mission{Dir: dir, URL: url, Op: op, N: n, Late: late})
					begin(t, client, run)
					select {
					case <-victim.died:
						heir := spawn(t, mission{Dir: dir, URL: url})
						overOrFail(t, where, client, run)
						heir.end(t)
					case <-overSoon(t, client, run):
					}
					commits := unharmed(t, where, dir, below, run)
					if !victim.ends() {
						continue
					}
					if least := map[faults.Op]int{faults.Commit: commits - 1, faults.Claim: 1}[op]; n-1 < least { // the birth is the client's
						t.Errorf("died at %d calls, want %d or more: the failpoints are not reached", n-1, least)
					}
					return
				}
				t.Fatalf("still dying at call %d", most)
			})
		}
	}
}

// begin starts a run and sends what it waits for.
func begin(t *testing.T, client *stepwell.App, run string) {
	t.Helper()
	if _, err := harmedFlow.Start(t.Context(), client, 1, stepwell.RunID(run)); err != nil {
		t.Fatal(err)
	}
	if err := harmedEvent.Send(t.Context(), client, run, "go"); err != nil {
		t.Fatal(err)
	}
}

// overSoon is closed when a run is over.
func overSoon(t *testing.T, client *stepwell.App, run string) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		if _, err := harmedFlow.Get(client, run).Result(t.Context()); err == nil {
			close(over)
		}
	}()
	return over
}

// gate stands between clients and a server that comes and goes: its address stays, and all connections through it can be cut.
type gate struct {
	net.Listener

	mu     sync.Mutex
	target string // guarded by mu, as what follows
	links  map[net.Conn]bool
	ended  sync.WaitGroup
}

func newGate(t *testing.T, target string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Listener: l, target: target, links: map[net.Conn]bool{}}
	g.ended.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			g.ended.Go(func() { g.carry(from) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		g.cutAll()
		g.ended.Wait()
	})
	return g
}

func (g *gate) carry(from net.Conn) {
	defer func() { _ = from.Close() }()
	g.mu.Lock()
	target := g.target
	g.mu.Unlock()
	to, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	g.mu.Lock()
	g.links[from] = true
	g.mu.Unlock()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
		both.Go(func() {
			_, _ = io.Copy(way[1], way[0]) // until either is closed
			_ = from.Close()
			_ = to.Close()
		})
	}
	both.Wait()
	g.mu.Lock()
	delete(g.links, from)
	g.mu.Unlock()
}

// aim makes it lead elsewhere from now on.
func (g *gate) aim(target string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.target = target
}

func (g *gate) cutAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.links {
		_ = c.Close()
	}
}

// freeAddress is one that nobody listens on just now.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// away opens the world of a server that comes and goes.
func away(t *testing.T, url string) *stepwell.App {
	t.Helper()
	app, err := stepwell.New(openRemote(t, url, remote.Options{Patience: 20 * time.Second}), stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// insist does something until it is known to be done: a caller whose answer was lost asks again.
func insist(t *testing.T, what string, do func() error) {
	t.Helper()
	var err error
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); {
		err = do()
		if err == nil || errors.Is(err, world.ErrRunExists) {
			return
		}
		if !errors.Is(err, world.ErrUnknownOutcome) && !errors.Is(err, world.ErrStorage) {
			break
		}
	}
	t.Fatalf("%s: %v", what, err)
}

// asks starts a run and sends what it waits for, however often the server dies meanwhile.
func asks(t *testing.T, client *stepwell.App, run string) {
	t.Helper()
	insist(t, "start "+run, func() error {
		_, err := harmedFlow.Start(t.Context(), client, 1, stepwell.RunID(run))
		return err
	})
	insist(t, "signal "+run, func() error {
		err := harmedEvent.Send(t.Context(), client, run, "go", stepwell.DeliveryID("go-"+run))
		if errors.Is(err, world.ErrTerminal) {
			return nil // it came, its answer was lost, and the run that waits for it is over by now
		}
		return err
	})
}

// comes waits for a run's result, however often the server dies meanwhile.
func comes(t *testing.T, client *stepwell.App, run string) {
	t.Helper()
	insist(t, "result of "+run, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		_, err := harmedFlow.Get(client, run).Result(ctx)
		return err
	})
}

// TestKillServerAtEachCall kills the server before and after its n-th commit, delivery and take, while a remote worker and a client use it. It is started
// again; the worker goes on under its lease, or under a new one.
func TestKillServerAtEachCall(t *testing.T) {
	cluster := pgtest.Shared(t)
	type way struct {
		kind string
		late bool
	}
	for _, op := range []faults.Op{faults.Commit, faults.Deliver, faults.Claim} {
		for _, w := range sample.OneFor(t, string(op), way{"sqlite", false}, way{"sqlite", true}, way{"postgres", false}, way{"postgres", true}) {
			t.Run(fmt.Sprintf("%s/%s/after=%v", w.kind, op, w.late), func(t *testing.T) {
				t.Parallel()
				o := mission{Dir: t.TempDir(), Listen: freeAddress(t)}
				if w.kind == "postgres" {
					o.DB = cluster.URL(t)
				}
				killServers(t, o, op, w.late)
			})
		}
	}
}

// killServers kills servers, which are as o says.
func killServers(t *testing.T, o mission, op faults.Op, late bool) {
	dir := o.Dir
	g := newGate(t, o.Listen)
	url := "http://" + g.Addr().String()
	first := spawn(t, o)
	client := away(t, url)
	worker := spawn(t, mission{Dir: dir, URL: url})
	first.kill()
	const most = 40
	from, step := sample.Of(t, 3)
	for n := from; n <= most+step; n += step { // one beyond the most is tried
		run, where := fmt.Sprint("r", n), fmt.Sprintf("killed at %s %d, after %v", op, n, late)
		killed := o
		killed.Op, killed.N, killed.Late = op, n, late
		victim := spawn(t, killed)
		done := make(chan struct{})
		go func() {
			defer close(done)
			asks(t, client, run)
			comes(t, client, run)
		}()
		lived := false
		select {
		case <-victim.died:
		case <-done: // it may die yet: of what nobody waits for, or of the last commit, whose end others have seen
			lived = victim.ends()
		}
		heir := spawn(t, o)
		<-done
		commits := unharmed(t, where, dir, client.World(), run)
		heir.kill()
		if !lived {
			continue
		}
		if least := map[faults.Op]int{faults.Commit: commits, faults.Deliver: 1, faults.Claim: 1}[op]; n-1 < least {
			t.Errorf("died at %d calls, want %d or more: the failpoints are not reached", n-1, least)
		}
		worker.kill()
		return
	}
	t.Fatalf("still dying at call %d", most)
}

var harmSeed = flag.Uint64("harm.seed", 0, "seed of the times at which TestHarmAtAnyTime does harm; 0: a new one")

// TestHarmAtAnyTime kills servers and remote workers and cuts their connections at random times, while a client starts and signals runs.
func TestHarmAtAnyTime(t *testing.T) {
	t.Parallel()
	seed := *harmSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("again: go test -run TestHarmAtAnyTime ./server -harm.seed=%d", seed)
	rnd := rand.New(rand.NewPCG(seed, 7))
	const harms, runs = 10, 10
	dir, address := t.TempDir(), freeAddress(t)
	g := newGate(t, address)
	url := "http://" + g.Addr().String()
	server := spawn(t, mission{Dir: dir, Listen: address})
	workers := []*process{spawn(t, mission{Dir: dir, URL: url}), spawn(t, mission{Dir: dir, URL: url})}
	client := away(t, url)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range runs {
			asks(t, client, fmt.Sprint("r", i))
		}
		for i := range runs {
			comes(t, client, fmt.Sprint("r", i))
		}
	}()
	for range harms {
		<-time.After(time.Duration(20+rnd.IntN(300)) * time.Millisecond) // what it hits is up to chance
		switch harm := rnd.IntN(4); harm {
		case 0:
			server.kill()
			server = spawn(t, mission{Dir: dir, Listen: address})
		case 1, 2:
			workers[harm-1].kill()
			workers[harm-1] = spawn(t, mission{Dir: dir, URL: url})
		default:
			g.cutAll()
		}
	}
	<-done
	for i := range runs {
		unharmed(t, fmt.Sprint("seed ", seed), dir, client.World(), fmt.Sprint("r", i))
	}
	for _, w := range workers {
		w.end(t)
	}
	server.end(t)
}
