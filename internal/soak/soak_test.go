//go:build unix

package soak

// This file is the proof: the ledger under fire.

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
)

var (
	soakTime = flag.Duration("soak.time", 12*time.Second, "how long TestLedgerUnderFire does harm, at least")
	soakSeed = flag.Uint64("soak.seed", 0, "seed of its faults; 0: a new one")
	pooled   = flag.Bool("soak.pooler", false, "with pgbouncer in transaction mode between the proxy and the server")
)

// patience bounds what must happen when the fire is out. It is no measure of anything: machines are slow.
const patience = 3 * time.Minute

func TestLedgerUnderFire(t *testing.T) {
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("again: go test ./internal/soak -run TestLedgerUnderFire -soak.time=%s -soak.seed=%d", *soakTime, seed)
	ctx, stop := context.WithTimeout(t.Context(), *soakTime+2*patience)
	defer stop()

	server := pgtest.New(t, pgtest.Config{}) // fsync as users have it
	direct := server.URL(t)
	unlike(t, server, direct)
	conn := openLedger(t, direct)
	behind := direct
	if *pooled {
		behind = pgtest.Pooler(t, server).URL(direct)
	}
	proxy := pgtest.NewProxy(t, behind)
	through := func(name string) string { return named(t, proxy.URL(direct), name) }
	dir := t.TempDir()
	crew := newCrew(t, dir, workers, through)

	client, err := openWorld(ctx, through("producer"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	app, err := stepwell.New(client, stepwell.Config{Name: "producer"})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.New(ctx, through("orders")+"&default_query_exec_mode=exec") // as a pooler wants it
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for place := range workers {
		if err := crew.hire(place); err != nil {
			t.Fatal(err)
		}
	}
	begin := time.Now()
	trail := &trail{begin: begin}
	p := &producer{app: app, pool: pool, rnd: rand.New(rand.NewPCG(seed, 1))}
	f := &fire{
		rnd: rand.New(rand.NewPCG(seed, 2)), crew: crew, server: server, proxy: proxy, log: trail.add,
		cuts: map[string][]time.Time{}, counts: map[string]int{},
	}
	enough := make(chan struct{})
	produced := make(chan struct{})
	go func() {
		defer close(produced)
		p.produce(ctx, enough)
	}()
	burnt := f.burn(ctx, *soakTime)
	close(enough)
	out := time.Now()
	quiet, cancel := context.WithTimeout(ctx, patience)
	select {
	case <-produced:
	case <-quiet.Done():
		t.Errorf("%s after the fire not all runs are over", patience)
		stop()
		<-produced
	}
	cancel()
	if burnt != nil {
		t.Errorf("the fire: %v", burnt)
	}
	for _, err := range p.faults {
		t.Error(err)
	}
	t.Logf("%d transfers in %s of fire, all over %s later; %d calls of the client were made again; faults %v, proxy %+v",
		len(p.orders), *soakTime, time.Since(out).Round(time.Millisecond), p.retries.Load(), f.counts, proxy.Counts())
	if t.Failed() {
		tellStuck(t, app, client, p)
	}
	if err := crew.dismiss(); err != nil {
		t.Error(err)
	}
	examine(t, &inquest{app: app, conn: reconnect(t, direct, conn)}, p, f, trail)
	f.enough(t)
	if n, err := server.Logged("deadlock detected"); n > 0 || err != nil {
		t.Errorf("the server found %d deadlocks, %v\n%s", n, err, server.Log())
	}
}

// unlike gives a database what others have of their own: a publication of all tables, and defaults that change bytes and texts.
func unlike(t *testing.T, server *pgtest.Cluster, database string) {
	t.Helper()
	conn := connect(t, server.AdminURL(database))
	for _, sql := range []string{
		"CREATE PUBLICATION everything FOR ALL TABLES",
		`DO $do$ BEGIN EXECUTE format('ALTER DATABASE %I SET client_encoding = LATIN1', current_database());
			EXECUTE format('ALTER DATABASE %I SET DateStyle = German, DMY', current_database()); END $do$`,
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	_ = conn.Close(t.Context()) // before a restart does
}

// openLedger makes the accounts.
func openLedger(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err == nil {
		_, err = conn.Exec(t.Context(), ledgerTables)
	}
	if err == nil {
		_, err = conn.Exec(t.Context(), "insert into ledger.accounts select i, $1 from generate_series(0, $2 - 1) i", openingBalance, accounts)
	}
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// reconnect returns a connection that no restart has cut.
func reconnect(t *testing.T, url string, old *pgx.Conn) *pgx.Conn {
	t.Helper()
	_ = old.Close(context.Background())
	return connect(t, url)
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// named is a URL whose connections say whose they are.
func named(t *testing.T, database, name string) string {
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("application_name", name)
	u.RawQuery = q.Encode()
	return u.String()
}

// examine looks at everything that is left.
func examine(t *testing.T, q *inquest, p *producer, f *fire, trail *trail) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	cuts := map[int][]time.Time{}
	for pid, name := range f.crew.names {
		cuts[pid] = f.cuts[name]
	}
	q.judge(ctx, t, f.crew, cuts, p.orders)
	q.empty(ctx, t)
	q.report(t, trail)
	t.Logf("%d bodies began; in two places, or after their end, by right of an ended lease: %v", q.starts, q.excused)
}

// empty holds that no table has what must be gone.
func (q *inquest) empty(ctx context.Context, t *testing.T) {
	t.Helper()
	if _, err := q.app.World().Sweep(ctx, 1000); err != nil { // mail that came after its run's end is the sweeper's
		t.Fatal(err)
	}
	left, err := leftovers(ctx, q.conn)
	if err != nil {
		t.Fatal(err)
	}
	for table, n := range left {
		if n > 0 {
			q.fault("all runs are over, and %s has %d rows", table, n)
		}
	}
}

// judge looks at all orders, by what the processes wrote down.
func (q *inquest) judge(ctx context.Context, t *testing.T, crew *crew, cuts map[int][]time.Time, orders []*order) {
	t.Helper()
	written, err := readNotes(crew.dir)
	if err != nil {
		t.Fatal(err)
	}
	q.ev, q.excused = gather(written, crew.deaths, cuts), map[verdict]int{}
	if err := q.look(ctx, orders); err != nil {
		t.Fatal(err)
	}
}

// report fails the test for what was found.
func (q *inquest) report(t *testing.T, trail *trail) {
	t.Helper()
	const most = 30
	for _, f := range q.faults[:min(len(q.faults), most)] {
		t.Error(f)
	}
	if n := len(q.faults); n > 0 {
		t.Errorf("%d faults (laws: docs/design/README.md); what was done:\n%s", n, trail)
	}
}

// enough holds the fire to having burnt: a test that did no harm would prove nothing.
func (f *fire) enough(t *testing.T) {
	t.Helper()
	if missing := f.missing(); len(missing) > 0 {
		t.Errorf("%v: not often enough for a proof: %v, %+v", missing, f.counts, f.proxy.Counts())
	}
}

// missing lists what has not burnt often enough.
func (f *fire) missing() (missing []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.proxy.Counts()
	for what, n := range map[string]int{
		"restart":    f.counts["restart"] - 1, // twice at least
		"kill -9":    f.counts["kill"] + f.counts["kill two"] + f.counts["kill all"],
		"stop":       f.counts["stop"] + f.counts["stop two"],
		"cut":        c.Cut,
		"cut before": c.Before,
		"cut after":  c.After,
		"cut blind":  c.Blind,
		"hold":       c.Held,
	} {
		if n < 1 {
			missing = append(missing, what)
		}
	}
	return missing
}

// tellStuck says why runs are not over.
func tellStuck(t *testing.T, app *stepwell.App, client *database, p *producer) {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	told := 0
	for _, o := range p.orders {
		if o.result != "" || told == 10 {
			continue
		}
		told++
		why, err := app.Why(ctx, o.run())
		t.Logf("%s: %v, %v\n%s", o.run(), why, err, story(o.events))
	}
	stats, err := client.Stats(ctx)
	t.Logf("%+v, %v", stats, err)
}

// trail is what was done when, for failures. It is safe for concurrent use.
type trail struct {
	begin time.Time
	mu    sync.Mutex
	text  []byte
}

func (tr *trail) add(format string, args ...any) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	now := time.Now()
	tr.text = fmt.Appendf(tr.text, "    %s (%7.3f s) ", now.UTC().Format(clockFormat), now.Sub(tr.begin).Seconds())
	tr.text = append(fmt.Appendf(tr.text, format, args...), '\n')
}

func (tr *trail) String() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return string(tr.text)
}
