package postgres

// What rows of runs look like to people.

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

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

	running, paused, full              *bool // null where it is over, as all that follows
	version                            *int
	take, mail                         *int64
	wake                               *time.Time
	blocked, waiting, owner, ownerName *string
}

// scanRun reads a row of show_run and its like, and tells the run's key.
func scanRun(row pgx.Rows) (int64, world.Run, error) {
	var r runRow
	var out world.Run
	var output []byte
	if err := row.Scan(&r.key, &out.ID, &out.Workflow, &out.Version, &r.status, &r.idem, &out.Priority, &r.parentRun, &r.parentStep, &r.detached,
		&r.created, &r.ended, &r.retention, &output, &r.errorText, &r.attributes, &out.Takes, &r.format, &r.head, &r.body,
		&r.running, &r.version, &r.take, &r.wake, &r.paused, &r.blocked, &r.full, &r.waiting, &r.owner, &r.ownerName, &r.mail); err != nil {
		return 0, out, err
	}
	out.Output = output
	if err := r.complete(&out); err != nil {
		return 0, out, fmt.Errorf("run %s: %w", out.ID, err)
	}
	return r.key, out, nil
}

// complete puts what was read into the run that people see.
func (r *runRow) complete(out *world.Run) error {
	out.Status, out.Key, out.Retention = world.Status(textOf(r.status)), textOf(r.idem), time.Duration(r.retention)
	out.CreatedAt, out.EndedAt = at(&r.created), at(r.ended)
	if r.parentRun != nil {
		out.Parent = &world.Parent{Run: *r.parentRun, Step: textOf(r.parentStep), Detached: r.detached}
	}
	if err := unmarshal("error", r.errorText, &out.Error); err != nil {
		return err
	}
	if err := unmarshal("attributes", r.attributes, &out.Attributes); err != nil {
		return err
	}
	if r.head != nil {
		events, _, _, err := world.DecodeRow(out.ID, out.CreatedAt, 1, *r.format, *r.head, r.body)
		if err != nil {
			return err
		}
		out.Birth(&events[0])
	}
	if r.running == nil {
		return nil
	}
	out.Status = world.Pending
	if *r.running {
		out.Status = world.Running
	}
	if r.version != nil {
		out.Version = *r.version
	}
	out.Takes = *r.take
	out.Queue = &world.QueueRow{
		WakeAt: at(r.wake), Paused: *r.paused, Full: *r.full, Waiting: textOf(r.waiting), Owner: textOf(r.owner), OwnerName: textOf(r.ownerName),
	}
	if r.mail != nil {
		out.Queue.Mail = int(*r.mail)
	}
	return unmarshal("blocked", r.blocked, &out.Queue.Blocked)
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
