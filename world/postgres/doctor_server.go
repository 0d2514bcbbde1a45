package postgres

// The examination of the schema and of the server.

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var (
	doctorSettings   = load("doctor_settings")
	doctorIndexes    = load("doctor_indexes")
	doctorTables     = load("doctor_tables")
	doctorSnapshots  = load("doctor_snapshots")
	doctorWraparound = load("doctor_wraparound")
)

// What is too old, or too many.
const (
	oldTransaction = 5 * time.Minute
	badTransaction = time.Hour
	oldFreeze      = 1_000_000_000
	manyDead       = 50_000 // in a table where there are more dead rows than ones that live
)

func (x *examination) schema(ctx context.Context) (world.Finding, error) {
	version, err := (&migrator{&x.w.database}).version(ctx, x.w.pool)
	if err != nil {
		return world.Finding{}, x.w.failedRead(err)
	}
	all := Migrations(x.w.opt.Schema)
	switch f := fmt.Sprintf("%q has version %d, this release has %d", x.w.opt.Schema, version, len(all)); {
	case version < len(all):
		return bad("run `stepwell migrate`", "%s", f), nil
	case version > len(all):
		return warning("it works; upgrade the remaining programs", "%s", f), nil
	default:
		return good("%q has version %d", x.w.opt.Schema, version), nil
	}
}

// The indexes of schema.sql have names, or are the primary key of a table.
var (
	ourIndexes = regexp.MustCompile(`(?m)^CREATE (?:UNIQUE )?INDEX (\w+)`)
	ourTables  = regexp.MustCompile(`(?ms)^CREATE TABLE [^ ]*\.(\w+) \((.*?)^\)`)
	primaryKey = regexp.MustCompile(`(?m)\bPRIMARY KEY\b`)
)

func wantIndexes() (names []string) {
	for _, m := range Migrations("") {
		for _, f := range ourIndexes.FindAllStringSubmatch(m.SQL, -1) {
			names = append(names, f[1])
		}
		for _, f := range ourTables.FindAllStringSubmatch(m.SQL, -1) {
			if primaryKey.MatchString(f[2]) {
				names = append(names, f[1]+"_pkey")
			}
		}
	}
	return names
}

func (x *examination) indexes(ctx context.Context) (world.Finding, error) {
	there := make(map[string]bool)
	if err := x.w.read(ctx, doctorIndexes, func(row pgx.Rows) error {
		var name string
		var valid bool
		err := row.Scan(&name, &valid)
		there[name] = valid
		return err
	}, x.w.opt.Schema); err != nil {
		return world.Finding{}, err
	}
	want := wantIndexes()
	var missing []string
	for _, name := range want {
		if valid, ok := there[name]; !ok {
			missing = append(missing, name+" is missing")
		} else if !valid {
			missing = append(missing, name+" is not valid")
		}
	}
	if len(missing) > 0 {
		return bad("create them as world/postgres/schema.sql in the repository does", "%s", strings.Join(missing, ", ")), nil
	}
	return good("all %d exist", len(want)), nil
}

// settings reads what doctor_settings tells.
func (x *examination) settings(ctx context.Context) (map[string]string, error) {
	set := make(map[string]string)
	err := x.w.read(ctx, doctorSettings, func(row pgx.Rows) error {
		var name, value string
		err := row.Scan(&name, &value)
		set[name] = value
		return err
	})
	return set, err
}

func (x *examination) server(ctx context.Context) (world.Finding, error) {
	set, err := x.settings(ctx)
	if err != nil {
		return world.Finding{}, err
	}
	for _, name := range []string{"fsync", "full_page_writes"} {
		if set[name] == "off" {
			return bad("turn it on: a crash of the machine destroys the database", "%s is off", name), nil
		}
	}
	switch {
	case set["autovacuum"] == "off":
		return bad("turn it on: tables grow without bound", "autovacuum is off"), nil
	case set["synchronous_commit"] == "off":
		return bad("turn it on for this role: a crash of the server loses commits that were acknowledged, and steps run again", "synchronous_commit is off"), nil
	}
	pooler := ""
	if x.w.pooled {
		pooler = ", behind a pooler: no notifications, and a worker's death is seen when its lease ends"
	}
	return good("PostgreSQL %s%s", set["server_version"], pooler), nil
}

func (x *examination) connections(ctx context.Context) (world.Finding, error) {
	set, err := x.settings(ctx)
	if err != nil {
		return world.Finding{}, err
	}
	used, _ := strconv.Atoi(set["connections"])
	most, _ := strconv.Atoi(set["max_connections"])
	if used*10 > most*9 {
		return bad("raise max_connections, lower Options.Conns, or put a pooler in between", "%d of %d", used, most), nil
	}
	return good("%d of %d", used, most), nil
}

func (x *examination) snapshots(ctx context.Context) (f world.Finding, err error) {
	f = good("none that holds anything")
	err = x.w.read(ctx, doctorSnapshots, func(row pgx.Rows) error {
		var kind, who string
		var since *time.Time
		var rows *int64
		if err := row.Scan(&kind, &who, &since, &rows); err != nil {
			return err
		}
		const advice = "dead rows stay until it ends, and taking work slows down: end it with pg_terminate_backend, ROLLBACK PREPARED or pg_drop_replication_slot"
		switch age := x.age(since); {
		case age > badTransaction:
			f = bad(advice, "%s %s, for %s", kind, who, x.ago(since))
		case age > oldTransaction, since == nil && rows != nil && *rows > 1_000_000:
			f = warning(advice, "%s %s, for %s", kind, who, x.ago(since))
		default:
			f = good("%s %s, for %s", kind, who, x.ago(since))
		}
		return nil
	})
	return f, err
}

func (x *examination) age(t *time.Time) time.Duration {
	if t == nil {
		return 0
	}
	return x.now.Sub(*t)
}

func (x *examination) deadRows(ctx context.Context) (world.Finding, error) {
	var total, size int64
	var worst, off []string
	err := x.w.read(ctx, doctorTables, func(row pgx.Rows) error {
		var name string
		var live, dead, bytes int64
		var vacuumed bool
		var last *time.Time
		if err := row.Scan(&name, &live, &dead, &bytes, &vacuumed, &last); err != nil {
			return err
		}
		total, size = total+dead, size+bytes
		if dead > manyDead && dead > live {
			worst = append(worst, fmt.Sprintf("%s: %d dead, %d live, %d MiB", name, dead, live, bytes>>20))
		}
		if !vacuumed {
			off = append(off, name)
		}
		return nil
	}, x.w.opt.Schema)
	slices.Sort(worst)
	switch {
	case err != nil:
		return world.Finding{}, err
	case len(off) > 0:
		return bad("ALTER TABLE … RESET (autovacuum_enabled)", "autovacuum is off for %s", strings.Join(off, ", ")), nil
	case len(worst) > 0:
		return warning("look at the oldest transaction; then VACUUM these tables, and give autovacuum more workers or a higher cost limit", "%s", strings.Join(worst, "; ")), nil
	}
	return good("%d, in %d MiB of tables and indexes", total, size>>20), nil
}

func (x *examination) wraparound(ctx context.Context) (f world.Finding, err error) {
	err = x.w.read(ctx, doctorWraparound, func(row pgx.Rows) error {
		var age int64
		if err := row.Scan(&age); err != nil {
			return err
		}
		if f = good("last one %d transactions ago", age); age > oldFreeze {
			f = bad("at 2 billion the server refuses writes: VACUUM FREEZE, and look at what keeps autovacuum from it", "last one %d transactions ago", age)
		}
		return nil
	})
	return f, err
}
