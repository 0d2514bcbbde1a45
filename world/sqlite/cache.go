package sqlite

import (
	"time"

	"github.com/stepwell/stepwell/world"
)

// maxCached is how many runs the writer remembers; more than are being worked on at once.
const maxCached = 50_000

// run is what the writer knows of a run. It is right as long as no other connection writes and no transaction is given up.
type run struct {
	id        string
	key       int64
	boxed     any // the key, as statements take it: made once
	created   time.Time
	retention time.Duration
	workflow  string
	sealed    string // ID of the key that its payloads are encrypted with
	last      int64  // number of the last event; -1: not read yet

	live     bool // it is not over; what follows is of its queue row
	class    int64
	running  bool
	priority int64
	owner    int64
	take     int64
	paused   bool
	blocked  bool
	mailed   bool // mail_us is set
	cancel   bool
	full     bool // its owner said so when it released it
	wake     time.Time

	damage  string   // what of its row is not what was written
	counted standing // what the totals have it as

	payloads int  // payloads that wait in the inbox; -1: not counted yet
	unread   int  // and those in the log, as its owner said last
	stale    bool // all but unread is to be read anew
	// What may hang on it: false only where it was born here and has had none.
	mail, tasks, hooks, awaited, awaits bool
}

type cache struct {
	runs    map[string]*run
	classes map[world.Class]int64
	names   map[int64]world.Class
	lastRun int64 // the last key of a run; 0: not read yet
}

// clear forgets all.
func (c *cache) clear() {
	c.runs = make(map[string]*run)
	c.classes, c.names, c.lastRun = nil, nil, 0
}

// reread forgets a run but for what its owner said, which no file knows.
func (c *cache) reread(id string) {
	if r := c.runs[id]; r == nil || r.unread == 0 {
		delete(c.runs, id)
	} else {
		c.add(&run{id: id, unread: r.unread, stale: true})
	}
}

// spoil has all read anew.
func (c *cache) spoil() {
	for id := range c.runs {
		c.reread(id)
	}
	c.lastRun, c.classes, c.names = 0, nil, nil
}

// shrink forgets runs where there are too many. It is called between groups alone: within one, all must see the same *run.
func (c *cache) shrink() {
	if len(c.runs) > maxCached {
		c.runs = make(map[string]*run)
	}
}

func (c *cache) add(r *run) { c.runs[r.id] = r }

var (
	runByID     = load("run_by_id")
	lastRow     = load("last_row")
	listClasses = load("list_classes")
	insertClass = load("insert_class")
	lastKeys    = load("last_keys")
	lastClass   = load("last_class")
)

// run returns what is known of a run, nil where there is none.
func (g *group) run(id string) (*run, error) {
	known, unread := g.wr.cache.runs[id], 0
	if known != nil {
		if !known.stale {
			return known, nil
		}
		unread = known.unread
	}
	r := &run{id: id, last: -1, payloads: -1, unread: unread, mail: true, tasks: true, hooks: true, awaited: true, awaits: true}
	found, err := g.c.one(runByID, func(row row) error {
		r.key, r.created, r.workflow, r.retention = row.int(0), row.time(1), row.text(2), time.Duration(row.int(3))
		r.sealed = row.text(16)
		r.damage = birthDamage(row, r)
		if r.live = !row.null(4); r.live {
			r.class, r.running, r.priority, r.owner = row.int(4), row.bool(5), row.int(6), row.int(7)
			r.take, r.paused, r.mailed, r.cancel = row.int(8), row.bool(9), !row.null(10), row.bool(11)
			r.wake, r.blocked, r.full = row.time(12), row.bool(13), row.bool(15)
			r.counted = r.standing()
		} else {
			r.take = row.int(14)
		}
		return nil
	}, id)
	if err != nil || !found {
		return nil, err
	}
	g.wr.cache.add(r)
	return r, nil
}

// birthDamage says what is wrong with what a row of run_by_id has of a birth.
func birthDamage(row row, r *run) string {
	kept := world.Run{ID: r.id, Workflow: r.workflow, Priority: int(row.int(17)), CreatedAt: r.created, Retention: r.retention, Queue: &world.QueueRow{}}
	if !row.null(18) {
		kept.Parent = &world.Parent{Run: row.text(18), Step: row.text(19), Detached: row.bool(20)}
	}
	kept.CheckRow(r.sealed, row.text(21), "", row.sum(22), world.Sum{})
	return kept.Damage
}

// seq returns the number of the run's last event.
func (g *group) seq(r *run) (int64, error) {
	if r.last >= 0 {
		return r.last, nil
	}
	var last int64
	if _, err := g.c.one(lastRow, func(row row) error { last = row.int(0) + row.int(1) - 1; return nil }, r.key); err != nil {
		return 0, err
	}
	r.last = last
	return last, nil
}

// lastUsable is below all keys that damage makes and nobody gave.
const lastUsable = 1 << 62

// nextRun is the key of a run that is born: beyond all that any table has. The row of a run may be lost, and what hung on it is no other's.
func (g *group) nextRun() (int64, error) {
	last := &g.wr.cache.lastRun
	if *last == 0 {
		if _, err := g.c.one(lastKeys, func(row row) error { *last = row.int(0); return nil }); err != nil {
			return 0, err
		}
	}
	*last++
	return *last, nil
}

// class returns the key of a class, new ones too.
func (g *group) class(c world.Class) (int64, error) {
	if err := g.loadClasses(); err != nil {
		return 0, err
	}
	if key, ok := g.wr.cache.classes[c]; ok {
		return key, nil
	}
	if g.wr.lastClass == 0 {
		if _, err := g.c.one(lastClass, func(row row) error { g.wr.lastClass = row.int(0); return nil }); err != nil {
			return 0, err
		}
	}
	key := g.wr.lastClass + 1
	if err := g.exec(insertClass, key, c.Workflow, int64(c.Version)); err != nil {
		return 0, err
	}
	g.wr.lastClass = key
	g.wr.cache.classes[c], g.wr.cache.names[key] = key, c
	return key, nil
}

// className returns the class that has a key.
func (g *group) className(key int64) (world.Class, error) {
	err := g.loadClasses()
	return g.wr.cache.names[key], err
}

func (g *group) loadClasses() error {
	if g.wr.cache.classes != nil {
		return nil
	}
	classes, names := make(map[world.Class]int64), make(map[int64]world.Class)
	err := g.c.query(listClasses, func(row row) (bool, error) {
		c := world.Class{Workflow: row.text(1), Version: int(row.int(2))}
		classes[c], names[row.int(0)] = row.int(0), c
		if key := row.int(0); g.wr.lastClass > 0 && key > g.wr.lastClass && key < lastUsable { // another process's
			g.wr.lastClass = key
		}
		return true, nil
	})
	if err == nil {
		g.wr.cache.classes, g.wr.cache.names = classes, names
	}
	return err
}
