package sqlite

import (
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

var (
	insertMail    = load("insert_mail")
	mailQueue     = load("mail_queue")
	countPaid     = load("count_payloads")
	actWaits      = load("act_waits")
	runMail       = load("run_mail")
	ownedMail     = load("owned_mail")
	countMail     = load("count_mail")
	deleteMail    = load("delete_mail")
	lateMail      = load("late_mail")
	deleteRunMail = load("delete_run_mail")
)

// inbox is what was sent to runs, and their owners have not yet appended to their logs.
//
//   - A run that nobody owns has mail only with a queue row that says so: else nobody would come for it.
//   - An operator's limit holds for payloads, those that wait and those that are in the log unread. What a run is told by
//     others, and what operators do, always has room.
type inbox struct {
	tx    *txn
	logs  *logs
	limit int // payloads that may wait for a run
}

// box is what is known of the inbox of a run.
type box struct {
	waits    bool // something may: false only where the run was created here and nothing has come
	payloads int  // that wait; -1: not counted yet
	unread   int  // and those in the log, as the run's owner said last: no file has it
	full     bool // the owner said so when it released the run

	mailed, cancel bool // the queue row says that something waits, and that a cancel does
}

// unknown is the box of a run that is read anew, with what no file has.
func (b *box) unknown() box { return box{waits: true, payloads: -1, unread: b.unread} }

// said reports whether something is known that no file has.
func (b *box) said() bool { return b.unread > 0 }

// cancels reports whether a cancel waits in it, while nobody owns the run.
func (b *box) cancels() bool { return b.cancel }

// load is what the queue row has of it.
func (b *box) load(mailed, cancel, full bool) { b.mailed, b.cancel, b.full = mailed, cancel, full }

// isPayload reports whether a delivery counts toward the limit of an inbox.
func isPayload(events []world.Event) bool {
	return len(events) == 1 && (events[0].Type == world.SignalReceived || events[0].Type == world.HookReceived)
}

// room refuses a payload where too many wait.
func (in *inbox) room(r *run) error {
	b := &r.box
	if b.payloads < 0 {
		if _, err := in.tx.one(countPaid, func(row row) error { b.payloads = int(row.int(0)); return nil }, r.key); err != nil {
			return err
		}
	}
	if b.full || b.payloads+b.unread >= in.limit {
		return fmt.Errorf("run %s: too many payloads are unread: %w", r.id, world.ErrInboxFull)
	}
	return nil
}

// unread notes how many payloads a run has in its log and not read, as its owner says.
func (in *inbox) unread(r *run, n int) { r.box.unread = n }

// put adds mail to an inbox and wakes whoever it concerns. It reports false where the delivery ID waits already,
// under the same key.
func (in *inbox) put(r *run, id string, key []byte, events []world.Event) (bool, error) {
	front, body, err := in.logs.encode(r, [16]byte{}, "", events)
	if err != nil {
		return false, fmt.Errorf("run %s: delivery %q: %w", r.id, id, err)
	}
	b := &r.box
	payload, cancel := isPayload(events), len(events) == 1 && events[0].Type == world.CancelRequested
	at := in.tx.now().UnixMicro()
	sum := layout.RowSum(r.id, 0, world.LogFormat, front, body)
	n, err := in.tx.changed(insertMail, r.key, orNull(id), at, bit(cancel), bit(payload), int64(world.LogFormat), text(front), body, key, int64(sum.Value()))
	if err != nil || n == 0 {
		return false, err
	}
	in.tx.grow(len(front) + len(body))
	b.waits = true
	if payload && b.payloads >= 0 {
		b.payloads++
	}
	if r.owner != 0 {
		in.tx.notice(world.NoticeMail, r.id)
		return true, nil
	}
	if !b.mailed || cancel && !b.cancel {
		b.mailed, b.cancel = true, b.cancel || cancel
		if err := in.tx.exec(mailQueue, r.key, at, bit(cancel)); err != nil {
			return false, err
		}
		in.tx.notice(world.NoticeWork, r.id)
	}
	return true, nil
}

// drop deletes mail that is in the log now.
func (in *inbox) drop(r *run, number int64) error {
	_, err := in.tx.returning(deleteMail, func(gone row) error {
		if b := &r.box; b.payloads > 0 {
			b.payloads -= int(gone.int(0))
		}
		return nil
	}, number, r.key)
	return err
}

// dropAll deletes the mail of a run that is over. What of it came too late is known from then on.
func (in *inbox) dropAll(r *run) error {
	if !r.box.waits {
		return nil
	}
	if err := in.tx.exec(lateMail, r.key); err != nil {
		return err
	}
	return in.tx.exec(deleteRunMail, r.key)
}

// mayWait is false only where nothing waits for a run.
func (in *inbox) mayWait(r *run) bool { return r.box.waits }

// waits reports whether something waits for a run.
func (in *inbox) waits(r *run) (waits bool, err error) {
	if r.box.waits {
		_, err = in.tx.one(countMail, func(row row) error { waits = row.int(0) > 0; return nil }, r.key)
	}
	return waits, err
}

// actWaits reports whether an operator's act of one of two types waits.
func (in *inbox) actWaits(r *run, a, b world.EventType) (bool, error) {
	if !r.box.waits {
		return false, nil
	}
	return in.tx.one(actWaits, func(row) error { return nil }, r.key, string(a), string(b))
}

// of reads the mail of a run.
func (in *inbox) of(r *run) (mail []world.Mail, err error) {
	if !r.box.waits {
		return nil, nil
	}
	err = in.tx.query(runMail, func(row row) (bool, error) {
		mail = append(mail, scanMail(row, r.id, r.created))
		return true, nil
	}, r.key)
	return mail, err
}

// ofAll reads the mail of all runs of a worker.
func (in *inbox) ofAll(wk *worker) (mail []world.Mail, err error) {
	if len(wk.runs) == 0 {
		return nil, nil
	}
	err = in.tx.query(ownedMail, func(row row) (bool, error) {
		mail = append(mail, scanMail(row, row.text(7), row.time(8)))
		return true, nil
	}, wk.key)
	return mail, err
}

// scanMail reads a row of the inbox.
func scanMail(row row, id string, created time.Time) world.Mail {
	m := world.Mail{Row: row.int(0), Run: id, ID: row.text(1), ArrivedAt: row.time(2)}
	format, front, body := int(row.int(3)), row.text(4), row.bytes(5)
	layout.ReadMail(&m, created, format, front, body, row.sum(6).Is(layout.RowSum(id, 0, format, []byte(front), body)))
	return m
}
