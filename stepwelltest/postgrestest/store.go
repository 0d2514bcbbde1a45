// Package postgrestest lets the test kit, package stepwelltest, keep its runs in a PostgreSQL database.
package postgrestest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
)

// Store keeps the runs of a test in a schema of their own of the database that a URL names, postgres://user@host/db,
// without a pooler in between: for [stepwelltest.Options]. The schema is made for the test, stepwell_test_ and letters,
// and dropped with it; nothing else of the database is touched, so tests and applications may share one. The user
// needs the right to create schemas.
//
// The test's clock is virtual on a real server, too: a second schema beside the first, of the same name and _clock,
// has functions clock_timestamp and now that tell the test's time, and the connections of the test find these before
// PostgreSQL's own. Sleeps are over as soon as the test says so. [stepwelltest.Env.CrashEverywhere] has a second
// schema, which it empties for each death.
func Store(dsn string) stepwelltest.Store {
	var mu sync.Mutex
	var free, all []*place
	return func(t testing.TB) (stepwelltest.Place, error) {
		mu.Lock()
		defer mu.Unlock()
		if len(all) == 0 {
			t.Cleanup(func() {
				mu.Lock()
				defer mu.Unlock()
				for _, p := range all {
					if err := p.drop(); err != nil {
						t.Error(err)
					}
				}
				free, all = nil, nil
			})
		}
		if len(free) == 0 {
			p := &place{dsn: dsn, schema: "stepwell_test_" + strings.ToLower(rand.Text())[:16]}
			if err := p.create(t.Context()); err != nil {
				return stepwelltest.Place{}, fmt.Errorf("stepwelltest on PostgreSQL: make schema %s: %w", p.schema, err)
			}
			free, all = append(free, p), append(all, p)
		}
		p := free[0]
		free = free[1:]
		return stepwelltest.Place{Open: p.open, SetTime: p.setTime, Remove: func() error {
			mu.Lock()
			defer mu.Unlock()
			free = append(free, p)
			return p.empty()
		}}, nil
	}
}

// place is a schema with its clock.
type place struct {
	dsn, schema string
	clock       *pgx.Conn // sets it; one call at a time
	now         atomic.Pointer[time.Time]
}

func (p *place) create(ctx context.Context) (err error) {
	if u, err := url.Parse(p.dsn); err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return fmt.Errorf("%w: want a URL like postgres://user@host/db", world.ErrInvalid)
	}
	if p.clock, err = pgx.Connect(ctx, p.dsn); err != nil {
		return err
	}
	_, err = p.clock.Exec(ctx, strings.ReplaceAll(`begin;
create schema {schema};
create schema {schema}_clock;
create table {schema}_clock.time (at timestamptz not null);
insert into {schema}_clock.time values ('2000-01-01T00:00:00Z');
create function {schema}_clock.clock_timestamp() returns timestamptz language sql as 'select at from {schema}_clock.time';
create function {schema}_clock.now() returns timestamptz language sql stable as 'select at from {schema}_clock.time';
commit`, "{schema}", p.schema), pgx.QueryExecModeSimpleProtocol)
	return err
}

func (p *place) open() (world.World, error) {
	u, err := url.Parse(p.dsn)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	q.Set("search_path", p.schema+"_clock,pg_catalog")
	u.RawQuery = q.Encode()
	return postgres.Open(context.Background(), u.String(), postgres.Options{
		Schema: p.schema, Conns: 4, NoNotify: true, Now: func() time.Time { return *p.now.Load() },
	})
}

// setTime is the time for the database and for this process: that of the test, without a monotonic reading.
func (p *place) setTime(ctx context.Context, now time.Time) error {
	now = now.Round(0).UTC().Truncate(time.Microsecond)
	_, err := p.clock.Exec(ctx, "update "+p.schema+"_clock.time set at = $1", now)
	if err == nil {
		p.now.Store(&now)
	}
	return err
}

// empty makes the schema as new, which takes less than to make one. The row of spreading is there from the beginning:
// without it nobody spreads what is published.
func (p *place) empty() error {
	_, err := p.clock.Exec(context.Background(), strings.ReplaceAll(`do $$
declare name text;
begin
	for name in select tablename from pg_tables where schemaname = '{schema}' and tablename not in ('versions', 'spreading') loop
		execute format('delete from {schema}.%I', name);
	end loop;
	update {schema}.spreading set revision = 1, cut = null;
end $$`, "{schema}", p.schema), pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return fmt.Errorf("empty schema %s: %w", p.schema, err)
	}
	return nil
}

// drop removes both schemas.
func (p *place) drop() error {
	ctx := context.Background()
	_, err := p.clock.Exec(ctx, fmt.Sprintf("drop schema %[1]s, %[1]s_clock cascade", p.schema), pgx.QueryExecModeSimpleProtocol)
	if closed := p.clock.Close(ctx); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("drop schema %s: %w", p.schema, err)
	}
	return nil
}
