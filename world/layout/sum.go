package layout

// Checksums of what worlds keep in rows. A world keeps the sum of a row beside it, in a column of its own, and compares it whenever it reads the row: so a flipped
// bit is found, and a row that lies in another's place. Rows that a release before wrote have none, and neither have those of a worker of that release beside
// this one; what the sum is of, and how it is made, never changes.

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"time"
	"unsafe"

	"github.com/stepwell/stepwell/world"
)

// Sum is the checksum of a row, stored as an integer of 32 bits. The zero Sum means none.
type Sum struct {
	value int32
	known bool
}

// SumOf returns the Sum of a stored value.
func SumOf(value int32) Sum { return Sum{value, true} }

// Value returns the value to store.
func (s Sum) Value() int32 { return s.value }

// Is reports whether two sums are equal, or one of them was never made.
func (s Sum) Is(other Sum) bool { return !s.known || s == other }

// PieceSum returns the checksum of a piece of a value that is stored apart.
func PieceSum(value string, number int, data []byte) Sum {
	return summing(0).text(value).number(int64(number)).bytes(data).sum()
}

// CheckPiece returns a [*world.CorruptError] if a piece does not match its checksum.
func CheckPiece(run, value string, number int, data []byte, sum Sum) error {
	if sum.Is(PieceSum(value, number, data)) {
		return nil
	}
	return &world.CorruptError{Run: run, Err: fmt.Errorf("piece %d of value %s, which is kept apart: %w", number, value, errSum)}
}

// NoPiece returns the error for a missing piece. A missing first piece of a held value was lost.
func NoPiece(run, value string, number int, held bool) error {
	if held && number == 0 {
		return &world.CorruptError{Run: run, Err: fmt.Errorf("value %s, which is kept apart: %w", value, errLost)}
	}
	return world.NoPiece(run, value, number)
}

var errLost = errors.New("its pieces are not there")

var errJSON = errors.New("it is not JSON")

var errSum = errors.New("its bytes are not what was written: the checksum differs")

// RowSum returns the checksum of a row of the log, or with first 0, of an inbox. It does not
// allocate.
func RowSum(run string, first int64, format int, head, body []byte) Sum {
	return summing(0).text(run).number(first).number(int64(format)).bytes(head).bytes(body).sum()
}

// ReadRow is [DecodeRow] with a checksum. If that differs, the error names the event that does not
// decode, or else the row's first.
func ReadRow(run string, birth time.Time, first int64, format int, head string, body []byte, sum Sum) (events []world.Event, id [16]byte, build string, err error) {
	if format != world.LogFormat && sum.known && sum == RowSum(run, first, world.LogFormat, bytesOf(head), body) {
		err = fmt.Errorf("its format is not what was written: %d", format)
		return nil, id, "", &world.CorruptError{Run: run, Seq: first, Err: err}
	}
	events, id, build, err = DecodeRow(run, birth, first, format, head, body)
	if err == nil && !sum.Is(RowSum(run, first, format, bytesOf(head), body)) {
		return nil, [16]byte{}, "", &world.CorruptError{Run: run, Seq: first, Err: errSum}
	}
	return events, id, build, err
}

// ReadMail parses the events of mail from its row; intact says whether its checksum matches.
// Invalid data is reported in the mail's Damage, so that it stops only its own run.
func ReadMail(m *world.Mail, birth time.Time, format int, head string, body []byte, intact bool) {
	if !intact {
		damaged(m, errSum)
		return
	}
	events, _, _, err := DecodeRow(m.Run, birth, 1, format, head, body)
	if err != nil {
		damaged(m, err)
		return
	}
	for i := range events {
		events[i].Seq, events[i].Commit = 0, 0
	}
	m.Events = events
}

func damaged(m *world.Mail, err error) {
	if c := (*world.CorruptError)(nil); errors.As(err, &c) {
		err = c.Err
	}
	m.Events, m.Damage = nil, fmt.Sprintf("row %d of the inbox: %v", m.Row, err)
}

// BirthSum returns the checksum of the immutable part of a run's row.
func BirthSum(id string, b *world.Birth, created time.Time, encrypted string) Sum {
	s := summing(0).text(id).text(b.Workflow).number(int64(b.Priority)).number(created.UnixMicro()).number(int64(b.Retention)).text(encrypted)
	if p := b.Parent; p != nil {
		s = s.text(p.Run).text(p.Step).flag(p.Detached)
	}
	if o := b.Origin; o != nil {
		s = s.text(o.Run)
	}
	return s.sum()
}

// EndSum returns the checksum of what the end of a run writes to its row. apart is the value that
// its output refers to, failure its stored error.
func EndSum(id, status string, version int, output []byte, apart, failure string, ended time.Time) Sum {
	s := summing(0).text(id).text(status).number(int64(version)).bytes(output).text(failure).number(ended.UnixMicro())
	if apart != "" {
		s = s.text(apart)
	}
	return s.sum()
}

// CheckRun compares the row of a run with its checksums. failure is its stored error. Invalid data
// is reported in the run's Damage, and removed from its result.
func CheckRun(r *world.Run, encrypted, origin, failure string, birth, end Sum) {
	b := world.Birth{Workflow: r.Workflow, Priority: r.Priority, Parent: r.Parent, Retention: r.Retention}
	if origin != "" {
		b.Origin = &world.Origin{Run: origin}
	}
	if !birth.Is(BirthSum(r.ID, &b, r.CreatedAt, encrypted)) {
		r.Unreadable("its row", errSum)
	}
	switch {
	case r.Queue != nil:
		if r.Output != nil || r.Error != nil || r.Status != "" {
			r.Unreadable("its end", errors.New("it has an outcome, and is not over"))
			r.Output, r.OutputApart, r.Error = nil, "", nil
		}
	case !r.Status.Terminal():
		r.Status = world.Running
		r.Unreadable("its row", errors.New("it is neither over nor in the queue"))
	case !end.Is(EndSum(r.ID, string(r.Status), r.Version, r.Output, r.OutputApart, failure, r.EndedAt)):
		r.Unreadable("its end", errSum)
		r.Output, r.OutputApart, r.Error = nil, "", nil
	case !end.known && len(r.Output) > 0 && !json.Valid(r.Output):
		r.Unreadable("its output", errJSON)
		r.Output = nil
	}
}

// ReadBirth fills in a run's row from the first row of its log.
func ReadBirth(r *world.Run, format int, head string, body []byte, sum Sum) {
	events, _, _, err := ReadRow(r.ID, r.CreatedAt, 1, format, head, body, sum)
	switch {
	case err != nil:
		r.Unreadable("its birth", err)
	case !sum.known && len(events[0].Payload) > 0 && !json.Valid(events[0].Payload):
		r.Unreadable("its birth", errJSON)
	default:
		r.Birth(&events[0])
	}
}

// TaskSum returns the checksum of the immutable part of a task's row.
func TaskSum(t *world.Task) Sum {
	return summing(0).text(t.Run).text(t.Step).text(t.Name).text(t.Workflow).bytes(t.Input).bytes(t.Options).number(int64(t.Priority)).sum()
}

// CheckTask compares the row of a task with its checksum, and reports a difference in its Damage.
func CheckTask(t *world.Task, sum Sum) {
	if !sum.Is(TaskSum(t)) {
		t.Unreadable(errSum)
	}
}

// ChunkSum returns the checksum of a batch of chunks, without their numbers: readers see a gap.
func ChunkSum(run, stream string, r *world.ChunkRow) Sum {
	return summing(0).text(run).text(stream).text(string(r.Kind)).text(r.Step).number(int64(r.Attempt)).number(r.Pos).bytes(r.Data).sum()
}

// CheckChunks returns an error if a batch of chunks does not match its checksum.
func CheckChunks(run, stream string, r *world.ChunkRow, sum Sum) error {
	if r.Kind != world.ChunkTrim && !sum.Is(ChunkSum(run, stream, r)) {
		return fmt.Errorf("%w: run %s: stream %q: chunk %d: %w", world.ErrCorrupt, run, stream, r.Index, errSum)
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// summing is a checksum that is being made: CRC-32C over lengths and bytes, with numbers mixed in.
type summing uint32

func (s summing) bytes(b []byte) summing {
	return summing(crc32.Update(uint32(s.number(int64(len(b)))), castagnoli, b))
}

func (s summing) text(t string) summing { return s.bytes(bytesOf(t)) }

func (s summing) number(n int64) summing {
	x := uint64(n) * 0x9E3779B97F4A7C15
	return summing(bits.RotateLeft32(uint32(s), 5) ^ uint32(x>>32) ^ uint32(x))
}

func (s summing) flag(b bool) summing {
	if b {
		return s.number(1)
	}
	return s.number(2)
}

func (s summing) sum() Sum { return SumOf(int32(s)) }

// bytesOf shows a string as bytes, which are not to be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
