package postgres

// Limits: which runs wait for a place. Commits of strangers must not wait for each other, so none of them changes what
// a key holds: a birth, a release and an end insert news, and who looks for work admits by it; see admission.go.

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var (
	insertPlaced  = load("insert_placed")
	restPlaces    = load("rest_places")
	leavePlaces   = load("leave_places")
	parkRuns      = load("park_runs")
	knowLimit     = load("know_limit")
	listLimits    = load("list_limits")
	setLimit      = load("set_limit")
	sayLimit      = load("say_limit")
	renewLimit    = load("renew_limit")
	listLimitKeys = load("list_limit_keys")
	inLine        = load("in_line")
)

// limits hold runs back that lack a place.
//
//   - What a key holds is in its row, and in the news of what was given back since. Who changes either row of a line or
//     what a key holds has locked the row in limiting.
//   - A run that stands in line is not ready, and its row of the queue says where it stands. A row of a line that says
//     otherwise is of nobody.
//   - As long as this World knows of no limit, its looks ask for news of them once a second.
type limits struct {
	*database
	telling *telling
	any     atomic.Bool // there are limits
	turn    sync.Mutex  // held by who admits: of this process one does

	mu    sync.Mutex
	known map[string]bool // the limits that are there, and whether they hold until the end; guarded by mu
}

func (l *limits) init(db *database, t *telling) { l.database, l.telling = db, t }

// used reports whether it is known that there are limits.
func (l *limits) used() bool { return l.any.Load() }

// learn makes the limits that the runs of a commit need be there. It needs a connection of the pool.
func (l *limits) learn(ctx context.Context, c *world.Commit) error {
	if c.Birth() {
		if err := l.learnAll(ctx, c); err != nil {
			return err
		}
	}
	for _, b := range c.Births {
		if err := l.learnAll(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func (l *limits) learnAll(ctx context.Context, birth *world.Commit) error {
	for _, p := range birth.Events[0].Birth.Places {
		l.any.Store(true)
		l.mu.Lock()
		untilEnd, known := l.known[p.Limit]
		l.mu.Unlock()
		if !known {
			var err error
			if untilEnd, err = l.know(ctx, &p); err != nil {
				return fmt.Errorf("run %s: %w", birth.Run, err)
			}
		}
		if err := world.CheckScope(p.Limit, p.UntilEnd, untilEnd); err != nil {
			return fmt.Errorf("run %s: %w", birth.Run, err)
		}
	}
	return nil
}

// know makes a limit be there, in a transaction of its own: who makes the same waits no longer than that. It tells what
// is kept of its scope, which never changes.
func (l *limits) know(ctx context.Context, p *world.Place) (untilEnd bool, err error) {
	if err := l.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := l.in(tx).exec(ctx, knowLimit, p.Limit, p.Number, p.UntilEnd)
		return err
	}); err != nil {
		return false, fmt.Errorf("limit %s: %w", p.Limit, err)
	}
	kept, err := l.list(ctx, &p.Limit)
	if err != nil || len(kept) == 0 {
		return p.UntilEnd, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = make(map[string]bool)
	}
	l.known[p.Limit] = kept[0].UntilEnd
	return kept[0].UntilEnd, nil
}

// sayLimits notes what definitions say of limits. All are refused where one says another scope than what is kept.
func sayLimits(ctx context.Context, db *database, all []world.Definition) error {
	said := world.LimitsOf(all)
	if len(said) == 0 {
		return nil
	}
	return db.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		in := db.in(tx)
		for i := range said {
			one := &said[i]
			if _, err := in.exec(ctx, knowLimit, one.Name, one.Number, one.UntilEnd); err != nil {
				return err
			}
			untilEnd := one.UntilEnd
			if err := in.each(ctx, listLimits, func(row scanner) error { return row.Scan(nil, nil, nil, &untilEnd) }, one.Name); err != nil {
				return err
			}
			if err := world.CheckScope(one.Name, one.UntilEnd, untilEnd); err != nil {
				return err
			}
			if n, err := in.exec(ctx, sayLimit, one.Name, one.Number); err != nil || n == 0 {
				if err != nil {
					return err
				}
				continue
			}
			if err := renew(ctx, in, one.Name); err != nil {
				return err
			}
		}
		return nil
	})
}

// renew has the keys of a limit looked at, whose number was changed. Who has decided by the old one decides again.
func renew(ctx context.Context, tx txn, limit string) error {
	if _, err := tx.exec(ctx, holdLimiting); err != nil {
		return err
	}
	_, err := tx.exec(ctx, renewLimit, limit+"/", limit+"0") // 0 follows /
	return err
}

// limitRows are those of a sheet: births that need places, runs that give back what they do not keep, and all.
type limitRows struct {
	placed       []placedRow
	rested, over []int64
}

func (l *limitRows) add(o *limitRows) {
	l.placed, l.rested, l.over = append(l.placed, o.placed...), append(l.rested, o.rested...), append(l.over, o.over...)
}

func (l *limitRows) clear() { l.placed, l.rested, l.over = l.placed[:0], l.rested[:0], l.over[:0] }

// placedRow is the queue row of a run that is created and needs places.
type placedRow struct {
	queueRow
	created time.Time
	places  string // an array
	keeps   int16
}

func placedRowOf(q queueRow, created time.Time, places []world.Place) placedRow {
	p := placedRow{queueRow: q, created: created}
	p.places = arrayText(places, func(l world.Place) string { return quoted(clean(keyText(&l))) })
	for i := range places {
		if places[i].UntilEnd {
			p.keeps++
		}
	}
	return p
}

// keyText is how a key of a limit is kept. Names of limits have no slash.
func keyText(p *world.Place) string { return p.Limit + "/" + p.Key }

func placedArgs(rows []placedRow) []any {
	return []any{
		column(rows, func(r *placedRow) int64 { return r.run }), column(rows, func(r *placedRow) int32 { return r.class }),
		column(rows, func(r *placedRow) bool { return r.running }), column(rows, func(r *placedRow) int16 { return r.priority }),
		column(rows, func(r *placedRow) *time.Time { return r.wake }), column(rows, func(r *placedRow) bool { return r.paused }),
		column(rows, func(r *placedRow) string { return r.places }), column(rows, func(r *placedRow) int16 { return r.keeps }),
		column(rows, func(r *placedRow) time.Time { return r.created }),
	}
}

var _ world.LimitKeeper = (*World)(nil)

// Limits are the database's; see [world.LimitKeeper].
func (w *World) Limits() world.Limiter { return &w.limits }

// ListLimits tells of all limits; see [world.Limiter].
func (l *limits) ListLimits(ctx context.Context) ([]world.Limit, error) { return l.list(ctx, nil) }

// list tells of all, or of one.
func (l *limits) list(ctx context.Context, name *string) (all []world.Limit, err error) {
	err = l.read(ctx, listLimits, func(row pgx.Rows) error {
		var one world.Limit
		if err := row.Scan(&one.Name, &one.Said, &one.Set, &one.UntilEnd); err != nil {
			return err
		}
		all = append(all, one)
		return nil
	}, name)
	return all, err
}

// SetLimit changes a number; see [world.Limiter].
func (l *limits) SetLimit(ctx context.Context, name string, number *int) error {
	if number != nil {
		if err := world.CheckLimit(name, *number); err != nil {
			return err
		}
	}
	if !storable([]any{name}) {
		return world.NoLimit(name)
	}
	if err := l.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		in := l.in(tx)
		if n, err := in.exec(ctx, setLimit, name, number); err != nil {
			return err
		} else if n == 0 {
			return world.NoLimit(name)
		}
		return renew(ctx, in, name)
	}); err != nil {
		return err
	}
	l.telling.tell(world.Notice{Kind: world.NoticeWork})
	return nil
}

// ListLimitKeys tells of keys; see [world.Limiter].
func (l *limits) ListLimitKeys(ctx context.Context, limit, behind string, most int) (all []world.LimitKey, err error) {
	known, err := l.list(ctx, &limit)
	if err != nil {
		return nil, err
	}
	if len(known) == 0 {
		return nil, world.NoLimit(limit)
	}
	from := limit + "/"
	if behind != "" { // else the key without a text is among them
		from += behind + "\x01" // the first text behind it
	}
	err = l.read(ctx, listLimitKeys, func(row pgx.Rows) error {
		var k world.LimitKey
		if err := row.Scan(&k.Key, &k.Used, &k.Waiting); err != nil {
			return err
		}
		_, k.Key, _ = strings.Cut(k.Key, "/")
		all = append(all, k)
		return nil
	}, from, limit+"0", most, world.MostCounted)
	return all, err
}

// InLine tells where a run stands; see [world.Limiter].
func (l *limits) InLine(ctx context.Context, run string) (in *world.InLine, err error) {
	found := false
	err = l.read(ctx, inLine, func(row pgx.Rows) error {
		var key *string
		var untilEnd *bool
		var at world.InLine
		if err := row.Scan(&key, &untilEnd, &at.Number, &at.Before); err != nil {
			return err
		}
		if found = true; key != nil {
			at.Limit, at.Key, _ = strings.Cut(*key, "/")
			at.UntilEnd = untilEnd != nil && *untilEnd
			in = &at
		}
		return nil
	}, run, world.MostCounted)
	if err == nil && !found {
		err = fmt.Errorf("run %s: %w", run, world.ErrNotFound)
	}
	return in, err
}
