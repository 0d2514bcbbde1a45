package postgres

// What rows of runs look like to people.

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// runRow is a row of show_run and its like.
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
	sealed, origin                      *string
	rowSum, sum, endSum                 *int32

	running, paused, full              *bool // null where it is over, as all that follows
	version                            *int
	take, mail                         *int64
	wake                               *time.Time
	blocked, waiting, owner, ownerName *string
}

// scanRun reads a row of show_run and its like, and tells the run's place in lists.
func scanRun(row scanner) (rank, world.Run, error) {
	var r runRow
	var out world.Run
	var output []byte
	if err := row.Scan(&r.key, &out.ID, &out.Workflow, &out.Version, &r.status, &r.idem, &out.Priority, &r.parentRun, &r.parentStep, &r.detached,
		&r.created, &r.ended, &r.retention, &output, &r.errorText, &r.attributes, &out.Takes, &r.format, &r.head, &r.body,
		&r.rowSum, &r.sealed, &r.origin, &r.sum, &r.endSum,
		&r.running, &r.version, &r.take, &r.wake, &r.paused, &r.blocked, &r.full, &r.waiting, &r.owner, &r.ownerName, &r.mail); err != nil {
		return rank{}, out, err
	}
	out.Output = output
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
			WakeAt: at(r.wake), Paused: *r.paused, Full: *r.full, Waiting: textOf(r.waiting), Owner: textOf(r.owner), OwnerName: textOf(r.ownerName),
		}
		if r.blocked != nil {
			out.Queue.Blocked = world.ReadBlock([]byte(*r.blocked))
		}
		if r.mail != nil {
			out.Queue.Mail = int(*r.mail)
		}
	}
	out.CheckRow(textOf(r.sealed), textOf(r.origin), textOf(r.errorText), sumOf(r.sum), sumOf(r.endSum))
	if r.head != nil {
		out.ReadBirth(*r.format, *r.head, r.body, sumOf(r.rowSum))
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
	out.Takes = *r.take
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
