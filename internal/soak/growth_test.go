//go:build unix

package soak

// This file is the proof that a process does not grow: workers on each world, for as long as it is told, with the heap and the goroutines counted when all is quiet.

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"net/http"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
	"github.com/stepwell/stepwell/world/remote"
	"github.com/stepwell/stepwell/world/sqlite"
)

var (
	growthTime = flag.Duration("soak.growth", 15*time.Second, "how long TestNothingGrows runs workflows")
	growthPace = flag.Int("soak.pace", 0, "how many of them a second on each world, at most; 0: as many as it can")
)

// So many notices come at once, several times a second, whatever the pace: to who listens each is a pass of its loop. In the ten minutes of CI that is 60 a second, and so
// 24,000 passes of each of two listeners after the first third. Where each pass left one context behind, as it once did, that was 500 bytes as measured: 23 MiB, against
// the 12 MiB that are forgiven then.
const (
	noticesAtOnce = 15
	noticesEvery  = 250 * time.Millisecond
)

// What a process may have more after the second part of the time than after the first: caches that were not full yet.
const (
	mostBytes      = 4 << 20
	mostGoroutines = 20
	longestIdle    = 120 // seconds for which a connection that nobody uses may stay: three goroutines each
	// A server keeps the last 10,000 answers of remote workers, 4 MiB at most. Who goes at a walk has not filled that in a third of the time: there are two servers.
	mostAnswers = 2 * 4 << 20
)

// TestNothingGrows has workers on a file, on PostgreSQL and behind servers of both run workflows with a nap and a signal, and send and publish beside; one of the servers gets all its orders over its
// REST API. A third of the time is for pools and caches to fill; after the rest no more is in use than then.
func TestNothingGrows(t *testing.T) {
	cluster := pgtest.New(t, pgtest.Config{NoSync: true})
	passes := func() int { return 0 }
	openPostgres := func() world.World {
		url := cluster.URL(t)
		w, err := postgres.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.Close() })
		before, more := passes, chatter(t, url)
		passes = func() int { return before() + more() }
		return w
	}
	file, err := sqlite.Open(filepath.Join(t.TempDir(), "growth.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	served, err := sqlite.Open(filepath.Join(t.TempDir(), "served.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = served.Close() })
	through := func(url string) world.World {
		w, err := remote.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.Close() })
		return w
	}
	api := serve(t, served)

	var ran atomic.Int64
	mills := []*mill{newMill(t, file, &ran, false), newMill(t, openPostgres(), &ran, false),
		newMill(t, through(serve(t, openPostgres())), &ran, true), newMill(t, through(api), &ran, true)}
	mills[3].order = orderAt(t, api)
	grind := func(d time.Duration) {
		var all sync.WaitGroup
		for _, m := range mills {
			all.Go(func() { m.grind(t, d) })
		}
		all.Wait()
	}
	used := func(enough int) (heap uint64, goroutines int) {
		goroutines = runtime.NumGoroutine()
		poll := time.NewTicker(100 * time.Millisecond)
		defer poll.Stop()
		// Connections that nobody uses any more end by and by; what leaks stays.
		for i := 0; i < 50 || goroutines > enough && i < 10*longestIdle; i++ {
			<-poll.C
			goroutines = min(goroutines, runtime.NumGoroutine())
		}
		var m runtime.MemStats
		for range 3 { // what finalizers free, the next one collects
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return m.HeapAlloc, goroutines
	}
	grind(*growthTime / 3)
	heap, goroutines := used(math.MaxInt)
	first, heard := ran.Load(), passes()
	grind(2 * *growthTime / 3)
	later, more := used(goroutines + mostGoroutines)
	t.Logf("%d runs, %d notices beside: %d KiB and %d goroutines; %d and %d more: %d KiB and %d",
		first, heard, heap>>10, goroutines, ran.Load()-first, passes()-heard, later>>10, more)
	forgiven := uint64(mostBytes)
	if *growthPace > 0 {
		forgiven += mostAnswers
	}
	if later > heap+forgiven || more > goroutines+mostGoroutines {
		t.Errorf("grew from %d KiB and %d goroutines to %d KiB and %d", heap>>10, goroutines, later>>10, more)
		for _, name := range []string{"goroutine", "heap"} {
			var text strings.Builder
			_ = pprof.Lookup(name).WriteTo(&text, 1)
			t.Logf("%s:\n%s", name, text.String()[:min(text.Len(), 20_000)])
		}
	}
}

// chatter has whoever listens at a database hear what is no news, until the test is over, and counts it.
func chatter(t *testing.T, url string) (count func() int) {
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	schema := fnv.New32a()
	_, _ = schema.Write([]byte("stepwell"))
	channel := fmt.Sprintf("stepwell_%08x", schema.Sum32()&0x7fffffff) // as world/postgres names it
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	var heard atomic.Int64
	go func() {
		every := time.NewTicker(noticesEvery)
		defer every.Stop()
		for {
			select {
			case <-ctx.Done():
				ended <- conn.Close(context.Background())
				return
			case <-every.C:
			}
			tag, err := conn.Exec(context.Background(), "SELECT pg_notify($1, n::text) FROM generate_series(1, $2::integer) n", channel, noticesAtOnce)
			if err != nil {
				ended <- errors.Join(err, conn.Close(context.Background()))
				return
			}
			heard.Add(tag.RowsAffected())
		}
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("notices: %v", err)
		}
	})
	return func() int { return int(heard.Load()) }
}

// mill runs workflows on a world, some at a time.
type mill struct {
	wf    *stepwell.Workflow[int, int]
	order func(ctx context.Context) error // has one run, from its start to its result
	ran   *atomic.Int64
	carrier
}

var grist = stepwell.Event[int]("grist")

func newMill(t *testing.T, w world.World, ran *atomic.Int64, served bool) *mill {
	m := &mill{ran: ran}
	m.posts = served
	m.wf = stepwell.Define("mill", func(ctx stepwell.Context, n int) (int, error) {
		if err := stepwell.Sleep(ctx, "nap", time.Millisecond); err != nil {
			return 0, err
		}
		got, _, err := grist.Wait(ctx)
		if err != nil {
			return 0, err
		}
		return stepwell.Step(ctx, "add", func(context.Context) (int, error) { return n + got, nil })
	})
	m.order = m.orderInGo
	var err error
	if m.app, err = stepwell.New(w, stepwell.Config{Definitions: append(m.definitions(t), m.wf), Logger: quiet}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.app.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	m.stand(t)
	return m
}

// grind runs workflows for a time, and returns when all have ended.
func (m *mill) grind(t *testing.T, d time.Duration) {
	const atOnce = 4
	var all sync.WaitGroup
	next := func() {}
	if *growthPace > 0 {
		pace := time.NewTicker(time.Second / time.Duration(*growthPace))
		defer pace.Stop()
		next = func() { <-pace.C }
	}
	for range atOnce {
		all.Go(func() {
			for end := time.Now().Add(d); time.Now().Before(end); m.ran.Add(1) {
				next()
				if err := errors.Join(m.order(t.Context()), m.carry(t.Context())); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	m.rest(t)
}

func (m *mill) orderInGo(ctx context.Context) error {
	run, err := m.wf.Start(ctx, m.app, 1)
	if err == nil {
		err = grist.Send(ctx, m.app, run.ID(), 2)
	}
	if err == nil {
		_, err = run.Result(ctx)
	}
	return err
}

// orderAt is orderInGo over the REST API of a server.
func orderAt(t *testing.T, url string) func(ctx context.Context) error {
	line := &http.Transport{}
	t.Cleanup(line.CloseIdleConnections)
	call := func(ctx context.Context, method, path, body string) (is struct{ ID, Status string }, err error) {
		req, err := http.NewRequestWithContext(ctx, method, url+"/v1/workflows/mill/runs"+path, strings.NewReader(body))
		if err != nil {
			return is, err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := (&http.Client{Transport: line}).Do(req)
		if err != nil {
			return is, err
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode >= 300 {
			err = fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, text)
		}
		if err == nil {
			err = json.Unmarshal(text, &is)
		}
		return is, err
	}
	return func(ctx context.Context) error {
		run, err := call(ctx, "POST", "", `{"input": 1}`)
		if err == nil {
			_, err = call(ctx, "POST", "/"+run.ID+"/signals/grist", "2")
		}
		for ended := run; err == nil && ended.Status != string(world.Completed); {
			ended, err = call(ctx, "GET", "/"+run.ID+"?wait=10s", "")
		}
		return err
	}
}

// serve is a server of a world, and returns its URL.
func serve(t *testing.T, w world.World) string {
	app, err := stepwell.New(w, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(app, server.Options{PrivateEndpoints: true})
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l, server.Serving{SweepInterval: -1}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	return "http://" + l.Addr().String()
}
