package pgtest

// This file gives databases from one test to the next: to make and to drop one costs the server more than most tests do.

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
)

// emptied drops all schemas that a test has made in its database, and ends its connections. It fails where anything else is not as in a new one.
const emptied = `do $$
declare
	name text;
begin
	perform pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid();
	for name in select nspname from pg_namespace where nspname !~ '^pg_' and nspname not in ('information_schema', 'public') loop
		execute format('drop schema %I cascade', name);
	end loop;
	if exists (select from pg_class where oid >= 16384 and relnamespace <> 'pg_toast'::regnamespace) or exists (select from pg_proc where oid >= 16384)
		or exists (select from pg_type where oid >= 16384) or exists (select from pg_namespace where oid >= 16384 and nspname !~ '^pg_')
		or exists (select from pg_extension where oid >= 16384) or exists (select from pg_event_trigger) or exists (select from pg_publication)
		or exists (select from pg_largeobject_metadata) or exists (select from pg_default_acl) or exists (select from pg_prepared_xacts)
		or exists (select from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase where d.datname = current_database())
		or exists (select from pg_database where datname = current_database() and datacl is not null)
	then
		raise exception 'it is not as a new one';
	end if;
end $$`

// reused gives a database that another test is done with a name, and reports whether there is one.
func (c *Cluster) reused(ctx context.Context, name string) bool {
	c.mu.Lock()
	n := len(c.free) - 1
	if n < 0 {
		c.mu.Unlock()
		return false
	}
	old := c.free[n]
	c.free = c.free[:n]
	c.mu.Unlock()
	return c.exec(ctx, fmt.Sprintf("alter database %s rename to %s", old, name)) == nil
}

// release empties a database for the next test, or drops it where that cannot be.
func (c *Cluster) release(ctx context.Context, database string) error {
	u, err := url.Parse(database)
	if err != nil || c.owner == "" {
		return c.Drop(ctx, database)
	}
	name := strings.TrimPrefix(u.Path, "/")
	conn, err := pgx.Connect(ctx, c.AdminURL(database))
	if err == nil {
		_, err = conn.Exec(ctx, emptied, pgx.QueryExecModeSimpleProtocol)
		_ = conn.Close(ctx) // it may have been ended
	}
	free := databaseName("free")
	if err != nil || c.exec(ctx, fmt.Sprintf("alter database %s rename to %s", name, free)) != nil {
		return c.Drop(ctx, database)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, free)
	return nil
}
