package remote

// This file hears the server's notices: one long request for all who listen. While there is none, workers poll.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// Times of the feed.
const (
	deafPoll     = time.Second      // between looks for work while no notices come
	feedOpening  = 10 * time.Second // for the first answer
	feedSlack    = 5 * time.Second  // beside two heartbeats of the server, before silence is the end
	feedAgain    = 50 * time.Millisecond
	feedAgainTop = 5 * time.Second
	longestLine  = 1 << 20
)

// everything is what may have happened while nobody listened.
var everything = []world.Notice{
	{Kind: world.NoticeWork}, {Kind: world.NoticeMail}, {Kind: world.NoticeEnded}, {Kind: world.NoticeLog}, {Kind: world.NoticeStream}, {Kind: world.NoticeMessage}, {Kind: world.NoticeTopic}, {Kind: world.NoticeSchedule},
}

// feed is the request that brings notices.
type feed struct {
	mu        sync.Mutex
	listeners int
	ended     bool
	stop      context.CancelFunc // nil: it does not run
	running   sync.WaitGroup
	polls     atomic.Int64 // how often to look beside notices, in ns; 0: as often as the worker is told to
	heard     atomic.Bool  // notices come
}

// Notify calls fn after changes of any process; see [world.Notifier]. All listeners share one
// request to the server. Whenever that request begins or is repeated, listeners are told to look at
// everything.
func (w *World) Notify(fn func(world.Notice)) (stop func()) {
	remove := w.listeners.Add(fn)
	f := &w.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listeners++
	if f.stop == nil && !f.ended {
		ctx, cancel := context.WithCancel(context.Background())
		f.stop = cancel
		f.running.Go(func() { w.listen(ctx) })
	}
	return sync.OnceFunc(func() {
		remove()
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.listeners--; f.listeners == 0 && f.stop != nil {
			f.stop()
			f.stop = nil
		}
	})
}

// end ends the feed for good.
func (f *feed) end() {
	f.mu.Lock()
	f.ended = true
	if f.stop != nil {
		f.stop()
		f.stop = nil
	}
	f.mu.Unlock()
	f.running.Wait()
}

// Poll returns how often a worker must look for work besides notices; see [world.Poller].
func (w *World) Poll() time.Duration {
	if !w.feed.heard.Load() {
		return deafPoll
	}
	return time.Duration(w.feed.polls.Load())
}

// listen hears notices until ctx ends.
func (w *World) listen(ctx context.Context) {
	for again := feedAgain; ctx.Err() == nil; again = min(2*again, feedAgainTop) {
		if w.hear(ctx) {
			again = feedAgain
		}
		if w.feed.heard.Swap(false) && ctx.Err() == nil {
			w.listeners.Tell(everything[:1]) // who relied on notices polls from now on
		}
		t := time.NewTimer(again/2 + rand.N(again))
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		t.Stop()
	}
}

// hear makes the request and passes on what comes. It reports whether the server answered.
func (w *World) hear(ctx context.Context) (answered bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(feedOpening, cancel)
	defer silence.Stop()
	req, err := w.request(ctx, http.MethodGet, "/notices", nil)
	if err != nil {
		return false
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := w.client.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }() // it is over
	if resp.StatusCode != http.StatusOK {
		return false
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, longestLine)
	quiet := feedOpening
	event := ""
	for lines.Scan() {
		silence.Reset(quiet)
		line := lines.Bytes()
		if name, ok := bytes.CutPrefix(line, []byte("event: ")); ok {
			event = string(name)
			continue
		}
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		if err := w.told(event, data, &quiet); err != nil {
			return answered
		}
		answered = true
	}
	return answered
}

// told takes one event.
func (w *World) told(event string, data []byte, quiet *time.Duration) error {
	switch event {
	case wire.EventOpen:
		var open wire.Open
		if err := json.Unmarshal(data, &open); err != nil {
			return fmt.Errorf("notices: %w", err)
		}
		*quiet = 2*time.Duration(open.HeartbeatMs)*time.Millisecond + feedSlack
		w.feed.polls.Store(int64(time.Duration(open.PollMs) * time.Millisecond))
		w.feed.heard.Store(true)
		w.listeners.Tell(everything)
	case wire.EventNotices:
		var all []world.Notice
		if err := json.Unmarshal(data, &all); err != nil {
			return fmt.Errorf("notices: %w", err)
		}
		w.listeners.Tell(all)
	}
	return nil
}
