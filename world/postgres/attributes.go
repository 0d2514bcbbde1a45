package postgres

// What runs show of themselves: the truth is a text in the run's row; a narrow table beside it finds runs by it, in the order of lists.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var (
	attributesOf     = load("attributes_of")
	setAttributes    = load("set_attributes")
	insertAttributes = load("insert_attributes")
	deleteAttributes = load("delete_attributes")
)

type attrRow struct {
	run   int64
	attrs *string
}

// foundRow is a row by which lists find a run; see [world.AttributeKey].
type foundRow struct {
	name, value string
	created     time.Time
	run         int64
}

// followAttributes puts on the sheet what events do to a run's attributes: some are changed, or all are replaced. Those of a birth are in its row.
// Nobody but the owner changes them, so what this World remembers of them is right.
func (d *draft) followAttributes(r *run, birth bool, changed map[string]json.RawMessage, whole bool) error {
	if len(changed) == 0 && !whole {
		if birth {
			d.findBy(r, nil, r.attrs)
		}
		return nil
	}
	if !r.attrsKnown {
		if err := d.readAttributes(r); err != nil {
			return err
		}
	}
	was, now := r.attrs, changed
	if !whole {
		now = make(map[string]json.RawMessage, len(was)+len(changed))
		maps.Copy(now, was)
		maps.Copy(now, changed)
	}
	if !maps.EqualFunc(was, now, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		text, err := world.AttributeText(now)
		if err != nil {
			return fmt.Errorf("run %s: %w", r.id, err)
		}
		d.sheet.attrs = append(d.sheet.attrs, attrRow{run: r.key, attrs: orNull(clean(text))})
	}
	if r.attrs = now; birth {
		was = nil
	}
	d.findBy(r, was, now)
	return nil
}

func (d *draft) readAttributes(r *run) error {
	scan := func(row scanner) error {
		var text *string
		if err := row.Scan(&text); err != nil {
			return err
		}
		r.attrs = nil
		if err := unmarshal("attributes", text, &r.attrs); err != nil {
			return fmt.Errorf("run %s: %w", r.id, err)
		}
		return nil
	}
	r.attrsKnown = true
	if d.tx != nil {
		return d.tx.each(d.ctx, attributesOf, scan, r.key)
	}
	return d.w.read(d.ctx, attributesOf, func(row pgx.Rows) error { return scan(row) }, r.key)
}

// findBy makes lists find a run by the attributes that it has now, and no more by those that it had.
func (d *draft) findBy(r *run, was, now map[string]json.RawMessage) {
	s := &d.sheet
	keys := make(map[string]string, len(was))
	for name, value := range was {
		keys[name] = world.AttributeKey(value)
		if next, ok := now[name]; !ok || world.AttributeKey(next) != keys[name] {
			s.lostBy = append(s.lostBy, foundRow{clean(name), keys[name], r.created, r.key})
		}
	}
	for name, value := range now {
		key := world.AttributeKey(value)
		if before, ok := keys[name]; !ok || before != key {
			s.foundBy = append(s.foundBy, foundRow{clean(name), key, r.created, r.key})
		}
	}
}

// writeAttributes adds what changes of attributes write.
func (b *script) writeAttributes(s *sheet) {
	b.put(len(s.attrs), setAttributes, func() []any {
		return []any{
			column(s.attrs, func(r *attrRow) int64 { return r.run }), column(s.attrs, func(r *attrRow) *string { return r.attrs }),
		}
	})
	b.put(len(s.lostBy), deleteAttributes, func() []any { return foundArgs(s.lostBy) })
	b.put(len(s.foundBy), insertAttributes, func() []any { return foundArgs(s.foundBy) })
}

func foundArgs(rows []foundRow) []any {
	return []any{
		column(rows, func(r *foundRow) string { return r.name }), column(rows, func(r *foundRow) string { return r.value }),
		column(rows, func(r *foundRow) time.Time { return r.created }), column(rows, func(r *foundRow) int64 { return r.run }),
	}
}
