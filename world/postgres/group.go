package postgres

// The statements of a transaction: what the commits in it write, table by table, in the one order that all transactions keep to.

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var (
	insertQueue    = load("insert_queue")
	lockQueue      = load("lock_queue")
	updateQueue    = load("update_queue")
	releaseQueue   = load("release_queue")
	deleteQueue    = load("delete_queue")
	insertLog      = load("insert_log")
	deleteMail     = load("delete_mail")
	deleteHeld     = load("delete_held")
	deleteTasks    = load("delete_tasks")
	deleteRunTasks = load("delete_run_tasks")
	insertTasks    = load("insert_tasks")
	deleteHooks    = load("delete_hooks")
	keepHooks      = load("keep_hooks")
	deleteRunHooks = load("delete_run_hooks")
	insertHooks    = load("insert_hooks")
	insertOver     = load("insert_over_hooks")
	insertAwaits   = load("insert_awaits")
	insertParents  = load("insert_parents")
	insertKnown    = load("insert_known")
	deleteWaiters  = load("delete_waiters")
	endRuns        = load("end_runs")
	freeKeys       = load("free_keys")
	deleteRunMail  = load("delete_run_mail")
	insertResults  = load("insert_results")
	deleteAwaits   = load("delete_awaits")
	insertSent     = load("insert_sent")
	insertTotals   = load("insert_totals")
	renewWorkers   = load("renew_workers")
	lockLanes      = load("lock_lanes")
	sendWith       = load("send_with")
)

// sheet is what is to be written: rows for each statement.
type sheet struct {
	births    []birthRow
	queued    []queueRow // of births
	locked    []lockRow
	updated   []queueRow
	released  []releaseRow
	limits    limitRows
	left      []int64 // runs that leave the queue
	log       []logRow
	mail      []mailRow
	held      []taskEndRow
	noTasks   []int64 // runs that lose all tasks
	dropped   []stepRow
	tasks     []taskRow
	disposed  []stepRow
	kept      []stepRow // runs in a new segment, with the JSON of the hooks that go on
	noHooks   []int64
	hooks     []hookRow
	overHooks []hookRow // created and over
	awaits    []awaitRow
	parents   []parentRow
	known     []knownRow // deliveries that births brought
	noAwaits  []int64    // runs that await nothing any more
	ended     []endRow
	attrs     []attrRow
	foundBy   []foundRow // what lists find runs by from now on
	lostBy    []foundRow // and no more
	segments  []segmentRow
	sent      []sentRow
	chunks    []chunkRow
	totals    []totalRow
	told      toldRows
	apart     []apartRow
	scheduled []scheduleRow
	lapses    []lapseRow
}

type queueRow struct {
	run             int64
	class           int32
	workflow        string
	running, paused bool
	priority        int16
	owner           *int64
	claim           int64
	wake            *time.Time

	// What its worker said as it gave the run up.
	blocked, waiting *string
	full             bool
	released         bool // of a birth: the worker gave the run up with it
}

type lockRow struct{ run, owner, claim int64 }

type releaseRow struct {
	queueRow
	id      []byte // of the commit; nil where it has events, which tell it from others
	resumed bool   // it is paused, and is to be claimed for a resumption that waits
	last    int64  // number of the last event
}

type logRow struct {
	run, seq int64
	n        int32
	head     string
	body     []byte
	sum      int32
}

type mailRow struct{ row, run int64 }

type taskEndRow struct {
	run, worker int64
	step        string
	attempt     int32
}

type stepRow struct {
	run  int64
	step string
}

type taskRow struct {
	run                  int64
	step, name, workflow string
	input, options       []byte
	priority             int16
	visible, first       *time.Time
	worker               *int64
	history              *string
	sum                  int32
	places               string // an array; "": it needs none
	rates                int16  // how many of the last are of rates
}

type hookRow struct {
	token, id string
	run       int64
	meta      []byte
	created   time.Time
}

type awaitRow struct {
	target, waiter int64
	step           string
}

type parentRow struct {
	child        int64
	parent, step string
}

// knownRow is a delivery that is known when it comes again.
type knownRow struct {
	run        int64
	key, print []byte
	sender     *string
	marked     *bool // nil: no

	workflow, idem *string // the idempotency key of a start that was merged; nil: it is none
}

func knownRowOf(run int64, d *world.Delivery) knownRow {
	key := d.Key()
	row := knownRow{run: run, key: key[:], print: d.Fingerprint(), sender: d.Keeper()}
	if yes := world.Marked(key); yes {
		row.marked = &yes
	}
	return row
}

type endRow struct {
	run, claims int64
	status      string
	version     int32
	output      []byte
	err         *string
	at          time.Time
	freesKey    bool
	placeholder string
	head        string // of what those who wait are told
	body        []byte
	sum         string // of that
	endSum      int32
	apart       *string // the value that its output refers to
}

type sentRow struct {
	run, token, delivery *string
	cancel, payload      bool
	plain                bool // it has a payload that is not encrypted
	act                  *string
	placeholder, head    string
	body                 []byte
	key, print           []byte // nil: it has no ID; fingerprint
	sum                  string
	sender               *string
}

type totalRow struct {
	workflow, status string
	n                int64
}

// add puts the rows of another sheet behind one's own.
func (s *sheet) add(o *sheet) {
	s.births = append(s.births, o.births...)
	s.queued = append(s.queued, o.queued...)
	s.locked = append(s.locked, o.locked...)
	s.updated = append(s.updated, o.updated...)
	s.released = append(s.released, o.released...)
	s.limits.add(&o.limits)
	s.left = append(s.left, o.left...)
	s.log = append(s.log, o.log...)
	s.mail = append(s.mail, o.mail...)
	s.held = append(s.held, o.held...)
	s.noTasks = append(s.noTasks, o.noTasks...)
	s.dropped = append(s.dropped, o.dropped...)
	s.tasks = append(s.tasks, o.tasks...)
	s.disposed = append(s.disposed, o.disposed...)
	s.kept = append(s.kept, o.kept...)
	s.noHooks = append(s.noHooks, o.noHooks...)
	s.overHooks = append(s.overHooks, o.overHooks...)
	s.hooks = append(s.hooks, o.hooks...)
	s.awaits = append(s.awaits, o.awaits...)
	s.parents = append(s.parents, o.parents...)
	s.known = append(s.known, o.known...)
	s.noAwaits = append(s.noAwaits, o.noAwaits...)
	s.ended = append(s.ended, o.ended...)
	s.attrs = append(s.attrs, o.attrs...)
	s.foundBy = append(s.foundBy, o.foundBy...)
	s.lostBy = append(s.lostBy, o.lostBy...)
	s.segments = append(s.segments, o.segments...)
	s.sent = append(s.sent, o.sent...)
	s.chunks = append(s.chunks, o.chunks...)
	s.totals = append(s.totals, o.totals...)
	s.told.add(&o.told)
	s.apart = append(s.apart, o.apart...)
	s.scheduled = append(s.scheduled, o.scheduled...)
	s.lapses = append(s.lapses, o.lapses...)
}

// clear empties the sheet, and keeps its room.
func (s *sheet) clear() {
	*s = sheet{
		births: s.births[:0], queued: s.queued[:0], locked: s.locked[:0], updated: s.updated[:0], released: s.released[:0], left: s.left[:0],
		log: s.log[:0], mail: s.mail[:0], held: s.held[:0], noTasks: s.noTasks[:0], dropped: s.dropped[:0], tasks: s.tasks[:0],
		disposed: s.disposed[:0], kept: s.kept[:0], noHooks: s.noHooks[:0], hooks: s.hooks[:0], overHooks: s.overHooks[:0], awaits: s.awaits[:0], parents: s.parents[:0], known: s.known[:0],
		noAwaits: s.noAwaits[:0], ended: s.ended[:0], attrs: s.attrs[:0], foundBy: s.foundBy[:0], lostBy: s.lostBy[:0], segments: s.segments[:0], sent: s.sent[:0], chunks: s.chunks[:0], totals: s.totals[:0], apart: s.apart[:0], told: s.told, scheduled: s.scheduled[:0], lapses: s.lapses[:0], limits: s.limits,
	}
	s.told.clear()
	s.limits.clear()
}

// column is one column of rows, as a statement takes it.
func column[R, V any](rows []R, of func(r *R) V) []V {
	out := make([]V, len(rows))
	for i := range rows {
		out[i] = of(&rows[i])
	}
	return out
}

// script is a list of statements that is being put together.
type script struct {
	db    *database
	items []item
	news  []world.Notice    // what the answers tell
	held  map[apartRow]bool // values that are held, by what the answers tell
	after func()            // to be called when all has its answer
}

type item struct {
	s    *statement
	args []any
	each func(row scanner) error // for each row of the answer; nil: it does not matter
}

// scanner is a row of an answer.
type scanner interface{ Scan(dest ...any) error }

// put adds a statement, unless it has nothing to do.
func (b *script) put(rows int, s *statement, args func() []any) {
	if rows > 0 {
		b.items = append(b.items, item{s: s, args: args()})
	}
}

// told adds a statement that returns runs that were sent something, and whether they are owned.
func (b *script) told(rows int, s *statement, args func() []any) {
	if rows == 0 {
		return
	}
	b.items = append(b.items, item{s: s, args: args(), each: func(row scanner) error {
		var n world.Notice
		var owned bool
		if err := row.Scan(&n.Run, &owned); err != nil {
			return err
		}
		if n.Kind = noticePost; owned {
			n.Kind = world.NoticeMail
		}
		b.news = append(b.news, n)
		return nil
	}})
}

// batch is the script as it is sent in one go.
func (b *script) batch() *pgx.Batch {
	out := &pgx.Batch{}
	for _, i := range b.items {
		q := out.Queue(b.db.sql(i.s), i.args...)
		if i.each != nil {
			q.Query(func(rows pgx.Rows) error {
				defer rows.Close()
				for rows.Next() {
					if err := i.each(rows); err != nil {
						return err
					}
				}
				return rows.Err()
			})
		}
	}
	return out
}

// write adds the statements for all that is on the sheet. The order: births, locks of queue rows in the order of runs, queue, log, the rest.
func (b *script) write(s *sheet) {
	b.begin(s)
	b.writeLog(s.log)
	b.writeApart(s.apart)
	b.put(len(s.mail), deleteMail, func() []any {
		return []any{column(s.mail, func(r *mailRow) int64 { return r.row }), column(s.mail, func(r *mailRow) int64 { return r.run })}
	})
	b.writeTasks(s)
	b.writeHooks(s)
	b.writeAwaits(s)
	b.writeAttributes(s)
	b.writeSegments(s.segments)
	b.writeSent(s.sent) // before results: who goes on by one has what was sent before it
	b.writeEnds(s)
	b.writeChunks(s.chunks, nil)
	b.writeTold(&s.told)
	b.put(len(s.totals), insertTotals, func() []any {
		return []any{
			column(s.totals, func(r *totalRow) string { return r.workflow }), column(s.totals, func(r *totalRow) string { return r.status }),
			column(s.totals, func(r *totalRow) int64 { return r.n }),
		}
	})
}

// statementBytes is what one statement brings to the log, about. No group has as much; the log that a run is created with may.
const statementBytes = 2 * maxGroupBytes

// writeLog adds the rows of the log.
func (b *script) writeLog(rows []logRow) {
	for len(rows) > 0 {
		n, bytes := 0, 0
		for ; n < len(rows) && bytes < statementBytes; n++ {
			bytes += len(rows[n].head) + len(rows[n].body)
		}
		some := rows[:n]
		rows = rows[n:]
		b.put(n, insertLog, func() []any {
			return []any{
				column(some, func(r *logRow) int64 { return r.run }), column(some, func(r *logRow) int64 { return r.seq }),
				column(some, func(r *logRow) int32 { return r.n }), int16(world.LogFormat),
				column(some, func(r *logRow) string { return r.head }), column(some, func(r *logRow) []byte { return r.body }),
				column(some, func(r *logRow) int32 { return r.sum }),
			}
		})
	}
}

// begin adds what comes before the log: births and the queue.
func (b *script) begin(s *sheet) {
	b.writeSchedules(s.scheduled) // before their runs: of two who start one, one waits here
	b.put(len(s.births), insertRuns, func() []any { return birthArgs(s.births) })
	b.put(len(s.queued), insertQueue, func() []any {
		rows := s.queued
		return []any{
			column(rows, (*queueRow).runOf), column(rows, (*queueRow).classOf), column(rows, (*queueRow).runningOf),
			column(rows, func(r *queueRow) int16 { return r.priority }), column(rows, func(r *queueRow) *int64 { return r.owner }),
			column(rows, func(r *queueRow) int64 { return r.claim }), column(rows, func(r *queueRow) *time.Time { return r.wake }),
			column(rows, (*queueRow).pausedOf), column(rows, func(r *queueRow) bool { return r.released }),
			column(rows, func(r *queueRow) *string { return r.blocked }), column(rows, func(r *queueRow) bool { return r.full }),
			column(rows, func(r *queueRow) *string { return r.waiting }), column(rows, func(r *queueRow) string { return r.workflow }),
		}
	})
	b.put(len(s.lapses), insertLapses, func() []any { return lapseArgs(s.lapses) })
	b.put(len(s.limits.placed), insertPlaced, func() []any { return placedArgs(s.limits.placed) })
	b.put(len(s.limits.singles), setSingles, func() []any { return singleArgs(s.limits.singles) })
	b.put(len(s.locked), lockQueue, func() []any {
		return []any{
			column(s.locked, func(r *lockRow) int64 { return r.run }), column(s.locked, func(r *lockRow) int64 { return r.owner }),
			column(s.locked, func(r *lockRow) int64 { return r.claim }),
		}
	})
	b.put(len(s.updated), updateQueue, func() []any {
		rows := s.updated
		return []any{column(rows, (*queueRow).runOf), column(rows, (*queueRow).classOf), column(rows, (*queueRow).runningOf), column(rows, (*queueRow).pausedOf)}
	})
	b.put(len(s.released), releaseQueue, func() []any {
		rows := s.released
		return []any{
			column(rows, func(r *releaseRow) int64 { return r.run }), column(rows, func(r *releaseRow) int32 { return r.class }),
			column(rows, func(r *releaseRow) bool { return r.running }), column(rows, func(r *releaseRow) bool { return r.paused }),
			column(rows, func(r *releaseRow) *time.Time { return r.wake }), column(rows, func(r *releaseRow) *string { return r.blocked }),
			column(rows, func(r *releaseRow) bool { return r.full }), column(rows, func(r *releaseRow) *string { return r.waiting }),
			column(rows, func(r *releaseRow) []byte { return r.id }), column(rows, func(r *releaseRow) bool { return r.resumed }),
			column(rows, func(r *releaseRow) int64 { return r.last }),
		}
	})
	b.put(len(s.limits.rested), restPlaces, func() []any { return []any{s.limits.rested} })
	b.put(len(s.limits.over), leavePlaces, func() []any { return []any{s.limits.over} })
	b.put(len(s.left), deleteQueue, func() []any { return []any{s.left} })
}

func (r *queueRow) runOf() int64    { return r.run }
func (r *queueRow) classOf() int32  { return r.class }
func (r *queueRow) runningOf() bool { return r.running }
func (r *queueRow) pausedOf() bool  { return r.paused }

func (b *script) writeTasks(s *sheet) {
	b.put(len(s.held), deleteHeld, func() []any {
		return []any{
			column(s.held, func(r *taskEndRow) int64 { return r.run }), column(s.held, func(r *taskEndRow) string { return r.step }),
			column(s.held, func(r *taskEndRow) int64 { return r.worker }), column(s.held, func(r *taskEndRow) int32 { return r.attempt }),
		}
	})
	b.put(len(s.noTasks), deleteRunTasks, func() []any { return []any{s.noTasks} })
	b.put(len(s.dropped), deleteTasks, func() []any { return stepArgs(s.dropped) })
	b.put(len(s.tasks), insertTasks, func() []any {
		rows := s.tasks
		return []any{
			column(rows, func(r *taskRow) int64 { return r.run }), column(rows, func(r *taskRow) string { return r.step }),
			column(rows, func(r *taskRow) string { return r.name }), column(rows, func(r *taskRow) string { return r.workflow }),
			column(rows, func(r *taskRow) []byte { return r.input }), column(rows, func(r *taskRow) []byte { return r.options }),
			column(rows, func(r *taskRow) int16 { return r.priority }), column(rows, func(r *taskRow) *time.Time { return r.visible }),
			column(rows, func(r *taskRow) *int64 { return r.worker }), column(rows, func(r *taskRow) *time.Time { return r.first }),
			column(rows, func(r *taskRow) *string { return r.history }),
			column(rows, func(r *taskRow) int32 { return r.sum }),
		}
	})
	b.put(len(s.limits.tasks), insertPlacedTasks, func() []any { return placedTaskArgs(s.limits.tasks) })
}

func stepArgs(rows []stepRow) []any {
	return []any{column(rows, func(r *stepRow) int64 { return r.run }), column(rows, func(r *stepRow) string { return r.step })}
}

func (b *script) writeHooks(s *sheet) {
	b.freeHooks(s)
	b.put(len(s.hooks), insertHooks, func() []any { return hookArgs(s.hooks) })
}

// freeHooks adds what ends hooks, and frees their tokens.
func (b *script) freeHooks(s *sheet) {
	b.put(len(s.disposed), deleteHooks, func() []any { return stepArgs(s.disposed) })
	b.put(len(s.kept), keepHooks, func() []any { return stepArgs(s.kept) })
	b.put(len(s.noHooks), deleteRunHooks, func() []any { return []any{s.noHooks} })
	b.put(len(s.overHooks), insertOver, func() []any { return hookArgs(s.overHooks) })
}

func hookArgs(rows []hookRow) []any {
	return []any{
		column(rows, func(r *hookRow) string { return r.token }), column(rows, func(r *hookRow) int64 { return r.run }),
		column(rows, func(r *hookRow) string { return r.id }), column(rows, func(r *hookRow) []byte { return r.meta }),
		column(rows, func(r *hookRow) time.Time { return r.created }),
	}
}

func (b *script) writeAwaits(s *sheet) {
	b.put(len(s.noAwaits), deleteWaiters, func() []any { return []any{s.noAwaits} })
	b.put(len(s.awaits), insertAwaits, func() []any {
		return []any{
			column(s.awaits, func(r *awaitRow) int64 { return r.target }), column(s.awaits, func(r *awaitRow) int64 { return r.waiter }),
			column(s.awaits, func(r *awaitRow) string { return r.step }),
		}
	})
	b.put(len(s.parents), insertParents, func() []any {
		return []any{
			column(s.parents, func(r *parentRow) int64 { return r.child }), column(s.parents, func(r *parentRow) string { return r.parent }),
			column(s.parents, func(r *parentRow) string { return r.step }),
		}
	})
	b.put(len(s.known), insertKnown, func() []any {
		return []any{
			column(s.known, func(r *knownRow) int64 { return r.run }), column(s.known, func(r *knownRow) []byte { return r.key }),
			column(s.known, func(r *knownRow) []byte { return r.print }), column(s.known, func(r *knownRow) *string { return r.sender }),
			column(s.known, func(r *knownRow) *bool { return r.marked }), column(s.known, func(r *knownRow) *string { return r.workflow }),
			column(s.known, func(r *knownRow) *string { return r.idem }),
		}
	})
}

// writeEnds adds what ends of runs write, but for the queue, the log, tasks and hooks.
func (b *script) writeEnds(s *sheet) {
	rows := s.ended
	if len(rows) == 0 {
		return
	}
	runs := column(rows, func(r *endRow) int64 { return r.run })
	b.put(1, endRuns, func() []any {
		return []any{
			runs, column(rows, func(r *endRow) string { return r.status }), column(rows, func(r *endRow) int32 { return r.version }),
			column(rows, func(r *endRow) []byte { return r.output }), column(rows, func(r *endRow) *string { return r.err }),
			column(rows, func(r *endRow) time.Time { return r.at }), column(rows, func(r *endRow) int64 { return r.claims }),
			column(rows, func(r *endRow) int32 { return r.endSum }), column(rows, func(r *endRow) *string { return r.apart }),
		}
	})
	var freed []int64
	for i := range rows {
		if rows[i].freesKey {
			freed = append(freed, rows[i].run)
		}
	}
	b.put(len(freed), freeKeys, func() []any { return []any{freed} })
	b.put(1, deleteRunMail, func() []any { return []any{runs} })
	var values []string
	var of []int64
	for i := range rows {
		if rows[i].apart == nil {
			continue
		}
		whole, names := world.SplitApart(*rows[i].apart)
		for _, value := range append(names, whole) {
			of, values = append(of, rows[i].run), append(values, value)
		}
	}
	b.put(len(of), holdResults, func() []any { return []any{of, values} })
	b.told(1, insertResults, func() []any {
		return []any{
			runs, int16(world.LogFormat), column(rows, func(r *endRow) string { return r.placeholder }),
			column(rows, func(r *endRow) string { return r.head }), column(rows, func(r *endRow) []byte { return r.body }),
			column(rows, func(r *endRow) string { return r.sum }),
		}
	})
	b.put(1, deleteAwaits, func() []any { return []any{runs} })
}

func (b *script) writeSent(rows []sentRow) {
	b.told(len(rows), insertSent, func() []any {
		return []any{
			column(rows, func(r *sentRow) *string { return r.run }), column(rows, func(r *sentRow) *string { return r.token }),
			column(rows, func(r *sentRow) *string { return r.delivery }), column(rows, func(r *sentRow) bool { return r.cancel }),
			column(rows, func(r *sentRow) *string { return r.act }), column(rows, func(r *sentRow) bool { return r.payload }),
			int16(world.LogFormat), column(rows, func(r *sentRow) string { return r.placeholder }),
			column(rows, func(r *sentRow) string { return r.head }), column(rows, func(r *sentRow) []byte { return r.body }),
			column(rows, func(r *sentRow) string { return r.sum }),
		}
	})
}
