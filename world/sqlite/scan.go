package sqlite

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// scanRun reads a row of show_run and its like, but for the input.
func scanRun(r row) (out world.Run, err error) {
	out = world.Run{
		ID: r.text(1), Workflow: r.text(2), Version: int(r.int(3)), Status: world.Status(r.text(4)), Key: r.text(5), Priority: int(r.int(6)),
		CreatedAt: r.time(10), EndedAt: r.time(11), Retention: time.Duration(r.int(12)), Output: r.bytes(13), Takes: r.int(16),
	}
	if !r.null(7) {
		out.Parent = &world.Parent{Run: r.text(7), Step: r.text(8), Detached: r.bool(9)}
	}
	if err := unmarshal(r.bytes(14), &out.Error); err != nil {
		return out, fmt.Errorf("%w: run %s: error: %w", world.ErrCorrupt, out.ID, err)
	}
	if err := unmarshal(r.bytes(15), &out.Attributes); err != nil {
		return out, fmt.Errorf("%w: run %s: attributes: %w", world.ErrCorrupt, out.ID, err)
	}
	if r.null(18) {
		return out, nil
	}
	out.Status = world.Pending
	if r.bool(18) {
		out.Status = world.Running
	}
	if !r.null(17) {
		out.Version = int(r.int(17))
	}
	out.Takes = r.int(19)
	out.Queue = &world.QueueRow{
		WakeAt: r.time(20), Paused: r.bool(21), Full: r.bool(23), Waiting: r.text(24), Owner: r.text(25), OwnerName: r.text(26), Mail: int(r.int(27)),
	}
	if err := unmarshal(r.bytes(22), &out.Queue.Blocked); err != nil {
		return out, fmt.Errorf("%w: run %s: blocked: %w", world.ErrCorrupt, out.ID, err)
	}
	return out, nil
}

// readInput reads what scanRun leaves, the input and the origin: it is in the commit of the birth, and dear to decode where nobody wants the run.
func readInput(r row, out *world.Run) error {
	if r.null(28) {
		return nil
	}
	events, _, _, err := world.DecodeRow(out.ID, out.CreatedAt, 1, int(r.int(28)), r.text(29), r.bytes(30))
	if err == nil {
		out.Birth(&events[0])
	}
	return err
}

func unmarshal(text []byte, v any) error {
	if text == nil {
		return nil
	}
	return json.Unmarshal(text, v)
}
