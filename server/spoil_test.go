package server

// What networks, balancers and proxies do to answers, to each route of the wire, while workers work: requests come twice, late and out of order, answers are cut,
// empty, of another kind, of another call. Then there is peace, and every run ends as it should.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote"
	"github.com/stepwell/stepwell/world/remote/wire"
)

var (
	wireSeed = flag.Uint64("wire.seed", 0, "seed of the faults of TestWireUnderFire; 0: a new one")
	wireTime = flag.Duration("wire.time", 4*time.Second, "how long TestWireUnderFire spoils requests and answers")
)

// spoiler is a connection that does so.
type spoiler struct {
	below http.RoundTripper
	peace atomic.Bool
	late  sync.WaitGroup // copies that come by themselves

	mu   sync.Mutex
	rnd  *rand.Rand     // guarded by mu
	did  map[string]int // guarded by mu: by fault and route
	last map[string]*kept
}

// kept is an answer that may come to another call.
type kept struct {
	header http.Header
	status int
	body   []byte
}

// spoils are the faults, by what the client sees.
var spoils = []string{"twice", "twice, seen second", "late", "cut", "empty", "html", "other json", "empty object", "null", "another's answer", "bad gateway", "not found", "lost", "slow"}

// draw says what becomes of a request; "": nothing.
func (s *spoiler) draw(route string) (how string, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.peace.Load() || s.rnd.IntN(100) >= 18 {
		return "", 0
	}
	how = spoils[s.rnd.IntN(len(spoils))]
	s.did[how]++
	s.did[route]++
	return how, time.Duration(s.rnd.IntN(300)) * time.Millisecond
}

// RoundTrip sends a request, and spoils it or its answer.
func (s *spoiler) RoundTrip(r *http.Request) (*http.Response, error) {
	route := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, wire.Prefix), "/")
	how, wait := s.draw(route)
	if how == "" && s.peace.Load() || r.Header.Get("Accept") != "" { // notices are a stream, and may be lost as they are
		return s.below.RoundTrip(r)
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close()
	}
	send := func(ctx context.Context) (*kept, error) {
		again := r.Clone(ctx)
		if again.Body = http.NoBody; body != nil {
			again.Body = io.NopCloser(bytes.NewReader(body))
		}
		resp, err := s.below.RoundTrip(again)
		if err != nil {
			return nil, err
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		return &kept{resp.Header, resp.StatusCode, text}, err
	}
	if how == "slow" {
		<-time.After(wait)
	}
	first, err := send(r.Context())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	other := s.last[route]
	s.last[route] = first
	s.mu.Unlock()
	page := &kept{http.Header{"Content-Type": {"text/html"}}, 200, []byte("<html>come again</html>")}
	switch how {
	case "twice", "twice, seen second":
		second, err := send(context.WithoutCancel(r.Context()))
		if err == nil && how == "twice, seen second" {
			first = second
		}
	case "late":
		s.late.Go(func() {
			<-time.After(wait)
			_, _ = send(context.WithoutCancel(r.Context())) // nobody hears what it says
		})
	case "cut":
		first = &kept{first.header, first.status, first.body[:len(first.body)/2]}
	case "empty":
		first = &kept{http.Header{}, 200, nil}
	case "html":
		first = page
	case "other json":
		first = &kept{http.Header{"Content-Type": {"application/json"}}, 200, []byte(`{"status":"ok"}`)}
	case "empty object":
		first = &kept{http.Header{"Content-Type": {"application/json"}}, 200, []byte(`{}`)}
	case "null":
		first = &kept{http.Header{"Content-Type": {"application/json"}}, 200, []byte(`null`)}
	case "another's answer":
		if other != nil {
			first = other
		}
	case "bad gateway", "not found":
		if page.status = 502; how == "not found" {
			page.status = 404
		}
		first = page
	case "lost":
		return nil, errCut
	}
	header := first.header.Clone()
	header.Del("Content-Length") // who cuts says nothing of it
	return &http.Response{
		Status: http.StatusText(first.status), StatusCode: first.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header,
		Body: io.NopCloser(bytes.NewReader(first.body)), ContentLength: -1, Request: r,
	}, nil
}

// chatty is a workflow whose step writes to a stream.
const chattyChunks = 12

var chattyFlow = stepwell.Define("chatty", func(ctx stepwell.Context, _ int) (int, error) {
	return stepwell.Step(ctx, "talk", func(ctx context.Context) (int, error) {
		to := stepwell.Stream[int](ctx, "talk")
		for i := range chattyChunks {
			if err := errors.Join(to.Write(i), to.Flush()); err != nil {
				return 0, err
			}
		}
		return chattyChunks, nil
	})
})

// didAll reports whether each fault was made once, which a slow machine has not in a short time.
func (s *spoiler) didAll() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(spoils, func(how string) bool { return s.did[how] == 0 })
}

func TestWireUnderFire(t *testing.T) {
	fronts := map[string]func(t *testing.T) []world.World{
		"sqlite":   func(t *testing.T) []world.World { return []world.World{kinds["sqlite"](t)} },
		"postgres": func(t *testing.T) []world.World { return []world.World{openPostgres(t)} },
		"two servers": func(t *testing.T) []world.World {
			a, b := openPair(t, pgtest.URL(t))
			return []world.World{a, b}
		},
	}
	for _, front := range sample.OneKey(t, fronts) {
		t.Run(front, func(t *testing.T) {
			t.Parallel()
			wireUnderFire(t, fronts[front](t)...)
		})
	}
}

// wireUnderFire has a server in front of each World of one storage.
func wireUnderFire(t *testing.T, worlds ...world.World) {
	below := worlds[0]
	seed := *wireSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("again: go test -run TestWireUnderFire ./server -wire.seed=%d -wire.time=%s", seed, *wireTime)
	var urls []string
	for _, w := range worlds {
		urls = append(urls, serveWorld(t, w, Options{}))
	}
	url, dir := urls[0], t.TempDir()
	s := &spoiler{below: newRoundRobin(t, urls...), rnd: rand.New(rand.NewPCG(seed, 1)), did: map[string]int{}, last: map[string]*kept{}}
	defer s.late.Wait()
	connect := func() *stepwell.App {
		var w *remote.World
		insist(t, "open", func() (err error) {
			if w, err = remote.Open(t.Context(), url, remote.Options{Transport: s}); errors.Is(err, world.ErrInvalid) {
				err = world.ErrStorage // a page of a proxy, before anybody has seen the server: a program would begin again
			}
			return err
		})
		t.Cleanup(func() { _ = w.Close() })
		app, err := stepwell.New(w, stepwell.Config{Definitions: append(harmed(dir), chattyFlow), Lease: 2 * remoteLease})
		if err != nil {
			t.Fatal(err)
		}
		return app
	}
	ctx, stop := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	for range 2 {
		app := connect()
		workers.Go(func() {
			if err := app.Run(ctx); err != nil {
				t.Errorf("seed %d: a worker ended: %v", seed, err)
			}
		})
	}
	client := connect()
	var all []string
	for until := time.Now().Add(*wireTime); time.Now().Before(until) || len(all) < 200 && !s.didAll(); {
		run := fmt.Sprint("r", len(all))
		asks(t, client, run)
		insist(t, "start c"+run, func() error {
			_, err := chattyFlow.Start(t.Context(), client, 1, stepwell.RunID("c"+run))
			return err
		})
		all = append(all, run)
	}
	s.peace.Store(true)
	s.late.Wait()
	for _, run := range all {
		comes(t, client, run)
		unharmed(t, fmt.Sprint("seed ", seed), dir, below, run)
		insist(t, "result of c"+run, func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
			defer cancel()
			_, err := chattyFlow.Get(client, "c"+run).Result(ctx)
			return err
		})
		heard(t, seed, below, "c"+run)
	}
	nothingHeld(t, seed, below)
	stop()
	workers.Wait()
	t.Logf("%d runs, faults: %v", 2*len(all), s.did)
	for _, how := range spoils {
		if s.did[how] == 0 {
			t.Errorf("seed %d: no request was %s", seed, how)
		}
	}
}

// heard holds that a stream has each chunk once, in order.
func heard(t *testing.T, seed uint64, w world.World, run string) {
	t.Helper()
	page, err := w.Chunks(t.Context(), run, "talk", world.ChunkQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range page.Chunks {
		if c.Kind == world.ChunkData {
			got = append(got, string(c.Value))
		}
	}
	want, _ := json.Marshal([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	if text := "[" + strings.Join(got, ",") + "]"; text != string(want) {
		t.Errorf("seed %d: run %s: its stream has %s, want %s", seed, run, text, want)
	}
}

// nothingHeld holds that workers come to hold nothing.
func nothingHeld(t *testing.T, seed uint64, w world.World) {
	t.Helper()
	held := ""
	for range 200 {
		stats, err := w.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = ""
		for _, k := range stats.Workers {
			if k.Runs+k.Tasks > 0 {
				held += fmt.Sprintf("%s holds %d runs and %d tasks; ", k.ID, k.Runs, k.Tasks)
			}
		}
		if held == "" {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
	t.Errorf("seed %d: %s", seed, held)
}
