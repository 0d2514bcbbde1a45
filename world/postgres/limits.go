package postgres

// Limits: which runs wait for a place. Commits of strangers must not wait for each other, so none of them changes what
// a key holds: a birth, a release and an end insert news, and who looks for work admits by it; see admission.go.

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	insertPlaced = load("insert_placed")
	taskInLine   = load("task_in_line")

	insertPlacedTasks = load("insert_placed_tasks")

	restPlaces    = load("rest_places")
	leavePlaces   = load("leave_places")
	parkRuns      = load("park_runs")
	knowLimit     = load("know_limit")
	listLimits    = load("list_limits")
	setLimit      = load("set_limit")
	sayLimit      = load("say_limit")
	renewLimit    = load("renew_limit")
	retimeKeys    = load("retime_keys")
	listLimitKeys = load("list_limit_keys")
	listHolders   = load("list_holders")
	inLine        = load("in_line")

	limitWeights    = load("limit_weights")
	sayLimitWeights = load("say_limit_weights")
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
	known map[string]world.Scope // of the limits that are there; guarded by mu
}

func (l *limits) init(db *database, t *telling) { l.database, l.telling = db, t }

// used reports whether it is known that there are limits.
func (l *limits) used() bool { return l.any.Load() }

// use notes that there are.
func (l *limits) use() { l.any.Store(true) }

// learn makes the limits that the runs and tasks of a commit need be there. It needs a connection of the pool.
func (l *limits) learn(ctx context.Context, c *world.Commit) error {
	if err := l.learnAll(ctx, c); err != nil {
		return err
	}
	for _, b := range c.Births {
		if err := l.learnAll(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func (l *limits) learnAll(ctx context.Context, c *world.Commit) error {
	if c.Birth() {
		if err := l.learnPlaces(ctx, c.Run, c.Events[0].Birth.Places, false); err != nil {
			return err
		}
	}
	for i := range c.Tasks {
		if err := l.learnPlaces(ctx, c.Run, c.Tasks[i].Places, true); err != nil {
			return err
		}
	}
	return nil
}

func (l *limits) learnPlaces(ctx context.Context, run string, places []world.Place, steps bool) error {
	for _, p := range places {
		l.any.Store(true)
		l.mu.Lock()
		scope, known := l.known[p.Limit]
		l.mu.Unlock()
		if !known {
			var err error
			if scope, err = l.know(ctx, &p, steps); err != nil {
				return fmt.Errorf("run %s: %w", run, err)
			}
		}
		if err := world.CheckScope(p.Limit, p.Scope(), scope); err != nil {
			return fmt.Errorf("run %s: %w", run, err)
		}
	}
	return nil
}

// know makes a limit be there, in a transaction of its own: who makes the same waits no longer than that. It tells what
// is kept of its scope, which never changes.
func (l *limits) know(ctx context.Context, p *world.Place, steps bool) (world.Scope, error) {
	said := world.SaidBy([]world.Place{*p})
	said[0].Steps = steps
	if err := l.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := l.in(tx).exec(ctx, knowLimit, knownArgs(&said[0])...)
		return err
	}); err != nil {
		return 0, fmt.Errorf("limit %s: %w", p.Limit, err)
	}
	kept, err := l.list(ctx, &p.Limit)
	if err != nil || len(kept) == 0 {
		return p.Scope(), err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = make(map[string]world.Scope)
	}
	l.known[p.Limit] = kept[0].Scope()
	return kept[0].Scope(), nil
}

func knownArgs(l *world.SaidLimit) []any {
	return []any{l.Name, l.Number, l.UntilEnd, int64(l.Per), l.Burst, l.Refuse, l.Runs(), l.Steps, l.Messages}
}

// scanLimit reads a row of list_limits.
func scanLimit(row scanner) (l world.Limit, err error) {
	var per int64
	err = row.Scan(&l.Name, &l.Said, &l.Set, &l.UntilEnd, &per, &l.Burst, &l.Refuse, &l.Runs, &l.Steps, &l.Messages)
	l.Per = time.Duration(per)
	return l, err
}

// sayLimits notes what definitions say of limits, in order of their names. All are refused where one says another scope
// than what is kept.
func sayLimits(ctx context.Context, db *database, said []world.SaidLimit) error {
	if len(said) == 0 {
		return nil
	}
	return db.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		in := db.in(tx)
		for i := range said {
			one := &said[i]
			if _, err := in.exec(ctx, knowLimit, knownArgs(one)...); err != nil {
				return err
			}
			kept, err := keptLimit(ctx, in, one.Name)
			if err == nil {
				err = world.CheckScope(one.Name, one.Scope(), kept.Scope())
			}
			if err != nil {
				return err
			}
			n, err := in.exec(ctx, sayLimit, one.Name, one.Number, int64(one.Per), one.Burst, one.Runs(), one.Steps, one.Messages)
			if err != nil {
				return err
			}
			weighed, err := weigh(ctx, in, one)
			if err != nil {
				return err
			}
			if n == 0 && !weighed {
				continue
			}
			if _, err := in.exec(ctx, holdLimiting); err != nil {
				return err
			}
			if err := renew(ctx, in, &kept); err != nil {
				return err
			}
		}
		return nil
	})
}

// weigh notes what code says of the weights of keys, where that is not what is kept.
func weigh(ctx context.Context, tx txn, said *world.SaidLimit) (changed bool, err error) {
	kept := make(map[string]int)
	from, to := said.Name+"/", said.Name+"0" // 0 follows /
	if err := tx.each(ctx, limitWeights, func(row scanner) error {
		_, key, weight, err := scanWeight(row)
		kept[key] = weight
		return err
	}, &from, &to); err != nil || maps.Equal(kept, said.Weights) {
		return false, err
	}
	keys, weights := make([]string, 0, len(said.Weights)), make([]int16, 0, len(said.Weights))
	for _, key := range slices.Sorted(maps.Keys(said.Weights)) { // so that no two who say wait for each other
		keys, weights = append(keys, from+clean(key)), append(weights, int16(said.Weights[key]))
	}
	_, err = tx.exec(ctx, sayLimitWeights, from, to, keys, weights)
	return true, err
}

// scanWeight reads a row of limit_weights.
func scanWeight(row scanner) (limit, key string, weight int, err error) {
	err = row.Scan(&key, &weight)
	limit, key, _ = strings.Cut(key, "/")
	return limit, key, weight, err
}

// joins notes what a worker says that joins. One whose steps are under limits asks for news of them.
func (l *limits) joins(ctx context.Context, wk *world.Worker) error {
	if err := sayLimits(ctx, l.database, wk.Says()); err != nil {
		return fmt.Errorf("worker %s: join: %w", wk.ID, err)
	}
	if len(wk.StepLimits) > 0 {
		l.any.Store(true)
	}
	return nil
}

// keptLimit is a limit as it is kept. The error is [world.ErrNotFound] where it is not there.
func keptLimit(ctx context.Context, tx txn, name string) (kept world.Limit, err error) {
	found := false
	err = tx.each(ctx, listLimits, func(row scanner) (err error) {
		found = true
		kept, err = scanLimit(row)
		return err
	}, name)
	if err == nil && !found {
		err = world.NoLimit(name)
	}
	return kept, err
}

// renew has the keys of a limit looked at that was changed since: those of a rate have the turns of the new one. Nobody
// admits meanwhile, and who has decided by the old one decides again, by [holdLimiting].
func renew(ctx context.Context, tx txn, was *world.Limit) error {
	is, err := keptLimit(ctx, tx, was.Name)
	if err != nil {
		return err
	}
	from, to := was.Name+"/", was.Name+"0" // 0 follows /
	if t, changed := rules.Retime(rules.LimitRate(was), rules.LimitRate(&is), 0); changed {
		if _, err := tx.exec(ctx, retimeKeys, from, to, -t.Was, -t.Is, t.Most, t.Share); err != nil {
			return err
		}
	}
	_, err = tx.exec(ctx, renewLimit, from, to)
	return err
}

// limitRows are those of a sheet: births that need places, runs that give back what they do not keep, and all; and
// births that are singletons.
type limitRows struct {
	placed       []placedRow
	rested, over []int64
	singles      []singleRow
	tasks        []taskRow // that need places
}

func (l *limitRows) add(o *limitRows) {
	l.placed, l.rested, l.over = append(l.placed, o.placed...), append(l.rested, o.rested...), append(l.over, o.over...)
	l.singles, l.tasks = append(l.singles, o.singles...), append(l.tasks, o.tasks...)
}

func (l *limitRows) clear() {
	l.placed, l.rested, l.over, l.singles, l.tasks = l.placed[:0], l.rested[:0], l.over[:0], l.singles[:0], l.tasks[:0]
}

// placedRow is the queue row of a run that is created and needs places.
type placedRow struct {
	queueRow
	created time.Time
	places  string // an array
	keeps   int16
	rates   int16 // how many of the last are of rates
}

// lining are those places for which runs stand in line: a rate that refuses is paid at the start.
func lining(places []world.Place) []world.Place {
	return slices.DeleteFunc(slices.Clone(places), func(p world.Place) bool { return p.Refuse })
}

func placedRowOf(q queueRow, created time.Time, places []world.Place) placedRow {
	p := placedRow{queueRow: q, created: created}
	places = lining(places)
	p.places, p.rates, p.keeps = placesText(places)
	return p
}

// placesText is how places are written: their keys, and how many of them are of rates, and are kept.
func placesText(places []world.Place) (text string, rates, keeps int16) {
	for i := range places {
		if places[i].UntilEnd {
			keeps++
		}
		if places[i].Per > 0 {
			rates++
		}
	}
	return arrayText(places, func(l world.Place) string { return quoted(clean(keyText(&l))) }), rates, keeps
}

func placedTaskArgs(rows []taskRow) []any {
	return []any{
		column(rows, func(r *taskRow) int64 { return r.run }), column(rows, func(r *taskRow) string { return r.step }),
		column(rows, func(r *taskRow) string { return r.name }), column(rows, func(r *taskRow) string { return r.workflow }),
		column(rows, func(r *taskRow) []byte { return r.input }), column(rows, func(r *taskRow) []byte { return r.options }),
		column(rows, func(r *taskRow) int16 { return r.priority }), column(rows, func(r *taskRow) *time.Time { return r.visible }),
		column(rows, func(r *taskRow) int32 { return r.sum }), column(rows, func(r *taskRow) string { return r.places }),
		column(rows, func(r *taskRow) int16 { return r.rates }),
	}
}

// keyText is how a key of a limit is kept. Names of limits have no slash.
func keyText(p *world.Place) string { return p.Limit + "/" + p.Key }

func placedArgs(rows []placedRow) []any {
	return []any{
		column(rows, func(r *placedRow) int64 { return r.run }), column(rows, func(r *placedRow) int32 { return r.class }),
		column(rows, func(r *placedRow) bool { return r.running }), column(rows, func(r *placedRow) int16 { return r.priority }),
		column(rows, func(r *placedRow) *time.Time { return r.wake }), column(rows, func(r *placedRow) bool { return r.paused }),
		column(rows, func(r *placedRow) string { return r.places }), column(rows, func(r *placedRow) int16 { return r.keeps }),
		column(rows, func(r *placedRow) time.Time { return r.created }), column(rows, func(r *placedRow) string { return r.workflow }),
		column(rows, func(r *placedRow) int16 { return r.rates }),
	}
}

// Limits returns the store of limits; see [world.World].
func (w *World) Limits() world.Limiter { return &w.limits }

// ListLimits tells of all limits; see [world.Limiter].
func (l *limits) ListLimits(ctx context.Context) ([]world.Limit, error) { return l.list(ctx, nil) }

// list tells of all, or of one, without its weights.
func (l *limits) list(ctx context.Context, name *string) (all []world.Limit, err error) {
	if name != nil && !storable([]any{*name}) {
		return nil, nil // there is none
	}
	err = l.read(ctx, listLimits, func(row pgx.Rows) error {
		one, err := scanLimit(row)
		if err != nil {
			return err
		}
		all = append(all, one)
		return nil
	}, name)
	if err != nil || name != nil {
		return all, err
	}
	weights := make(map[string]map[string]int)
	err = l.read(ctx, limitWeights, func(row pgx.Rows) error {
		limit, key, weight, err := scanWeight(row)
		if weights[limit] == nil {
			weights[limit] = make(map[string]int)
		}
		weights[limit][key] = weight
		return err
	}, nil, nil)
	for i := range all {
		all[i].Weights = weights[all[i].Name]
	}
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
		if _, err := in.exec(ctx, holdLimiting); err != nil {
			return err
		}
		was, err := keptLimit(ctx, in, name)
		if err != nil {
			return err
		}
		if _, err := in.exec(ctx, setLimit, name, number); err != nil {
			return err
		}
		return renew(ctx, in, &was)
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
		var turn int64
		now, rate := l.now(), rules.LimitRate(&known[0])
		var oldest *time.Time
		if err := row.Scan(&k.Key, &k.Used, &k.Waiting, &oldest, &turn, &k.Weight); err != nil {
			return err
		}
		if oldest != nil {
			k.Oldest = oldest.UTC()
		}
		if at := rate.At(turn, now, k.Used); at.After(now) {
			k.Next = at
		}
		_, k.Key, _ = strings.Cut(k.Key, "/")
		all = append(all, k)
		return nil
	}, from, limit+"0", most, world.MostCounted)
	return all, err
}

// ListHolders tells what holds places of a key; see [world.Limiter].
func (l *limits) ListHolders(ctx context.Context, limit, key string, most int) (all []world.LimitHolder, err error) {
	if known, err := l.list(ctx, &limit); err != nil || len(known) == 0 {
		return nil, cmp.Or(err, world.NoLimit(limit))
	}
	if !storable([]any{key}) {
		return nil, nil
	}
	err = l.read(ctx, listHolders, func(row pgx.Rows) error {
		var run, step, name *string
		var message *int64
		var sent *time.Time
		if err := row.Scan(&run, &step, &name, &message, &sent); err != nil {
			return err
		}
		h := world.LimitHolder{Run: textOf(run), Step: textOf(step), Name: textOf(name)}
		if message != nil && sent != nil {
			h.Message = world.MessageID(*sent, *message)
		}
		all = append(all, h)
		return nil
	}, limit+"/"+key, most)
	return all, err
}

// InLine tells where a run stands, or a task of it; see [world.Limiter].
func (l *limits) InLine(ctx context.Context, run, step string) (in *world.InLine, err error) {
	found, of, args := false, inLine, []any{run, world.MostCounted}
	if step != "" {
		of, args = taskInLine, append(args, step)
	}
	if !storable([]any{step}) {
		return nil, nil
	}
	err = l.read(ctx, of, func(row pgx.Rows) error {
		var key *string
		var untilEnd *bool
		var at world.InLine
		var per, turn int64
		var used int
		if err := row.Scan(&key, &untilEnd, &at.Number, &per, &at.Burst, &turn, &at.Before, &used); err != nil {
			return err
		}
		if found = true; key != nil {
			at.Limit, at.Key, _ = strings.Cut(*key, "/")
			at.UntilEnd, at.Per = untilEnd != nil && *untilEnd, time.Duration(per)
			rate := rules.RateOf(&at.Place)
			at.At = rate.At(turn, l.now(), at.Before+used)
			in = &at
		}
		return nil
	}, args...)
	if err == nil && !found {
		err = fmt.Errorf("run %s: %w", run, world.ErrNotFound)
	}
	return in, err
}
