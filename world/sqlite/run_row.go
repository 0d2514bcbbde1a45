package sqlite

// The row of a run. Its columns are named here and nowhere else: those that it is created with, and those that people
// see. A new one is a line of each list, its part of the function below the list, and a column of the schema.

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

// placeholders are what stands in files of SQL for the columns of a run: {run} for those that people see, of r (runs),
// q (queue), c (classes), w (workers) and l (the first row of the log); {birth} for those that a run is created with,
// and {values} for as many parameters.
var placeholders = strings.NewReplacer("{run}", runColumns, "{birth}", birthColumns, "{values}", parameters(birthColumns))

// parameters are as many of them as there are columns in a list.
func parameters(columns string) string {
	list := make([]string, strings.Count(columns, ",")+1)
	for i := range list {
		list[i] = fmt.Sprintf("?%d", i+1)
	}
	return strings.Join(list, ", ")
}

var (
	insertRun = load("insert_run")
	endRun    = load("end_run")
	freeKey   = load("free_key")
)

// birthColumns are what a run is created with, in the order of create.
const birthColumns = `key, id, workflow, version, idem, priority, parent_run, parent_step, detached, created_us,
  retention_ns, attributes, sealed, origin_run, sum`

// create gives a run that is created its key, and writes its row. It writes none where its ID or its idempotency key is taken.
func (rs *runs) create(r *run, b *world.Birth, attrs string) (err error) {
	if r.key, err = rs.nextKey(); err != nil {
		return err
	}
	var parentRun, parentStep, originRun any
	if b.Parent != nil {
		parentRun, parentStep = b.Parent.Run, b.Parent.Step
	}
	if b.Origin != nil {
		originRun = b.Origin.Run
	}
	n, err := rs.tx.changed(insertRun, r.key, r.id, b.Workflow, int64(b.Version), orNull(b.Key), int64(b.Priority), parentRun,
		parentStep, bit(b.Parent != nil && b.Parent.Detached), r.created.UnixMicro(), int64(b.Retention), orNull(attrs),
		orNull(r.encrypted), originRun, int64(layout.BirthSum(r.id, b, r.created, r.encrypted).Value()))
	if err == nil && n == 0 {
		rs.lastKey--
		return fmt.Errorf("run %s: %w", r.id, world.ErrRunExists)
	}
	rs.byID[r.id] = r
	return err
}

// end writes how a run ended to its row. The key that it was started with is free from then on, where its end says so.
func (rs *runs) end(r *run, e *world.Event, status world.Status, version int, began bool) error {
	var output, failure, sweep any
	apart := ""
	var out []byte
	var text string
	if e.Type == world.RunCompleted {
		output, out, apart = blob(e.Payload), e.Payload, e.Apart
	}
	if e.Error != nil {
		b, err := json.Marshal(e.Error)
		if err != nil {
			return fmt.Errorf("run %s: %s: %w", r.id, e.Type, err)
		}
		text = string(b)
		failure = text
	}
	if r.retention > 0 {
		sweep = world.After(e.Time, r.retention).UnixMicro()
	}
	sum := layout.EndSum(r.id, string(status), version, out, apart, text, e.Time)
	if err := rs.tx.exec(endRun, r.key, string(status), int64(version), output, failure, e.Time.UnixMicro(), sweep, r.claim, int64(sum.Value()), orNull(apart)); err != nil {
		return err
	}
	if e.FreesKey(began) {
		return rs.tx.exec(freeKey, r.key)
	}
	return nil
}

// runColumns are what people see, in the order of scanRun and readInput. Those of the queue are null where the run is
// over.
var runColumns = `r.key, r.id, r.workflow, r.version, r.status, r.idem, r.priority, ` + // 0 to 6
	`r.parent_run, r.parent_step, r.detached, r.created_us, r.ended_us, r.retention_ns, ` + // 7 to 12
	`r.output, r.error, r.attributes, r.takes, ` + // 13 to 16
	`c.version, q.running, q.take, q.wake_us, q.paused OR q.resumed, q.blocked, q.full, q.waiting, ` + // 17 to 24
	`w.id, w.name, (SELECT count(*) FROM inbox i WHERE i.run = q.run), ` + // 25 to 27
	`l.format, l.head, l.body, r.sealed, r.origin_run, r.sum, r.end_sum, l.sum, r.output_apart, ` + // 28 to 36
	`q.held AND q.owner IS NULL, ` + inLineOf("name") + `, ` + inLineOf("text") + `, ` + // 37 to 39
	`CASE WHEN instr(l.head, '"run_started"') = 0 AND q.running IS NOT 0 THEN (SELECT s.head FROM log s
    WHERE s.run = r.key AND s.seq BETWEEN 2 AND 20 AND instr(s.head, '"run_started"') > 0 ORDER BY s.seq LIMIT 1) END, ` + // 40
	`CASE WHEN q.parked_us IS NOT NULL THEN q.behind END, ` + // 41
	`EXISTS (SELECT 1 FROM tasks t WHERE t.run = q.run AND t.worker IS NULL AND t.failures + t.abandoned > 0)` // 42

// inLineOf is a column of the key in whose line a run stands.
func inLineOf(column string) string {
	return `CASE WHEN q.parked_us IS NOT NULL AND json_valid(q.places) THEN (SELECT k.` + column + ` FROM limit_keys k WHERE k.key = q.places ->> q.has) END`
}

// scanRun reads a row of {run}, but for the input. What of it cannot be right it says, and reads the rest.
func scanRun(r row) world.Run {
	out := world.Run{
		ID: r.text(1), Workflow: r.text(2), Version: int(r.int(3)), Status: world.Status(r.text(4)), Key: r.text(5),
		Priority: int(r.int(6)), CreatedAt: r.time(10), EndedAt: r.time(11), Retention: time.Duration(r.int(12)),
		Output: r.bytes(13), OutputApart: r.text(36), Claims: r.int(16),
	}
	if !r.null(7) {
		out.Parent = &world.Parent{Run: r.text(7), Step: r.text(8), Detached: r.bool(9)}
	}
	out.Unreadable("its error", unmarshal(r.bytes(14), &out.Error))
	out.Unreadable("its attributes", unmarshal(r.bytes(15), &out.Attributes))
	if !r.null(18) {
		out.Queue = &world.QueueRow{
			WakeAt: r.time(20), Paused: r.bool(21), Full: r.bool(23), Waiting: world.WaitingFor(r.text(24), r.bool(42)), Owner: r.text(25),
			OwnerName: r.text(26), Mail: int(r.int(27)), Held: r.bool(37), Limit: r.text(38), LimitKey: r.text(39),
			Behind: behind(r.text(38), r.text(41)),
		}
		out.Queue.Blocked = world.ReadBlock(r.bytes(22))
	}
	layout.CheckRun(&out, r.text(31), r.text(32), r.text(14), r.sum(33), r.sum(34))
	if out.Queue == nil {
		return out
	}
	out.Status = world.Pending
	if r.bool(18) {
		out.Status = world.Running
	}
	if !r.null(17) {
		out.Version = int(r.int(17))
	}
	out.Claims = r.int(19)
	return out
}

// behind is the run for whose end one waits that stands in a line; "": in the line of no singleton.
func behind(limit, run string) string {
	if world.SingleOf(limit) == "" {
		return ""
	}
	return run
}

// readInput reads what scanRun leaves, the input and the origin: it is in the commit of the birth, and dear to decode
// where nobody wants the run.
func readInput(r row, out *world.Run) {
	if r.null(28) {
		return
	}
	layout.ReadBirth(out, int(r.int(28)), r.text(29), r.bytes(30), r.sum(35))
	if out.StartedAt = layout.StartOf(r.text(29), out.CreatedAt); out.StartedAt.IsZero() {
		out.StartedAt = layout.StartOf(r.text(40), out.CreatedAt)
	}
}

func unmarshal(text []byte, v any) error {
	if text == nil {
		return nil
	}
	return json.Unmarshal(text, v)
}
