package sqlite

// What runs show of themselves: the truth is a text in the run's row; a narrow table beside it finds runs by it.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/stepwell/stepwell/world"
)

var (
	attributesOf    = load("attributes_of")
	setAttributes   = load("set_attributes")
	insertAttribute = load("insert_attribute")
	deleteAttribute = load("delete_attribute")
)

// attributes are what runs show of themselves.
//
//   - Lists find a run by what its text says, and by nothing else.
type attributes struct{ tx *txn }

// set gives a run an attribute, or another value of it.
func (at *attributes) set(r *run, name string, value []byte) error {
	was, err := at.of(r)
	if err != nil {
		return err
	}
	now := maps.Clone(was)
	if now == nil {
		now = make(map[string]json.RawMessage)
	}
	now[name] = value
	return at.write(r, was, now)
}

// replace gives a run other attributes in the place of all it has.
func (at *attributes) replace(r *run, now map[string]json.RawMessage) error {
	was, err := at.of(r)
	if err != nil {
		return err
	}
	return at.write(r, was, now)
}

// of reads those of a run.
func (at *attributes) of(r *run) (attrs map[string]json.RawMessage, err error) {
	_, err = at.tx.one(attributesOf, func(row row) error { return unmarshal(row.bytes(0), &attrs) }, r.key)
	if err != nil {
		return nil, fmt.Errorf("%w: run %s: attributes: %w", world.ErrCorrupt, r.id, err)
	}
	return attrs, nil
}

// write writes what has changed.
func (at *attributes) write(r *run, was, now map[string]json.RawMessage) error {
	if maps.EqualFunc(was, now, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		return nil
	}
	text, err := world.AttributeText(now)
	if err != nil {
		return fmt.Errorf("run %s: %w", r.id, err)
	}
	if err := at.tx.exec(setAttributes, r.key, orNull(text)); err != nil {
		return err
	}
	return at.findBy(r.key, was, now)
}

// findBy makes lists find a run by the attributes that it has now, and no more by those that it had.
func (at *attributes) findBy(run int64, was, now map[string]json.RawMessage) error {
	return eachChange(was, now, func(name, value string, now bool) error {
		s := deleteAttribute
		if now {
			s = insertAttribute
		}
		return at.tx.exec(s, name, value, run)
	})
}

// eachChange tells of attributes whose keys are not what they were: of the old one first, then of the new one.
func eachChange(was, now map[string]json.RawMessage, each func(name, value string, now bool) error) error {
	keys := make(map[string]string, len(was))
	for name, value := range was {
		key := world.AttributeKey(value)
		keys[name] = key
		if next, ok := now[name]; ok && world.AttributeKey(next) == key {
			continue
		}
		if err := each(name, key, false); err != nil {
			return err
		}
	}
	for name, value := range now {
		key := world.AttributeKey(value)
		if before, ok := keys[name]; ok && before == key {
			continue
		}
		if err := each(name, key, true); err != nil {
			return err
		}
	}
	return nil
}
