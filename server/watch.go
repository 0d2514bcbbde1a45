package server

// This file waits for runs to change: one subscription to the world's notices for all who wait, and polling behind it.

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// watchers are those who wait for news of runs. While there are any, one subscription to the world serves them all.
type watchers struct {
	notifier world.Notifier

	mu   sync.Mutex
	runs map[string]*followed
	stop func() // ends the subscription; nil: there is none
}

func newWatchers(w world.World) *watchers {
	return &watchers{notifier: w, runs: map[string]*followed{}}
}

// add makes news come for a run until stop is called.
func (h *watchers) add(run string) (news <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.runs[run] == nil {
		h.runs[run] = &followed{waiters: map[chan struct{}]bool{}}
	}
	h.runs[run].waiters[c] = true
	if h.stop == nil {
		h.stop = h.notifier.Notify(h.tell)
	}
	return c, func() { h.remove(run, c) }
}

func (h *watchers) remove(run string, c chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.runs[run].waiters, c)
	if len(h.runs[run].waiters) == 0 {
		delete(h.runs, run)
	}
	if len(h.runs) == 0 && h.stop != nil {
		h.stop()
		h.stop = nil
	}
}

// tell passes a notice on. It never blocks.
func (h *watchers) tell(n world.Notice) {
	if n.Kind != world.NoticeLog && n.Kind != world.NoticeEnded && n.Kind != world.NoticeStream {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if n.Run != "" {
		if n.Kind != world.NoticeStream {
			h.runs[n.Run].nudge()
		}
		if n.Kind != world.NoticeLog {
			h.runs[streamsOf+n.Run].nudge()
		}
		return
	}
	for key, f := range h.runs {
		if n.Kind != world.NoticeStream || strings.HasPrefix(key, streamsOf) {
			f.nudge()
		}
	}
}

// streamsOf stands before a run whose streams are waited for, and not its log. No run's ID has it.
const streamsOf = "streams of "

// nudge has all look again.
func (f *followed) nudge() {
	if f == nil {
		return
	}
	f.news++
	for c := range f.waiters {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Polling, where no notice comes: another process may write, and not every world tells of that.
const (
	pollFirst = 20 * time.Millisecond
	pollLast  = time.Second
)

// watch calls look at once, and again whenever a run may have changed, until look is done or fails, the server drains, or ctx ends, which is no
// error where its time was up. It calls keepalive at each of keepalives, which may be nil. What others who watch the
// run have seen will do for a look where it is not older than fresh, and no news came since: see share.
func (s *Server) watch(ctx context.Context, run string, look func(fresh time.Duration) (done bool, err error), keepalives <-chan time.Time, keepalive func() error) error {
	news, stop := s.watchers.add(run)
	defer stop()
	poll := pollFirst
	timer := time.NewTimer(poll)
	defer timer.Stop()
	looked := false
	for {
		if !looked {
			if done, err := look(poll / 2); done || err != nil {
				return err
			}
			timer.Reset(poll)
		}
		looked = false
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil
			}
			return ctx.Err()
		case <-s.drain:
			return nil
		case <-keepalives:
			if err := keepalive(); err != nil {
				return err
			}
			looked = true
		case <-news:
			poll = pollFirst
		case <-timer.C:
			poll = min(poll*3/2, pollLast)
		}
	}
}
