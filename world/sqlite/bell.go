package sqlite

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/world"
)

// The bell is a file beside the database. A process that writes and is not the worker process appends a byte before it
// takes the lock and after it has committed. The worker process looks at the file's size, which costs a system call and
// no SQL; when it has grown, it tells its listeners that there is news, and leaves the lock free for a moment: SQLite's
// lock is not fair, and a worker that writes group after group would keep others out for long. When its last worker has
// left it stops looking. A process without a worker has an ear, if it wants to hear of changes: a server waits for what is
// published, sent or due.
//
// A byte that is lost delays others a little and loses nothing.

const (
	bellBusy  = 2 * time.Millisecond   // between looks, soon after it rang
	bellIdle  = 15 * time.Millisecond  // and later
	bellCalm  = time.Second            // what is later
	bellQuiet = 125 * time.Millisecond // between looks, when nothing rang for long
	bellLong  = 2 * time.Minute        // what is long
	bellEar   = 500 * time.Millisecond // between looks of a process without a worker
	bellPause = 2 * time.Millisecond   // for which the lock is left free
	bellMost  = 1 << 20                // bytes, more are cut by the next worker process
)

// news is what listeners are told when the bell has rung: anything may have changed.
var news = []world.Notice{{Kind: world.NoticeWork}, {Kind: world.NoticeMail}, {Kind: world.NoticeTopic}, {Kind: world.NoticeSchedule}}

// betweenLooks is the time until the next look, when nothing rang for so long.
func betweenLooks(quiet time.Duration) time.Duration {
	switch {
	case quiet < bellCalm:
		return bellBusy
	case quiet < bellLong:
		return bellIdle
	}
	return bellQuiet
}

// ear listens to the bell, calmly, for a process that has no worker. A look is a system call.
//
//   - It listens from the first time on that somebody wants to be told, until the World is closed.
type ear struct {
	once sync.Once
	quit chan struct{}
	done sync.WaitGroup
}

func (e *ear) listen(w *World) {
	w.gate.RLock()
	defer w.gate.RUnlock()
	if !w.closed {
		e.once.Do(func() { e.done.Go(func() { e.hear(w) }) })
	}
}

func (e *ear) hear(w *World) {
	path := bellPath(w.path)
	length := func() int64 {
		if info, err := os.Stat(path); err == nil {
			return info.Size()
		}
		return 0
	}
	tick := time.NewTicker(bellEar)
	defer tick.Stop()
	for last := length(); ; {
		select {
		case <-e.quit:
			return
		case <-tick.C:
		}
		now := length()
		if now != last && !w.crew.watched() { // else its listener tells
			w.listeners.Tell(news)
		}
		last = now
	}
}

// close ends it. The World is closed: nobody asks any more.
func (e *ear) close() {
	close(e.quit)
	e.done.Wait()
}

func bellPath(path string) string { return path + "-bell" }

// ringer appends to the bell. It belongs to the writer goroutine.
type ringer struct {
	path string
	f    *os.File // nil until it rang first
}

func (r *ringer) ring() {
	if r.f == nil {
		f, err := os.OpenFile(r.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return
		}
		r.f = f
	}
	_, _ = r.f.Write([]byte{'.'})
}

func (r *ringer) close() error {
	if r.f == nil {
		return nil
	}
	return r.f.Close()
}

// listener watches the bell for the worker process, and beside it what else somebody must look at all the time: whether the files are still those that were opened,
// and whether the process itself stands still.
type listener struct {
	w    *World
	f    *os.File    // nil where it cannot be opened: others are seen by polling
	rang atomic.Bool // since the writer looked last
	quit chan struct{}
	done sync.WaitGroup
}

// listen starts to watch.
func listen(w *World) *listener {
	f, err := os.OpenFile(bellPath(w.path), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		f = nil
	} else if info, err := f.Stat(); err == nil && info.Size() > bellMost {
		_ = f.Truncate(0)
	}
	l := &listener{w: w, f: f, quit: make(chan struct{})}
	w.crew.watch(true)
	l.done.Go(l.watch)
	return l
}

func (l *listener) watch() {
	defer l.w.crew.watch(false)
	size, last, looked := l.size(), time.Now(), time.Now()
	timer := time.NewTimer(bellBusy)
	defer timer.Stop()
	for lost := false; ; {
		select {
		case <-l.quit:
			return
		case <-timer.C:
		}
		now := time.Now()
		l.w.crew.tick()
		if now.Sub(looked) >= lookEvery && !lost {
			looked = now
			if err := l.w.lookAtAll(); err != nil { // workers hear of it with their next heartbeat: they send it now
				lost = true
				l.w.listeners.Tell(news)
			}
		}
		if now := l.size(); now != size {
			size, last = now, time.Now()
			l.rang.Store(true)
			l.w.listeners.Tell(news)
		}
		timer.Reset(betweenLooks(time.Since(last)))
	}
}

func (l *listener) size() int64 {
	if l.f == nil {
		return 0
	}
	info, err := l.f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// heard reports, once, that it rang.
func (l *listener) heard() bool { return l != nil && l.rang.Load() && l.rang.Swap(false) }

func (l *listener) close() error {
	if l == nil {
		return nil
	}
	close(l.quit)
	l.done.Wait()
	if l.f == nil {
		return nil
	}
	return l.f.Close()
}

// hush ends the watch, as no worker is here any more; the next Join begins it again. It is called on the writer's goroutine.
func (w *World) hush() {
	_ = w.bell.close() // it was only looked at
	w.bell = nil
}
