package server

// Many who follow, while many runs start: nobody misses anything, who is slow or goes away costs nobody else anything, and memory does not grow.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

var (
	loadTime    = flag.Duration("load.time", 3*time.Second, "how long TestLoad lasts")
	loadReaders = flag.Int("load.readers", 100, "how many follow in TestLoad; a tenth of them do not read, and a tenth go away at once, again and again")
	loadStarts  = flag.Int("load.starts", 50, "starts a second in TestLoad")
)

const (
	loadRuns    = 20       // that are followed
	loadPace    = 5        // signals a second for each of them
	moreHeap    = 48 << 20 // bytes that memory may have grown by, from a third of the time to its end
	loadClients = 64
)

var tick = stepwell.Event[string]("tick")

// TestLoad is larger by its flags: -load.time=60s -load.readers=500 -load.starts=200.
func TestLoad(t *testing.T) {
	short := stepwell.Define("short", func(ctx stepwell.Context, n int) (int, error) {
		for _, name := range []string{"one", "two", "three"} {
			more, err := stepwell.Step(ctx, name, func(context.Context) (int, error) { return n + 1, nil })
			if err != nil {
				return 0, err
			}
			n = more
		}
		return n, nil
	})
	watched := stepwell.Define("watched", func(ctx stepwell.Context, _ int) (int, error) {
		for n := 0; ; n++ {
			if word, _, err := tick.Wait(ctx); err != nil || word == "stop" {
				return n, err
			}
		}
	})
	r := newRig(t, "sqlite", Options{WriteTimeout: 2 * time.Second}, short, watched)
	l := &load{rig: r, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: *loadReaders}}}
	defer l.client.CloseIdleConnections()
	for i := range loadRuns {
		r.want(201, "POST", "/v1/workflows/watched/runs", fmt.Sprintf(`{"id": %q, "input": 1}`, watchedRun(i)))
	}
	ctx, stop := context.WithTimeout(t.Context(), *loadTime)
	defer stop()
	var readers, pests, work sync.WaitGroup
	for i := range *loadReaders {
		run := watchedRun(i % loadRuns)
		switch i % 10 {
		case 0:
			pests.Go(func() { l.stuck(ctx, run) })
		case 1:
			pests.Go(func() { l.vanishing(ctx, run) })
		default:
			readers.Go(func() { l.reads(run) })
		}
	}
	work.Go(func() { l.starts(ctx) })
	work.Go(func() { l.signals(ctx) })
	var third runtime.MemStats
	select {
	case <-time.After(*loadTime / 3):
	case <-t.Context().Done():
	}
	runtime.GC()
	runtime.ReadMemStats(&third)
	work.Wait()
	var last runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&last)
	for i := range loadRuns {
		l.signal(watchedRun(i), "stop")
	}
	readers.Wait()
	pests.Wait()
	t.Logf("%d starts, %d signals, %d events read by %d who read to the end, %d connections that went away; heap %.1f MiB at a third, %.1f MiB at the end",
		l.started.Load(), l.signalled.Load(), l.read.Load(), l.whole.Load(), l.gone.Load(), mib(third.HeapAlloc), mib(last.HeapAlloc))
	if want := int64(*loadReaders - 2*((*loadReaders+9)/10)); l.whole.Load() < want {
		t.Errorf("%d read to the end, want %d", l.whole.Load(), want)
	}
	if last.HeapAlloc > third.HeapAlloc+moreHeap {
		t.Errorf("the heap grew from %.1f to %.1f MiB", mib(third.HeapAlloc), mib(last.HeapAlloc))
	}
	r.until("all places to be free", func() bool { return len(r.server.places.waiting) == 0 })
	r.until("all that was started to be over", func() bool { return l.over("short") == l.started.Load() })
	if n := strings.Count(r.log.String(), "level=ERROR"); n > 0 {
		t.Errorf("%d errors were logged: %s", n, r.log)
	}
}

func mib(bytes uint64) float64 { return float64(bytes) / (1 << 20) }

func watchedRun(i int) string { return fmt.Sprint("watched-", i) }

// load is who asks.
type load struct {
	*rig
	client                                *http.Client
	started, signalled, read, whole, gone atomic.Int64
}

// post sends a body and expects a status.
func (l *load) post(path, body string, want int) {
	req, err := http.NewRequestWithContext(l.Context(), http.MethodPost, l.base+path, strings.NewReader(body))
	if err != nil {
		l.Error(err)
		return
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := l.client.Do(req)
	if err != nil {
		l.Errorf("POST %s: %v", path, err)
		return
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	if b, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != want {
		l.Errorf("POST %s: got %d, %v, want %d: %.300s", path, resp.StatusCode, err, want, b)
	}
}

// paced calls f so many times a second until ctx ends, by several callers.
func paced(ctx context.Context, perSecond int, f func(n int)) {
	clock := time.NewTicker(time.Second / time.Duration(perSecond))
	defer clock.Stop()
	due := make(chan int, 10*perSecond)
	var callers sync.WaitGroup
	for range loadClients {
		callers.Go(func() {
			for n := range due {
				f(n)
			}
		})
	}
	defer callers.Wait()
	defer close(due)
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-clock.C:
			due <- n
		}
	}
}

func (l *load) starts(ctx context.Context) {
	paced(ctx, *loadStarts, func(n int) {
		l.post("/v1/workflows/short/runs", fmt.Sprintf(`{"input": %d}`, n), http.StatusCreated)
		l.started.Add(1)
	})
}

func (l *load) signals(ctx context.Context) {
	paced(ctx, loadRuns*loadPace, func(n int) {
		l.signal(watchedRun(n%loadRuns), strings.Repeat("x", 1000))
	})
}

func (l *load) signal(run, word string) {
	l.post("/v1/workflows/watched/runs/"+run+"/signals/tick", fmt.Sprintf("%q", word), http.StatusAccepted)
	l.signalled.Add(1)
}

// over counts the runs of a workflow that have completed.
func (l *load) over(workflow string) int64 {
	stats, err := l.world.Stats(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	for _, s := range stats.Workflows {
		if s.Workflow == workflow {
			return int64(s.Completed)
		}
	}
	return 0
}

func (l *load) open(ctx context.Context, run string) *http.Response {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.base+"/v1/workflows/watched/runs/"+run+"/events", nil)
	if err != nil {
		l.Error(err)
		return nil
	}
	req.Header.Set("Accept", eventStream)
	resp, err := l.client.Do(req)
	if err != nil {
		if ctx.Err() == nil {
			l.Errorf("follow %s: %v", run, err)
		}
		return nil
	}
	if resp.StatusCode != http.StatusOK {
		l.Errorf("follow %s: got %d", run, resp.StatusCode)
		_ = resp.Body.Close()
		return nil
	}
	return resp
}

// reads follows a run to its end: each event once, in order.
func (l *load) reads(run string) {
	resp := l.open(l.Context(), run)
	if resp == nil {
		return
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for seq := int64(1); lines.Scan(); {
		id, isID := bytes.CutPrefix(lines.Bytes(), []byte("id: "))
		if isID {
			if want := world.Cursor(seq); string(id) != want {
				l.Errorf("run %s: got event %s, want %s", run, id, want)
				return
			}
			seq++
			l.read.Add(1)
		}
		if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok && !isID && bytes.Contains(data, []byte(`"status":"completed"`)) {
			var end struct{ Run, Status string }
			if err := json.Unmarshal(data, &end); err == nil && end.Run == run && end.Status == string(world.Completed) {
				l.whole.Add(1)
				return
			}
		}
	}
	l.Errorf("run %s: the stream ended before the run: %v", run, lines.Err())
}

// vanishing follows, reads a little, and goes away without a word; again and again.
func (l *load) vanishing(ctx context.Context, run string) {
	for ctx.Err() == nil {
		asked, leave := context.WithCancel(ctx)
		resp := l.open(asked, run)
		if resp == nil {
			leave()
			return
		}
		_, _ = io.ReadFull(resp.Body, make([]byte, 200)) // or less, where the load ends
		leave()
		_ = resp.Body.Close()
		l.gone.Add(1)
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond): // a client that comes again at once would be another test
		}
	}
}

// stuck follows and does not read, until the load ends.
func (l *load) stuck(ctx context.Context, run string) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(l.base, "http://"))
	if err != nil {
		l.Error(err)
		return
	}
	defer func() { _ = conn.Close() }()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(4 << 10) // so that little fits between
	}
	if _, err := fmt.Fprintf(conn, "GET /v1/workflows/watched/runs/%s/events HTTP/1.1\r\nHost: localhost\r\nAccept: %s\r\n\r\n", run, eventStream); err != nil {
		l.Error(err)
	}
	<-ctx.Done()
}
