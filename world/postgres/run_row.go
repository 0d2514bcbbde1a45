package postgres

// The row of a run. Its columns are named here and nowhere else: those that it is created with, and those that people
// see. A new one is a line of the list in question, of the struct behind it and of the function below it, and a
// column in schema.sql.

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

// placeholders are what stands in files of SQL for the columns of a run: {run} for those that people see, of r (runs)
// and of what {beside} joins, which is each of its places beside that table; {birth} for those that a run is created
// with, with {values} as parameters for one run, and {arrays} for any number;
// {holds} and {alive} are conditions on w (workers).
var placeholders = strings.NewReplacer("{run}", runColumns, "{beside}", besideRun,
	"{holds}", holdsAny, "{alive}", aliveWorker,
	"{birth}", listCreated(func(_ int, c *birthColumn) string { return c.name }),
	"{values}", listCreated(func(i int, c *birthColumn) string { return fmt.Sprintf("$%d::%s", i+1, c.kind) }),
	"{arrays}", listCreated(func(i int, c *birthColumn) string { return fmt.Sprintf("$%d::%s[]", i+1, c.kind) }),
	"{begins}", fmt.Sprintf("$%d", len(birthColumns)+1))

var (
	insertRun  = load("insert_run")
	insertRuns = load("insert_runs")
)

// birthRow is what a run is created with.
type birthRow struct {
	key, retention        int64
	id, workflow          string
	version               int32
	idem                  *string
	priority              int16
	parentRun, parentStep *string
	detached              bool
	created               time.Time
	attrs, encrypted      *string
	originRun             *string
	sum                   int32
	begins                bool // a worker has it from its birth on
}

// birthColumns are the columns of birthRow.
var birthColumns = []birthColumn{
	created("key", "bigint", func(r *birthRow) int64 { return r.key }),
	created("id", "text", func(r *birthRow) string { return r.id }),
	created("workflow", "text", func(r *birthRow) string { return r.workflow }),
	created("version", "integer", func(r *birthRow) int32 { return r.version }),
	created("idem", "text", func(r *birthRow) *string { return r.idem }),
	created("priority", "smallint", func(r *birthRow) int16 { return r.priority }),
	created("parent_run", "text", func(r *birthRow) *string { return r.parentRun }),
	created("parent_step", "text", func(r *birthRow) *string { return r.parentStep }),
	created("detached", "boolean", func(r *birthRow) bool { return r.detached }),
	created("created_at", "timestamptz", func(r *birthRow) time.Time { return r.created }),
	created("retention_ns", "bigint", func(r *birthRow) int64 { return r.retention }),
	created("attributes", "text", func(r *birthRow) *string { return r.attrs }),
	created("sealed", "text", func(r *birthRow) *string { return r.encrypted }),
	created("origin_run", "text", func(r *birthRow) *string { return r.originRun }),
	created("sum", "integer", func(r *birthRow) int32 { return r.sum }),
}

// birthColumn is a column with its type, its value of one row, and those of many.
type birthColumn struct {
	name, kind string
	one        func(r *birthRow) any
	all        func(rows []birthRow) any
}

func created[V any](name, kind string, of func(r *birthRow) V) birthColumn {
	one, all := func(r *birthRow) any { return of(r) }, func(rows []birthRow) any { return column(rows, of) }
	return birthColumn{name, kind, one, all}
}

func listCreated(of func(i int, c *birthColumn) string) string {
	list := make([]string, len(birthColumns))
	for i := range birthColumns {
		list[i] = of(i, &birthColumns[i])
	}
	return strings.Join(list, ", ")
}

// args are those of insert_run.
func (r *birthRow) args() []any {
	return append(column(birthColumns, func(c *birthColumn) any { return c.one(r) }), r.begins)
}

// birthArgs are those of insert_runs.
func birthArgs(rows []birthRow) []any {
	all := column(birthColumns, func(c *birthColumn) any { return c.all(rows) })
	return append(all, column(rows, func(r *birthRow) bool { return r.begins }))
}

// birthRowOf is the row of a run that is created.
func birthRowOf(c *world.Commit, key int64) (birthRow, error) {
	e := &c.Events[0]
	b := e.Birth
	row := birthRow{
		key: key, id: c.Run, workflow: b.Workflow, version: int32(b.Version), idem: orNull(b.Key),
		priority: int16(b.Priority), created: e.Time, retention: int64(b.Retention), encrypted: orNull(e.Encrypted),
		begins: c.Worker != "",
	}
	if b.Parent != nil {
		run, step := clean(b.Parent.Run), clean(b.Parent.Step)
		row.parentRun, row.parentStep, row.detached = &run, &step, b.Parent.Detached
	}
	if b.Origin != nil {
		run := clean(b.Origin.Run)
		row.originRun = &run
	}
	attrs, err := world.AttributeText(b.Attributes)
	if err != nil {
		return row, fmt.Errorf("run %s: %w", c.Run, err)
	}
	row.attrs = orNull(clean(attrs))
	kept := world.Birth{Workflow: b.Workflow, Priority: b.Priority, Retention: b.Retention}
	if row.parentRun != nil {
		kept.Parent = &world.Parent{Run: *row.parentRun, Step: *row.parentStep, Detached: row.detached}
	}
	if row.originRun != nil {
		kept.Origin = &world.Origin{Run: *row.originRun}
	}
	row.sum = layout.BirthSum(c.Run, &kept, e.Time, e.Encrypted).Value()
	return row, nil
}

// runColumns are what people see, in the order of scanRun.
const runColumns = `r.key, r.id, r.workflow, r.version, r.status, r.idem, r.priority, r.parent_run, r.parent_step,
  r.detached, r.created_at, r.ended_at, r.retention_ns, r.output, r.error, r.attributes, r.takes, l.format, l.head,
  l.body, l.sum, r.sealed, r.origin_run, r.sum, r.end_sum, r.output_apart,
  q.running, q.version, q.take, q.wake_at, q.paused, q.blocked, q."full", q.waiting, q.owner, q.owner_name, q.mail, q.held, q.line, q.behind, q.retrying,
  CASE WHEN strpos(l.head, '"run_started"') = 0 AND q.running IS DISTINCT FROM false THEN (SELECT s.head FROM {schema}.log s
    WHERE s.run = r.key AND s.seq BETWEEN 2 AND 20 AND strpos(s.head, '"run_started"') > 0 ORDER BY s.seq LIMIT 1) END`

// besideRun joins what of that is not in the table of runs: the row of the birth and the place in the queue, with who
// owns it. Each is looked for by key, for each run that is left.
const besideRun = `LEFT JOIN LATERAL (
  SELECT format, head, body, sum FROM {schema}.log WHERE run = r.key AND seq = 1 LIMIT 1) l ON true
LEFT JOIN LATERAL (
  SELECT running, take, wake_at, paused, blocked, "full", waiting,
         (SELECT c.version FROM {schema}.classes c WHERE c.key = abs(class)) AS version,
         (SELECT w.id FROM {schema}.workers w WHERE w.key = owner) AS owner,
         (SELECT w.name FROM {schema}.workers w WHERE w.key = owner) AS owner_name,
         (SELECT count(*) FROM {schema}.inbox i WHERE i.run = r.key) AS mail,
         class < 0 AND owner IS NULL AS held, CASE WHEN parked_at IS NOT NULL THEN places[has + 1] END AS line, behind,
         EXISTS (SELECT FROM {schema}.tasks t WHERE t.run = r.key AND t.worker IS NULL AND t.failures + t.abandoned > 0) AS retrying
  FROM {schema}.queue WHERE run = r.key LIMIT 1) q ON true`

// runRow is a row of {run}.
type runRow struct {
	key                                 int64
	status, idem, parentRun, parentStep *string
	detached                            bool
	created                             time.Time
	ended                               *time.Time
	retention                           int64
	errorText, attributes               *string
	format                              *int // of the row with the birth
	head                                *string
	body                                []byte
	encrypted, origin                   *string
	rowSum, sum, endSum                 *int32

	running, paused, full *bool // null where it is over, as all that follows
	version               *int
	claim, mail           *int64
	wake                  *time.Time
	stands                standsRow
}

// standsRow is how a run that is not over stands.
type standsRow struct {
	blocked, waiting, owner, ownerName *string
	held, retrying                     *bool
	line, behind                       *string // the key in whose line it stands; the run that it waits for there
	second                             *string // the head with its beginning, if it is another
}

// scanRun reads a row of {run}, and tells the run's place in lists.
func scanRun(row scanner) (rank, world.Run, error) {
	var r runRow
	var out world.Run
	var output []byte
	var apart *string
	if err := row.Scan(&r.key, &out.ID, &out.Workflow, &out.Version, &r.status, &r.idem, &out.Priority, &r.parentRun,
		&r.parentStep, &r.detached, &r.created, &r.ended, &r.retention, &output, &r.errorText, &r.attributes, &out.Claims,
		&r.format, &r.head, &r.body, &r.rowSum, &r.encrypted, &r.origin, &r.sum, &r.endSum, &apart,
		&r.running, &r.version, &r.claim, &r.wake, &r.paused, &r.stands.blocked, &r.full, &r.stands.waiting, &r.stands.owner, &r.stands.ownerName,
		&r.mail, &r.stands.held, &r.stands.line, &r.stands.behind, &r.stands.retrying, &r.stands.second); err != nil {
		return rank{}, out, err
	}
	out.Output, out.OutputApart = output, textOf(apart)
	r.complete(&out)
	return rank{r.created, r.key}, out, nil
}

// complete puts what was read into the run that people see. What of it cannot be right it says, and reads the rest.
func (r *runRow) complete(out *world.Run) {
	out.Status, out.Key, out.Retention = world.Status(textOf(r.status)), textOf(r.idem), time.Duration(r.retention)
	out.CreatedAt, out.EndedAt = at(&r.created), at(r.ended)
	if r.parentRun != nil {
		out.Parent = &world.Parent{Run: *r.parentRun, Step: textOf(r.parentStep), Detached: r.detached}
	}
	out.Unreadable("its error", unmarshal("error", r.errorText, &out.Error))
	out.Unreadable("its attributes", unmarshal("attributes", r.attributes, &out.Attributes))
	if r.running != nil {
		out.Queue = &world.QueueRow{
			WakeAt: at(r.wake), Paused: *r.paused, Full: *r.full, Owner: textOf(r.stands.owner),
			Waiting:   world.WaitingFor(textOf(r.stands.waiting), r.stands.retrying != nil && *r.stands.retrying),
			OwnerName: textOf(r.stands.ownerName),
		}
		if r.stands.blocked != nil {
			out.Queue.Blocked = world.ReadBlock([]byte(*r.stands.blocked))
		}
		if r.mail != nil {
			out.Queue.Mail = int(*r.mail)
		}
		out.Queue.Held = r.stands.held != nil && *r.stands.held
		out.Queue.Limit, out.Queue.LimitKey, _ = strings.Cut(textOf(r.stands.line), "/")
		if world.SingleOf(out.Queue.Limit) != "" {
			out.Queue.Behind = textOf(r.stands.behind)
		}
	}
	layout.CheckRun(out, textOf(r.encrypted), textOf(r.origin), textOf(r.errorText), sumOf(r.sum), sumOf(r.endSum))
	if r.head != nil {
		layout.ReadBirth(out, *r.format, *r.head, r.body, sumOf(r.rowSum))
		if out.StartedAt = layout.StartOf(*r.head, out.CreatedAt); out.StartedAt.IsZero() {
			out.StartedAt = layout.StartOf(textOf(r.stands.second), out.CreatedAt)
		}
	}
	if r.running == nil {
		return
	}
	out.Status = world.Pending
	if *r.running {
		out.Status = world.Running
	}
	if r.version != nil {
		out.Version = *r.version
	}
	out.Claims = *r.claim
}

// unmarshal reads JSON that may be null.
func unmarshal(what string, text *string, v any) error {
	if text == nil {
		return nil
	}
	if err := json.Unmarshal([]byte(*text), v); err != nil {
		return fmt.Errorf("%w: %s: %w", world.ErrCorrupt, what, err)
	}
	return nil
}
