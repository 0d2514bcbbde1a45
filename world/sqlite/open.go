// Package sqlite is the default store: one SQLite file in WAL mode. Every commit is synced to disk.
//
// One process at a time may run workers on a file. Any number of other processes may read it, start
// runs and send. Commits that arrive during a transaction share the next one: see [World.Commit].
// The file must be on a local file system.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// Options configure a store. The zero value suits applications.
type Options struct {
	BusyTimeout    time.Duration // how long to wait for another process's lock; default 10 s
	CheckpointSize int64         // bytes of write-ahead log that start a checkpoint; default 8 MiB
	InboxLimit     int           // unread payloads of a run, at most; default 10,000
	// KeepDeliveries is how long a delivery ID is known at least; default 24 h. See
	// [world.Delivery.Key].
	KeepDeliveries time.Duration
	Readers        int // connections for reading; default 4
	// MaxPages: pages of 4 KiB in the file, at most, to test a full disk; default: no limit.
	MaxPages int
	Now      func() time.Time // the clock, for tests; default a [world.Clock] on the system's

	vfs       string                             // of tests: the file system below SQLite
	openLog   func(path string) (logFile, error) // and where the log is mended
	allocate  func(f *os.File, size int64) error // and what gives the reserve its room
	pageCache int                                // of a connection, in KiB; 0: a writer's
}

func (o *Options) defaults() error {
	if o.BusyTimeout < 0 || o.CheckpointSize < 0 || o.InboxLimit < 0 || o.KeepDeliveries < 0 || o.Readers < 0 || o.MaxPages < 0 {
		return fmt.Errorf("%w: an option is negative", world.ErrInvalid)
	}
	set(&o.BusyTimeout, 10*time.Second)
	set(&o.CheckpointSize, 8<<20)
	set(&o.InboxLimit, 10_000)
	set(&o.KeepDeliveries, world.KeepDeliveries)
	set(&o.Readers, 4)
	if o.openLog == nil {
		o.openLog = openLog
	}
	if o.allocate == nil {
		o.allocate = allocate
	}
	return nil
}

func set[T comparable](v *T, to T) {
	if *v == *new(T) {
		*v = to
	}
}

// World is a store in a SQLite file. It is safe for concurrent use.
type World struct {
	path string // without symbolic links
	opt  Options
	dsn  string

	requests chan *request // capacity maxGroup; closed by Close, drained by the writer
	spare    sync.Pool     // of requests that nobody uses
	gate     sync.RWMutex  // held for reading while a request is sent, so that Close can close the channel
	closed   bool          // under gate
	writing  sync.WaitGroup
	readers  chan *conn // free connections; capacity Options.Readers, all of them are in it when nobody reads
	writer   *writer    // of the writer goroutine alone

	crew     crew
	standing rules.Standing // subscriptions
	neglect  rules.Neglect  // of steps
	lonely   rules.Neglect  // of classes

	lock *workerLock // of the worker process; nil before the first Join; of the writer goroutine
	bell *listener   // nil while no worker is here; of the writer goroutine
	ear  ear

	files     files
	listeners world.Listeners
	reports   reports
	counters  counters
}

type counters struct {
	commits, groups, claims, deliveries, appends, rowsRead, rowsWritten, rowsTrimmed, statements atomic.Int64
}

var _ world.World = (*World)(nil)

// Abilities returns what the store can do besides [world.World].
func (w *World) Abilities() world.Abilities {
	return world.Abilities{Timekeeper: w, Reporter: w, Doctor: w, Mender: w}
}

// Open opens a file, which it creates if it does not exist. Call Close at the end.
func Open(path string, options ...Options) (*World, error) {
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	if err := world.MayOpen(); err != nil {
		return nil, fmt.Errorf("sqlite %s: %w", path, err)
	}
	if err := o.defaults(); err != nil {
		return nil, fmt.Errorf("sqlite %s: %w", path, err)
	}
	if err := checkPath(path); err != nil {
		return nil, err
	}
	path, err := resolve(path)
	if err != nil {
		return nil, fmt.Errorf("%w: database %s: %w", world.ErrStorage, path, err)
	}
	if err := checkLog(path); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	create(path)
	w := &World{
		path: path, opt: o, dsn: dsn(path, &o),
		spare:    sync.Pool{New: newRequest},
		requests: make(chan *request, maxGroup),
		readers:  make(chan *conn, o.Readers),
		ear:      ear{quit: make(chan struct{})},
	}
	w.crew.init(o.Now, w.harken, w.hush)
	w.files.begin(path, func(why error) { w.complain("the database is gone", "err", why) })
	c, err := w.connect()
	if err != nil {
		return nil, err
	}
	if err := migrate(c, steps); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, classify(path, err)), c.close())
	}
	if err := errors.Join(c.keepLog(true), w.files.connected()); err != nil {
		return nil, errors.Join(err, c.close())
	}
	w.writer = newWriter(w, c)
	for range o.Readers {
		w.readers <- nil // connected at first use
	}
	w.writing.Go(func() {
		w.writer.loop()
		w.writer.finish()
	})
	return w, nil
}

// PathOf returns the path in a URL like sqlite:runs.db or sqlite:///var/lib/runs.db.
func PathOf(rawURL string) (string, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "sqlite" || u.Host != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%w: %q is not like sqlite:PATH", world.ErrInvalid, world.ShownURL(rawURL))
	}
	path := u.Opaque
	if path == "" {
		path = u.Path
	} else if path, err = url.PathUnescape(path); err != nil {
		return "", fmt.Errorf("%w: %q is not like sqlite:PATH", world.ErrInvalid, world.ShownURL(rawURL))
	}
	if path == "" {
		return "", fmt.Errorf("%w: %q names no file", world.ErrInvalid, world.ShownURL(rawURL))
	}
	return path, nil
}

// connect opens a connection in WAL mode.
func (w *World) connect() (*conn, error) {
	c, err := connect(context.Background(), w.dsn, &w.counters.statements)
	if err != nil {
		return nil, classify(w.path, err)
	}
	return c, nil
}

// connectImpatient opens a connection that waits for nobody.
func (w *World) connectImpatient() (*conn, error) {
	return w.connectLike(func(o *Options) { o.BusyTimeout = 0 })
}

// connectReader opens a connection for reading.
func (w *World) connectReader() (*conn, error) {
	return w.connectLike(func(o *Options) { o.pageCache = readerPages })
}

// connectLike opens a connection with other options, which leaves the log where it is when it is closed.
func (w *World) connectLike(change func(*Options)) (*conn, error) {
	o := w.opt
	change(&o)
	c, err := connect(context.Background(), dsn(w.path, &o), &w.counters.statements)
	if err != nil {
		return nil, classify(w.path, err)
	}
	if err := c.keepLog(true); err != nil {
		return nil, errors.Join(classify(w.path, err), c.close())
	}
	return c, nil
}

// Close waits for running commits and closes the file. Closing twice is harmless.
func (w *World) Close() error {
	w.gate.Lock()
	if w.closed {
		w.gate.Unlock()
		return nil
	}
	w.closed = true
	close(w.requests)
	w.gate.Unlock()
	w.ear.close()
	w.writing.Wait()
	var errs []error
	for range cap(w.readers) {
		if c := <-w.readers; c != nil {
			errs = append(errs, c.close())
		}
	}
	errs = append(errs, w.bell.close())
	if w.lock != nil {
		errs = append(errs, w.lock.release())
	}
	return errors.Join(append(errs, w.writer.close())...)
}

// Time returns the time of the store's clock; see [world.Timekeeper].
func (w *World) Time() time.Time { return w.crew.now() }

// read runs f with a connection for reading. f sees what was committed before.
func (w *World) read(ctx context.Context, f func(c *conn) error) error {
	w.gate.RLock()
	if w.closed {
		w.gate.RUnlock()
		return world.ErrClosed
	}
	var c *conn
	select {
	case c = <-w.readers:
		w.gate.RUnlock()
	case <-ctx.Done():
		w.gate.RUnlock()
		return context.Cause(ctx)
	}
	if err := ctx.Err(); err != nil {
		w.readers <- c
		return context.Cause(ctx)
	}
	if err := w.lookAtMain(); err != nil {
		w.readers <- c
		return err
	}
	var err error
	if c == nil {
		if c, err = w.connectReader(); err != nil {
			w.readers <- nil
			return err
		}
	}
	err = f(c)
	if resultCode(err) != 0 { // it may be the connection: the next reader gets a new one
		_ = c.close()
		c = nil
	}
	w.readers <- c
	return classify(w.path, err)
}

func (w *World) isClosed() bool {
	w.gate.RLock()
	defer w.gate.RUnlock()
	return w.closed
}
