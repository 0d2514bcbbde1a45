package replay

// Strict mode: a machine that notes what its code asks for can be held against another machine of the same log.

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Contents is what a Spec may have: what it asks for that is no field of its [Op]. Strict mode compares it; the machine does not look at it otherwise.
type Contents interface{ Contents() []byte }

// said is an operation as the code asked for it. What is recorded takes the place of what was asked in an Op: see [Machine.stands].
type said struct {
	op    *Op
	input []byte
	parts [5]part
}

// part is something that is asked for beside the input.
type part struct{ name, value string }

// say notes what the code asks for.
func (m *Machine) say(op *Op) {
	s := said{op: op, input: op.Input, parts: [...]part{{"match", string(op.Match)}, {"run", op.Peer}, {"time", op.due()}, {"token", ""}, {"content", ""}}}
	if op.Chosen {
		s.parts[3].value = op.Token
	}
	if op.From != 0 {
		s.parts[3] = part{"payload", fmt.Sprintf("event %d", op.From)}
	}
	if c, ok := op.Spec.(Contents); ok {
		s.parts[4].value = string(c.Contents())
	}
	m.transcript = append(m.transcript, s)
}

// due says when a wait is over, as the code asks for it.
func (o *Op) due() string {
	switch {
	case !o.Timed:
		return ""
	case o.After > 0:
		return "in " + o.After.String()
	}
	return o.Until.Format(time.RFC3339Nano)
}

// differs tells what two machines asked for apart: "" where it is the same, else how each is shown.
func (s *said) differs(from *said) (a, b string) {
	one, other := s.op.Describe(), from.op.Describe()
	if s.op.ID != from.op.ID || s.op.Type != from.op.Type {
		return one, other
	}
	if !bytes.Equal(s.input, from.input) && (s.op.alike == nil || !s.op.alike(s.input, from.input)) {
		a, b := apart(s.input, from.input)
		return one + " with input " + a, other + " with input " + b
	}
	for i, p := range s.parts {
		if q := from.parts[i]; p != q {
			a, b := apart([]byte(p.value), []byte(q.value))
			return fmt.Sprintf("%s with %s %s", one, p.name, a), fmt.Sprintf("%s with %s %s", other, q.name, b)
		}
	}
	return "", ""
}

// apart shows two texts that differ, where they do.
func apart(a, b []byte) (string, string) {
	if clip(a) != clip(b) {
		return clip(a), clip(b)
	}
	from := 0
	for from < min(len(a), len(b)) && a[from] == b[from] {
		from++
	}
	from = max(from-40, 0)
	return "…" + clip(bytes.ToValidUTF8(a[from:], nil)), "…" + clip(bytes.ToValidUTF8(b[from:], nil))
}

// Mismatch reports the first difference between two strict machines that were fed the same log, or nil: in what they asked for, in how they ended, in
// their time, their random sequence, their unread payloads and in what was cancelled. live has gone on as the run did; replayed was fed all at once, and failed
// with err, if it did. seq is the last event that both saw. What it finds is a [*DivergedError] with Strict set, or err where that says something else.
func Mismatch(live, replayed *Machine, seq int64, err error) error {
	a, b := live.transcript, replayed.transcript
	for i := range min(len(a), len(b)) {
		if was, is := a[i].differs(&b[i]); was != "" {
			return live.strictly(seq, was, a[i].op.Where(), is, b[i].op.Where())
		}
	}
	if err == nil {
		err = live.failed()
	}
	if d, ok := err.(*DivergedError); ok && !d.Strict {
		return live.strictly(d.Seq, d.Log, live.place(cmp.Or(replayed.strayed, live.strayed)), d.Code, d.Where)
	}
	if err != nil {
		return err
	}
	switch n := min(len(a), len(b)); {
	case len(a) > n:
		is, where := replayed.stopsAt()
		return live.strictly(seq, a[n].op.Describe(), a[n].op.Where(), is, where)
	case len(b) > n:
		was, where := live.stopsAt()
		return live.strictly(seq, was, where, b[n].op.Describe(), b[n].op.Where())
	}
	for _, part := range []struct{ what, live, replayed string }{
		{"", live.ending(), replayed.ending()},
		{"the time ", live.now.String(), replayed.now.String()},
		{"the random sequence ", live.random(), replayed.random()},
		{"unread payloads: ", live.unreadSeqs(), replayed.unreadSeqs()},
		{"cancelled: ", live.cancelledOps(), replayed.cancelledOps()},
	} {
		if part.live != part.replayed {
			was, is := apart([]byte(part.live), []byte(part.replayed))
			return live.strictly(seq, part.what+was, "", part.what+is, "")
		}
	}
	return nil
}

// place is where the code asked for what has an ID, or "".
func (m *Machine) place(id string) string {
	for i := range m.transcript {
		if op := m.transcript[i].op; op.ID == id && id != "" {
			return op.Where()
		}
	}
	return ""
}

// stopsAt says what a machine does that asks for nothing more, and where.
func (m *Machine) stopsAt() (what, where string) {
	if m.outcome != nil {
		return clip([]byte(m.ending())), ""
	}
	return m.blocked("", "")
}

func (m *Machine) strictly(seq int64, was, at, is, where string) *DivergedError {
	return &DivergedError{Run: m.cfg.Run, Seq: seq, Build: m.cfg.Build, Strict: true, Log: was, At: at, Code: is, Where: where}
}

// ending is all of what the code came to.
func (m *Machine) ending() string {
	switch o := m.outcome; {
	case o == nil:
		return "nothing more yet"
	case o.Err != nil:
		return "to fail: " + all(o.Err)
	case o.Continue != nil:
		return fmt.Sprintf("to continue as new (version %d) with input %s", o.Continue.Version, o.Continue.Input)
	default:
		return "to complete with output " + string(o.Output)
	}
}

// all is an error with its causes, but for stacks and lines.
func all(e *world.Error) string {
	var b strings.Builder
	b.WriteString(e.Message)
	for _, s := range []string{e.Code, e.Name, string(e.Value)} {
		if s != "" {
			b.WriteString(" (" + s + ")")
		}
	}
	for _, c := range e.Causes {
		if c != nil {
			b.WriteString("; " + all(c))
		}
	}
	return b.String()
}

func (m *Machine) random() string {
	b, _ := m.pcg.MarshalBinary() // never fails
	return fmt.Sprintf("%x", b)
}

func (m *Machine) unreadSeqs() string {
	var b strings.Builder
	for _, e := range m.Unread() {
		fmt.Fprintf(&b, "event %d, ", e.Seq)
	}
	return strings.TrimSuffix(b.String(), ", ")
}

// cancelledOps are what is open and was cancelled.
func (m *Machine) cancelledOps() string {
	var b strings.Builder
	for _, op := range m.openOps() {
		if op.told {
			b.WriteString(op.Describe() + ", ")
		}
	}
	return strings.TrimSuffix(b.String(), ", ")
}
