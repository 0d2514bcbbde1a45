package sqlite

import (
	"encoding/json"
	"time"

	"github.com/stepwell/stepwell/world"
)

// scanRun reads a row of show_run and its like, but for the input. What of it cannot be right it says, and reads the rest.
func scanRun(r row) world.Run {
	out := world.Run{
		ID: r.text(1), Workflow: r.text(2), Version: int(r.int(3)), Status: world.Status(r.text(4)), Key: r.text(5), Priority: int(r.int(6)),
		CreatedAt: r.time(10), EndedAt: r.time(11), Retention: time.Duration(r.int(12)), Output: r.bytes(13), Takes: r.int(16),
	}
	if !r.null(7) {
		out.Parent = &world.Parent{Run: r.text(7), Step: r.text(8), Detached: r.bool(9)}
	}
	out.Unreadable("its error", unmarshal(r.bytes(14), &out.Error))
	out.Unreadable("its attributes", unmarshal(r.bytes(15), &out.Attributes))
	if !r.null(18) {
		out.Queue = &world.QueueRow{
			WakeAt: r.time(20), Paused: r.bool(21), Full: r.bool(23), Waiting: r.text(24), Owner: r.text(25), OwnerName: r.text(26), Mail: int(r.int(27)),
		}
		out.Queue.Blocked = world.ReadBlock(r.bytes(22))
	}
	out.CheckRow(r.text(31), r.text(32), r.text(14), r.sum(33), r.sum(34))
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
	out.Takes = r.int(19)
	return out
}

// readInput reads what scanRun leaves, the input and the origin: it is in the commit of the birth, and dear to decode where nobody wants the run.
func readInput(r row, out *world.Run) {
	if r.null(28) {
		return
	}
	out.ReadBirth(int(r.int(28)), r.text(29), r.bytes(30), r.sum(35))
}

func unmarshal(text []byte, v any) error {
	if text == nil {
		return nil
	}
	return json.Unmarshal(text, v)
}
