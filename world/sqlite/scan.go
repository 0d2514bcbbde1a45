package sqlite

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// scanRun reads a row of show_run and its like.
func scanRun(r row) (listed, error) {
	l := listed{key: r.int(0)}
	out := &l.run
	*out = world.Run{
		ID: r.text(1), Workflow: r.text(2), Version: int(r.int(3)), Status: world.Status(r.text(4)), Key: r.text(5), Priority: int(r.int(6)),
		CreatedAt: r.time(10), EndedAt: r.time(11), Retention: time.Duration(r.int(12)), Output: r.bytes(13), Takes: r.int(16),
	}
	if !r.null(7) {
		out.Parent = &world.Parent{Run: r.text(7), Step: r.text(8), Detached: r.bool(9)}
	}
	if err := unmarshal(r.bytes(14), &out.Error); err != nil {
		return l, fmt.Errorf("%w: run %s: error: %w", world.ErrCorrupt, out.ID, err)
	}
	if err := unmarshal(r.bytes(15), &out.Attributes); err != nil {
		return l, fmt.Errorf("%w: run %s: attributes: %w", world.ErrCorrupt, out.ID, err)
	}
	if r.null(17) {
		return l, nil
	}
	l.class = r.int(17)
	out.Status = world.Pending
	if r.bool(18) {
		out.Status = world.Running
	}
	out.Takes = r.int(19)
	out.Queue = &world.QueueRow{
		WakeAt: r.time(20), Paused: r.bool(21), Full: r.bool(23), Waiting: r.text(24), Owner: r.text(25), OwnerName: r.text(26),
	}
	if err := unmarshal(r.bytes(22), &out.Queue.Blocked); err != nil {
		return l, fmt.Errorf("%w: run %s: blocked: %w", world.ErrCorrupt, out.ID, err)
	}
	return l, nil
}

func unmarshal(text []byte, v any) error {
	if text == nil {
		return nil
	}
	return json.Unmarshal(text, v)
}

var classOf = load("class_of")

// complete reads what the row of a run does not hold: its input, and, while it lives, its version and how much mail waits.
func (w *World) complete(c *conn, l listed) (world.Run, error) {
	out := l.run
	w.counters.rowsRead.Add(1)
	if _, err := c.one(rowAt, func(r row) error {
		events, _, _, err := world.DecodeRow(out.ID, out.CreatedAt, 1, int(r.int(0)), r.text(1), r.bytes(2))
		if err == nil {
			out.Input = events[0].Payload
		}
		return err
	}, l.key, int64(1)); err != nil {
		return out, err
	}
	if out.Queue == nil {
		return out, nil
	}
	if _, err := c.one(classOf, func(r row) error { out.Version = int(r.int(0)); return nil }, l.class); err != nil {
		return out, err
	}
	_, err := c.one(countMail, func(r row) error { out.Queue.Mail = int(r.int(0)); return nil }, l.key)
	return out, err
}
