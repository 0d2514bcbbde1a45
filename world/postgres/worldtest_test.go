package postgres

import (
	"flag"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/worldtest"
)

var oneShare = flag.Int("world.one", 12, "try one in so many of the suite's checks in TestWorldWithOneConnection")

var publishedShare = flag.Int("world.published", 12, "try one in so many of the suite's checks in TestWorldPublished")

var worldShare = flag.Int("world.share", 3, "try one in so many of the suite's checks in TestWorld")

func TestWorld(t *testing.T) {
	worldtest.RunSome(t, func(t testing.TB) world.World { return open(t) }, sample.Share(t, *worldShare))
}

// Of a World with one connection in its pool, which remembers no class, as one that has just been opened for each call: a
// transaction that asks the pool for another connection would wait for itself.
func TestWorldWithOneConnection(t *testing.T) {
	worldtest.RunSome(t, func(t testing.TB) world.World {
		w := open(t, Options{Conns: 1, Writers: 1})
		w.classes.forgetful = true
		return w
	}, sample.Share(t, *oneShare))
}

// With a publication of all tables, as logical replication and change data capture have it.
func TestWorldPublished(t *testing.T) {
	worldtest.RunSome(t, func(t testing.TB) world.World {
		u := pgtest.URL(t)
		execute(t, pgtest.Shared(t).AdminURL(u), "CREATE PUBLICATION everything FOR ALL TABLES")
		return openAt(t, u)
	}, sample.Share(t, *publishedShare))
}

// Two Worlds of one database share it as two processes do.
func TestWorldShared(t *testing.T) {
	worldtest.RunSharedSome(t, func(t testing.TB) (a, b world.World) {
		url := pgtest.URL(t)
		return openAt(t, url), openAt(t, url)
	}, sample.Share(t, 3))
}

// Through a pooler in transaction mode, as the managed services put in front: sessions are not ours.
func TestWorldThroughPooler(t *testing.T) {
	b := pgtest.Pooler(t, pgtest.Shared(t))
	worldtest.RunOver(t, func(t testing.TB) world.World {
		w := openAt(t, b.URL(pgtest.URL(t)))
		if !w.pooled {
			t.Error("the pooler was not seen")
		}
		return w
	}, sample.Share(t, 12))
}

func TestForgetting(t *testing.T) {
	worldtest.RunForgetting(t, func(t testing.TB) world.World { return open(t, Options{KeepDeliveries: time.Microsecond}) })
}
