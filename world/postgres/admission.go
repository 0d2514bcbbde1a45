package postgres

// Who looks for work and finds news of limits admits before it takes. It reads in one statement, decides by the rules
// that other stores use, and writes in one batch, that is refused where somebody else has admitted meanwhile. So nobody
// holds a lock while it thinks, and a process that is stopped stops nobody.

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

const (
	mostLimitKeys = 128  // whose news a look reads
	mostLimitNews = 32   // of each, where there are as many
	mostAdmitted  = 1000 // of a key at once
)

var (
	makeLimiting  = load("make_limiting")
	lookLimits    = load("look_limits")
	lockLimiting  = load("lock_limiting")
	deleteNews    = load("delete_limit_news")
	joinLine      = load("join_line")
	leaveLine     = load("leave_line")
	admitRuns     = load("admit_runs")
	lookAgain     = load("look_again")
	dropLimitKeys = load("drop_limit_keys")
	wakeKeys      = load("wake_keys")
)

// follow has runs that a look found, and that lack places, stand in line, and admits where there is news. It reports
// whether another look may find more.
func (l *limits) follow(ctx context.Context, look *looked) (changed bool, err error) {
	var park []int64
	look.runs = slices.DeleteFunc(look.runs, func(c candidate) bool {
		if c.lacks && !c.due.After(look.now) {
			park = append(park, c.key)
		}
		return c.lacks && !c.due.After(look.now)
	})
	wake := !look.rates.IsZero() && !look.rates.After(look.now)
	if len(park) > 0 || wake {
		l.any.Store(true)
		slices.Sort(park)
		if err := l.batch(ctx, func(q *pgx.Batch) {
			q.Queue(l.sql(setClaiming), true)
			if len(park) > 0 {
				q.Queue(l.sql(parkRuns), park)
			}
			if wake {
				q.Queue(l.sql(wakeKeys))
			}
		}); err != nil {
			return false, err
		}
	}
	if !look.limits && len(park) == 0 && !wake {
		return false, nil
	}
	l.any.Store(true)
	return true, l.admit(ctx)
}

// admit admits by one page of news.
func (l *limits) admit(ctx context.Context) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	a := &admission{keys: make(map[string]*lineUp)}
	if err := l.read(ctx, lookLimits, a.scan, mostLimitKeys, mostLimitNews, mostAdmitted, int64(rules.RateSlack)); err != nil {
		return err
	}
	if !a.found {
		return l.begin(ctx)
	}
	if len(a.order) == 0 && a.behind == "" {
		return nil
	}
	if err := a.decide(); err != nil {
		return err
	}
	var ready []world.Notice
	err := l.batch(ctx, func(q *pgx.Batch) { ready = nil; a.write(l.database, q, &ready) })
	if sqlState(err) == codeDivision { // somebody else has admitted
		return nil
	}
	if err != nil {
		return err
	}
	l.telling.tell(ready...)
	return nil
}

// begin makes the row that who admits locks, where it was lost.
func (l *limits) begin(ctx context.Context) error {
	return l.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := l.in(tx).exec(ctx, makeLimiting)
		return err
	})
}

// admission is one admission: what was read, and what was decided.
type admission struct {
	found    bool // the row in limiting
	revision int64
	behind   string // the key behind which the look began
	order    []string
	keys     map[string]*lineUp

	read     []newsRow
	join     []spot
	leave    []spot
	admitted []spot
	again    []string // keys of whose line more is to be looked at
}

type newsRow struct {
	key  string
	kind int16
	id   int64
}

// spot is where a run stands in a line.
type spot struct {
	key     string
	urgency int16
	place   time.Time
	run     int64
}

func (s *spot) compare(o *spot) int {
	return cmp.Or(cmp.Compare(s.urgency, o.urgency), s.place.Compare(o.place), cmp.Compare(s.run, o.run))
}

// lined is a run that stands in line.
type lined struct {
	spot
	rules.Placed
	begun bool
	came  bool // it is not in the line yet
}

// lineUp is a key as an admission sees it, as [rules.Lines] of it alone: what other keys have is looked at by itself.
type lineUp struct {
	room     int
	rate     *rated // nil: it is of none
	freed    int
	read     int  // rows of the line
	gone     bool // some of them are of nobody
	line     []*lined
	byRun    map[int64]*lined
	admitted []spot
}

// scan reads a row of look_limits.
func (a *admission) scan(row pgx.Rows) error {
	var what, kind int16
	var key string
	var number int64
	var urgency *int16
	var place *time.Time
	var run *int64
	var needs *int32
	var keeps, has *int16
	var running *bool
	var pace rateRow
	if err := row.Scan(&what, &key, &number, &kind, &urgency, &place, &run, &needs, &keeps, &has, &running,
		&pace.per, &pace.burst, &pace.turn, &pace.late, &pace.used, &pace.now); err != nil {
		return err
	}
	if what == 0 {
		a.found, a.revision, a.behind = true, number, key
		return nil
	}
	k := a.keys[key]
	if k == nil {
		k = &lineUp{byRun: make(map[int64]*lined)}
		a.keys[key] = k
		a.order = append(a.order, key)
	}
	if what == 1 {
		k.room += int(number)
		k.rate = pace.rated(number)
		return nil
	}
	if what == 2 {
		a.read = append(a.read, newsRow{key, kind, number})
		if kind == 0 {
			k.room++
			k.freed++
		}
	} else {
		k.read++
	}
	if urgency == nil || place == nil || run == nil {
		return nil
	}
	at := spot{key, *urgency, place.UTC(), *run}
	if needs == nil || keeps == nil || has == nil || running == nil { // it does not stand there any more
		if what == 3 {
			a.leave = append(a.leave, at)
			k.gone = true
		}
		return nil
	}
	r := &lined{spot: at, begun: *running, came: what == 2}
	r.Keeps, r.Has, r.Parked = int(*keeps), int(*has), true
	r.Keys = make([]int64, *needs)               // rules compare no keys
	if before := k.byRun[r.run]; before != nil { // it is in the line, and has come: both say the same
		before.came = before.came && r.came
		return nil
	}
	k.byRun[r.run] = r
	k.line = append(k.line, r)
	return nil
}

// here is the key that an admission is about, for package rules.
const here = -1

// decide chooses who is admitted.
func (a *admission) decide() error {
	for _, key := range a.order {
		k := a.keys[key]
		if k.rate != nil {
			k.rate.pay(k.freed)
			k.room = k.rate.room()
		}
		slices.SortFunc(k.line, func(x, y *lined) int { return x.compare(&y.spot) })
		if err := rules.Admit[*lined](k, here); err != nil {
			return err
		}
		a.admitted = append(a.admitted, k.admitted...)
		for _, r := range k.line {
			if r.came {
				a.join = append(a.join, r.spot)
			}
		}
		if k.room > 0 && k.read > 0 { // of those that were read some have left, or there is more than is read at once
			a.again = append(a.again, key)
		}
		if k.rate != nil {
			k.rate.settle(len(k.admitted), len(k.line) > 0 || k.gone)
		}
	}
	return nil
}

// Placed is for package rules, as are those that follow.
func (k *lineUp) Placed(r *lined) *rules.Placed { return &r.Placed }

// Begun reports whether a run has.
func (k *lineUp) Begun(r *lined) bool { return r.begun }

// Room is how many places are free. Of another key none is, as far as is known: a run goes to its line.
func (k *lineUp) Room(key int64) (int, error) {
	if key != here {
		return 0, nil
	}
	return k.room, nil
}

// Hold changes how many places are held.
func (k *lineUp) Hold(_ int64, by int) error {
	k.room -= by
	return nil
}

// Pay has nothing to do: who has begun is news.
func (k *lineUp) Pay(int64) error { return nil }

// Again has nothing to do: when a key is looked at again is written with what else of it.
func (k *lineUp) Again(int64) error { return nil }

// Join has a run go to another line: that it has come there is news.
func (k *lineUp) Join(int64, *lined, bool) error { return nil }

// Leave takes out who is first.
func (k *lineUp) Leave(int64, *lined) error {
	k.line = k.line[1:]
	return nil
}

// First is who is first in line.
func (k *lineUp) First(int64) (*lined, bool, error) {
	if len(k.line) == 0 {
		return nil, false, nil
	}
	return k.line[0], true, nil
}

// Moved notes who has got a place.
func (k *lineUp) Moved(r *lined) error {
	k.admitted = append(k.admitted, r.spot)
	return nil
}

// write adds the statements that carry it out. ready gets the news of what is ready then.
func (a *admission) write(db *database, q *pgx.Batch, ready *[]world.Notice) {
	next := ""
	if len(a.order) >= mostLimitKeys {
		next = slices.Max(a.order)
	}
	q.Queue(db.sql(setClaiming), true)
	q.Queue(db.sql(lockLimiting), a.revision, next)
	if len(a.join) > 0 {
		q.Queue(db.sql(joinLine), lineArgs(a.join)...)
	}
	if len(a.leave) > 0 {
		q.Queue(db.sql(leaveLine), lineArgs(a.leave)...)
	}
	freed := make([]int32, len(a.order))
	for i, key := range a.order {
		freed[i] = int32(a.keys[key].freed)
	}
	q.Queue(db.sql(admitRuns), slices.Concat(lineArgs(a.admitted), []any{a.order, freed}, a.rateArgs())...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			is, message := world.Notice{Kind: world.NoticeWork}, false
			if err := rows.Scan(&is.Run, &message); err != nil {
				return err
			}
			if message {
				is.Kind = world.NoticeMessage
			}
			*ready = append(*ready, is)
		}
		return rows.Err()
	})
	// Behind the others: who is in news, and stands in no line, is kept. See schema.sql.
	if len(a.read) > 0 {
		q.Queue(db.sql(deleteNews), column(a.read, func(n *newsRow) string { return n.key }), column(a.read, func(n *newsRow) int16 { return n.kind }),
			column(a.read, func(n *newsRow) int64 { return n.id }))
	}
	if len(a.again) > 0 {
		q.Queue(db.sql(lookAgain), a.again)
	}
	q.Queue(db.sql(dropLimitKeys), a.order)
}

func lineArgs(rows []spot) []any {
	return []any{
		column(rows, func(s *spot) string { return s.key }), column(rows, func(s *spot) int16 { return s.urgency }),
		column(rows, func(s *spot) time.Time { return s.place }), column(rows, func(s *spot) int64 { return s.run }),
	}
}
