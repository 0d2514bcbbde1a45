package stepwell

// Values that are kept apart, as they leave a database with the log of their run and come to another.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/stepwell/stepwell/internal/apart"
	"github.com/stepwell/stepwell/internal/crypt"
	"github.com/stepwell/stepwell/internal/history"
	"github.com/stepwell/stepwell/world"
)

type withValuesOption bool

func (v withValuesOption) exportOption(o *exportOptions) { o.values = bool(v) }

// WithValues also writes the values that the log refers to: those over 1 MiB, and blobs that the
// run holds. [App.Import] restores them. Values that do not stay encrypted are checked against the
// log. Values in events and hook payloads sent to an encrypted run are written only with
// [Decrypted].
func WithValues() ExportOption { return withValuesOption(true) }

// valueRef is what an event, by its number, says of a value: size and sum are empty where that cannot be read.
type valueRef struct {
	world.Apart
	seq int64
}

// valueRefs are what a log says of values, by their IDs.
type valueRefs struct {
	whole map[string]valueRef // stand for payloads
	named map[string]valueRef // payloads name them: a run may name what it does not hold
}

func newValueRefs() valueRefs { return valueRefs{map[string]valueRef{}, map[string]valueRef{}} }

func (r valueRefs) of(named bool) map[string]valueRef {
	if named {
		return r.named
	}
	return r.whole
}

// add adds what an event refers to.
func (r valueRefs) add(e *world.Event) {
	whole, names := world.SplitApart(e.Apart)
	if of, ok := world.ReadApart(e.Payload, whole); ok {
		r.whole[whole] = valueRef{of, e.Seq}
	} else if whole != "" {
		r.whole[whole] = valueRef{world.Apart{ID: whole}, e.Seq}
	}
	for _, id := range names {
		if _, ok := r.named[id]; !ok {
			r.named[id] = valueRef{world.Apart{ID: id}, e.Seq}
		}
	}
	r.name(e.Payload, e.Seq)
}

// name adds what a payload, or a part of one, names.
func (r valueRefs) name(payload []byte, seq int64) {
	for _, of := range world.Named(payload) {
		if r.named[of.ID].SHA256 == "" {
			r.named[of.ID] = valueRef{of, seq}
		}
	}
}

// longestRef is more than a reference takes.
const longestRef = 4 << 10

// within is a writer that adds what a value names. What is named is bytes, and names none.
func (r valueRefs) within(named bool, seq int64) io.Writer {
	if named {
		return io.Discard
	}
	return &namesOf{refs: r, seq: seq}
}

type namesOf struct {
	refs valueRefs
	seq  int64
	end  []byte // of what came before
}

// Write looks at a part of the value.
func (n *namesOf) Write(p []byte) (int, error) {
	n.end = append(n.end, p...)
	n.refs.name(n.end, n.seq)
	n.end = append(n.end[:0], n.end[max(0, len(n.end)-longestRef):]...)
	return len(p), nil
}

// exportValues writes the values that a log refers to.
func exportValues(ctx context.Context, from world.World, run string, refs valueRefs, w *history.Writer) error {
	values := from.Values()
	for _, named := range []bool{false, true} { // what is whole says more of what it names
		of := refs.of(named)
		for _, id := range slices.Sorted(maps.Keys(of)) {
			if err := exportValue(ctx, values, run, of[id], refs.within(named, of[id].seq), w); err != nil && !(named && errors.Is(err, world.ErrNotFound)) {
				return fmt.Errorf("value %s: %w", id, err)
			}
		}
	}
	return nil
}

// exportValue writes a value. [ErrNotFound]: nothing is there of it.
func exportValue(ctx context.Context, values world.Values, run string, of valueRef, within io.Writer, w *history.Writer) error {
	first, err := values.Piece(ctx, run, of.ID, 0)
	switch {
	case err != nil:
		return err
	case apart.IsEncrypted(first) || of.SHA256 == "":
		return exportPieces(ctx, values, run, of.ID, w)
	}
	_, err = io.Copy(within, apart.Open(ctx, written{values, w}, run, of.seq, of.Apart))
	return err
}

// exportPieces writes the pieces of a value that nobody can look into here.
func exportPieces(ctx context.Context, values world.Values, run, id string, w *history.Writer) error {
	for n := 0; ; n++ {
		data, err := values.Piece(ctx, run, id, n)
		if errors.Is(err, world.ErrNotFound) && n > 0 {
			return nil
		}
		if err == nil {
			err = w.AddPiece(id, n, data)
		}
		if err != nil {
			return err
		}
	}
}

// written are values each piece of which is written to a file as it is read.
type written struct {
	world.Values
	to *history.Writer
}

// Piece reads a piece, and writes it.
func (v written) Piece(ctx context.Context, run, value string, number int) ([]byte, error) {
	data, err := v.Values.Piece(ctx, run, value, number)
	if err == nil {
		err = v.to.AddPiece(value, number, data)
	}
	return data, err
}

// brought are the values that came with a history.
type brought struct {
	world.Values // none
	app          *App
	h            *history.History
}

// Piece reads a piece, decrypted where its key is there.
func (v brought) Piece(_ context.Context, run, value string, number int) ([]byte, error) {
	data, err := v.h.Values.Piece(value, number)
	if err != nil {
		return nil, err
	}
	return crypt.Of(v.app.cfg.Encryption).OpenPiece(run, value, number, data)
}

// valuesToImport are the values that came with a history and that its log, decrypted, refers to: all of them were
// read, and are what it says. What the log names and the file does not bring the run did not hold, and does not hold
// here: its birth may name an origin that does.
func valuesToImport(ctx context.Context, a *App, h *history.History, events []world.Event) (valueRefs, error) {
	refs := newValueRefs()
	for i := range events {
		e := &events[i]
		whole, names := world.SplitApart(e.Apart)
		what := ""
		switch {
		case e.Apart != "" && h.Values == nil:
			what = "export the run with its values"
		case whole != "" && !h.Values.Has(whole):
			what = "the file was changed"
		}
		if what != "" {
			return refs, fmt.Errorf("%w: event %d refers to value %s, which is stored outside of the log, and the file does not include it: %s",
				ErrInvalid, e.Seq, cmp.Or(whole, strings.Join(names, ", ")), what)
		}
		refs.add(e)
	}
	if h.Values == nil {
		return valueRefs{}, nil
	}
	for _, named := range []bool{false, true} {
		of := refs.of(named)
		for _, id := range slices.Sorted(maps.Keys(of)) {
			if !h.Values.Has(id) {
				delete(of, id)
				continue
			}
			if _, err := io.Copy(refs.within(named, of[id].seq), apart.Open(ctx, brought{app: a, h: h}, h.Run, of[id].seq, of[id].Apart)); err != nil {
				return refs, err
			}
		}
	}
	return refs, nil
}

// moving are values on their way into a world, for a run that is not there yet.
type moving struct {
	a     *App
	h     *history.History
	refs  valueRefs
	ids   map[string]string // that values have here, where another run has theirs
	moved []*apart.Writer
}

// drop gives up what was moved.
func (m *moving) drop() {
	for _, w := range m.moved {
		w.Drop()
	}
}

// move keeps the values, and says in the events what they are here.
func (m *moving) move(ctx context.Context, events []world.Event) error {
	for _, id := range slices.Sorted(maps.Keys(m.refs.named)) {
		if _, err := m.value(ctx, m.refs.named[id].Apart, false); err != nil {
			return err
		}
	}
	whole := map[string]world.Apart{}
	for _, id := range slices.Sorted(maps.Keys(m.refs.whole)) {
		of, err := m.value(ctx, m.refs.whole[id].Apart, len(m.ids) > 0)
		if err != nil {
			return err
		}
		whole[id] = of
	}
	for i := range events {
		e := &events[i]
		id, names := world.SplitApart(e.Apart)
		names = slices.DeleteFunc(names, func(id string) bool { return !m.h.Values.Has(id) })
		for i := range names {
			names[i] = cmp.Or(m.ids[names[i]], names[i])
		}
		if of := whole[id]; id != "" {
			e.Payload, id = of.JSON(), of.ID
		} else if len(m.ids) > 0 {
			e.Payload = bytes.Clone(e.Payload)
			renameValues(e.Payload, m.ids)
		}
		e.Apart = world.JoinApart(id, names)
	}
	return nil
}

// value keeps a value, under its own ID where no other run has that here. One that names values which have other IDs
// here is another.
func (m *moving) value(ctx context.Context, of world.Apart, changes bool) (world.Apart, error) {
	for anew := false; ; anew = true {
		var from io.Reader = apart.Open(ctx, brought{app: m.a, h: m.h}, m.h.Run, 0, of)
		if changes {
			from = &renamed{from: from, ids: m.ids}
		}
		to := apart.NewWriter(ctx, m.a.world.Values(), m.h.Run, world.MaxApart)
		if to.ForBirth(true); !anew {
			to.As(of.ID)
		}
		_, err := to.ReadFrom(from)
		is := of
		if err == nil {
			is, err = to.Finish()
		}
		switch {
		case err == nil:
			m.moved = append(m.moved, to)
			if is.ID != of.ID {
				m.ids[of.ID] = is.ID
			}
			return is, nil
		case errors.Is(err, world.ErrNotFound) && !anew:
			continue
		}
		to.Drop()
		return is, err
	}
}

// valueID is how long the IDs of values are.
var valueID = len(world.NewID(world.PrefixApart, world.Now()))

// renameValues puts other IDs into a text.
func renameValues(text []byte, ids map[string]string) {
	for rest := text; ; rest = rest[1:] {
		at := bytes.Index(rest, []byte(world.PrefixApart+"_"))
		if at < 0 || len(rest) < at+valueID {
			return
		}
		rest = rest[at:]
		if id, ok := ids[string(rest[:valueID])]; ok {
			copy(rest, id)
		}
	}
}

// renamed is a value with other IDs in it.
type renamed struct {
	from      io.Reader
	ids       map[string]string
	out, held []byte // to be read; and what may begin an ID
	err       error
}

func (r *renamed) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		part := make([]byte, 64<<10)
		n := copy(part, r.held)
		m, err := r.from.Read(part[n:])
		part, r.err = part[:n+m], err
		renameValues(part, r.ids)
		ready := len(part)
		if err == nil {
			ready = max(0, len(part)-valueID+1)
		}
		r.out, r.held = part[:ready], part[ready:]
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}
