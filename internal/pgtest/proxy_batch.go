package pgtest

// This file knows what a client asks for: the batches that end with a Sync or are a simple query, and whether they commit.

import (
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Batch is what a client sends and the server answers as one: a simple query, or messages up to a Sync. Outside of a transaction block a
// batch is a transaction.
type Batch struct {
	Link  *Link
	SQL   []string // the statements that it executes, in order
	Begun bool     // a transaction block is open when it begins

	asked  bool
	action Action
	tags   []string // of the statements that were done
	failed bool
}

// Has reports whether a statement of the batch contains one of the texts, in any case.
func (b *Batch) Has(texts ...string) bool {
	return slices.ContainsFunc(b.SQL, func(sql string) bool {
		sql = strings.ToLower(sql)
		return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(sql, strings.ToLower(t)) })
	})
}

// Commits reports whether the batch ends a transaction that may have written something: it executes COMMIT, or it is a transaction of
// its own with a statement that writes. Writes that hide in functions called by SELECT are not seen.
func (b *Batch) Commits() bool {
	open, wrote, commits := b.Begun, false, false
	for word := range b.verbs() {
		switch {
		case word == "commit" || word == "end":
			commits, open = true, false
		case begins[word]:
			open = true
		case word == "rollback" || word == "abort":
			open = false
		case writes[word]:
			wrote = true
		}
	}
	return commits || wrote && !open && !b.Begun
}

// opens tells whether a block is open after the batch, if all goes well.
func (b *Batch) opens() bool {
	open := b.Begun
	for word := range b.verbs() {
		switch {
		case begins[word]:
			open = true
		case word == "commit" || word == "end" || word == "rollback" || word == "abort":
			open = false
		}
	}
	return open
}

var (
	begins = map[string]bool{"begin": true, "start": true}
	writes = map[string]bool{"insert": true, "update": true, "delete": true, "merge": true, "with": true, "copy": true, "call": true, "do": true,
		"create": true, "alter": true, "drop": true, "truncate": true}
)

// verbs yields the first word of each statement. ROLLBACK TO ends nothing and is left out.
func (b *Batch) verbs() func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, sql := range b.SQL {
			for part := range strings.SplitSeq(sql, ";") {
				words := strings.Fields(strings.ToLower(uncommented(part)))
				if len(words) == 0 || words[0] == "rollback" && slices.Contains(words, "to") {
					continue
				}
				if !yield(words[0]) {
					return
				}
			}
		}
	}
}

// uncommented drops the comments and parentheses that a statement opens with.
func uncommented(sql string) string {
	for {
		sql = strings.TrimLeft(sql, " \t\r\n(")
		switch {
		case strings.HasPrefix(sql, "--"):
			_, sql, _ = strings.Cut(sql, "\n")
		case strings.HasPrefix(sql, "/*"):
			_, sql, _ = strings.Cut(sql, "*/")
		default:
			return sql
		}
	}
}

// committed tells from the answer whether the batch did commit; status is that of its ReadyForQuery.
func (b *Batch) committed(status byte) bool {
	if b.failed || status != 'I' {
		return false
	}
	return slices.ContainsFunc(b.tags, func(tag string) bool {
		verb, _, _ := strings.Cut(strings.ToLower(tag), " ")
		return verb == "commit" || !b.Begun && writes[verb]
	})
}

// fromClient forwards what the client sends, a batch at a time.
func (l *Link) fromClient(in *messages) error {
	var buf []byte // of the batch, not sent yet
	b := &Batch{Link: l}
	portals := map[string]string{} // the text of each
	for {
		all, kind, body, err := in.next(buf)
		if err != nil {
			return err
		}
		end := len(buf) // of what came before this message
		buf = all
		switch kind {
		case 'P':
			var m pgproto3.Parse
			if err := m.Decode(body); err != nil {
				return err
			}
			l.statements[m.Name] = m.Query
			continue
		case 'B':
			var m pgproto3.Bind
			if err := m.Decode(body); err != nil {
				return err
			}
			portals[m.DestinationPortal] = l.statements[m.PreparedStatement]
			continue
		case 'E':
			var m pgproto3.Execute
			if err := m.Decode(body); err != nil {
				return err
			}
			b.SQL = append(b.SQL, portals[m.Portal])
			continue
		case 'D', 'C':
			continue
		case 'Q':
			var m pgproto3.Query
			if err := m.Decode(body); err != nil {
				return err
			}
			b.SQL = append(b.SQL, m.String)
			err = l.finish(b, buf[:end], buf[end:])
		case 'S':
			err = l.finish(b, buf[:end], buf[end:])
		case 'F': // a function call: one answer, like a query
			err = l.finish(b, buf[:end], buf[end:])
		case 'H':
			err = l.flush(b, buf)
			buf = buf[:0]
			if err != nil {
				return err
			}
			continue
		default: // passwords, COPY data, the end: they belong to no batch
			err = l.send(l.server, buf)
			buf = buf[:0]
			if err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		buf, b = buf[:0], &Batch{Link: l}
	}
}

// flush sends the part of a batch that ends with a Flush. Where it executes a COMMIT the rule is asked now.
func (l *Link) flush(b *Batch, part []byte) error {
	if !slices.ContainsFunc(slices.Collect(b.verbs()), func(w string) bool { return w == "commit" || w == "end" }) {
		return l.send(l.server, part)
	}
	return l.decide(b, part, nil)
}

// finish sends a whole batch, or what is left of it: part, and the message that ends it.
func (l *Link) finish(b *Batch, part, last []byte) error {
	if b.asked {
		return l.send(l.server, append(part, last...))
	}
	return l.decide(b, part, last)
}

// decide asks the rule, and does what it says.
func (l *Link) decide(b *Batch, part, last []byte) error {
	l.mu.Lock()
	b.Begun = l.open
	freed := l.freed
	l.mu.Unlock()
	b.asked, b.action = true, l.proxy.ask(b)
	counts := func(which func(*Counts) *int) { l.proxy.count(which) }
	switch b.action {
	case CutBefore:
		counts(func(c *Counts) *int { return &c.Before })
		l.close()
		return errCut
	case Hold, HoldEnd:
		if b.action == HoldEnd {
			if err := l.send(l.server, part); err != nil {
				return err
			}
			part = nil
		}
		l.holdUnlessFreed(freed)
		counts(func(c *Counts) *int { return &c.Held })
	}
	l.mu.Lock()
	l.open = b.opens()
	l.queue = append(l.queue, b)
	l.mu.Unlock()
	if err := l.send(l.server, append(part, last...)); err != nil {
		return err
	}
	if b.action == CutBlind {
		counts(func(c *Counts) *int { return &c.Blind })
		l.close()
		return errCut
	}
	return nil
}

// fromServer forwards answers.
func (l *Link) fromServer(in *messages) error {
	var buf []byte // not forwarded yet
	holding := false
	for {
		before := len(buf)
		all, kind, body, err := in.next(buf)
		if err != nil {
			return err
		}
		buf = all
		hold, cut := l.answer(kind, body)
		if hold && !holding && before > 0 { // the answers to earlier batches are not held back
			if err := l.send(l.client, buf[:before]); err != nil {
				return err
			}
			buf = append([]byte(nil), buf[before:]...)
		}
		holding = hold
		switch {
		case cut:
			l.proxy.count(func(c *Counts) *int { return &c.After })
			l.close()
			return errCut
		case hold, in.more() && len(buf) < 64<<10:
			continue
		}
		if err := l.send(l.client, buf); err != nil {
			return err
		}
		buf = buf[:0]
	}
}

// answer notes a message of the server. hold: it is not forwarded until it is known whether its batch committed. cut: it did.
func (l *Link) answer(kind byte, body []byte) (hold, cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if kind == 'K' {
		var m pgproto3.BackendKeyData
		if m.Decode(body) == nil {
			l.pid = m.ProcessID
		}
	}
	if len(l.queue) == 0 {
		return false, false
	}
	b := l.queue[0]
	if b.action == CutBlind {
		return true, false // the server may be quicker than the cut
	}
	switch kind {
	case 'C':
		var m pgproto3.CommandComplete
		if m.Decode(body) == nil {
			b.tags = append(b.tags, string(m.CommandTag))
		}
	case 'E':
		b.failed = true
	case 'Z':
		l.queue = l.queue[1:]
		if len(l.queue) == 0 {
			l.open = len(body) == 1 && body[0] != 'I'
		}
		return false, b.action == CutAfter && len(body) == 1 && b.committed(body[0])
	}
	return b.action == CutAfter, false
}
