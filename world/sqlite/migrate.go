package sqlite

import (
	_ "embed"
	"fmt"

	"github.com/stepwell/stepwell/world"
)

//go:embed schema.sql
var schema string

// step is one step of the schema. A file's version is how many it has taken; its age stands above that, see age.go.
type step struct{ name, sql string }

// steps are the schema's. The first makes an empty file ours; what a later release adds is one more.
var steps = []step{{"init", schema}}

// script is the step's SQL, which ends with the version that it brings a file to.
func (s step) script(version int) string {
	return fmt.Sprintf("%s\nPRAGMA user_version = %d;\n", s.sql, version)
}

// applicationID marks a file as ours: "SWL1".
const applicationID = 0x53574c31

var (
	schemaVersion = load("schema_version")
	application   = load("application_id")
	countTables   = load("count_tables")
	journalWAL    = load("journal_wal")
)

// migrate takes the steps that a file lacks, in one transaction. A file that is not ours, or is newer, is left as it is.
func migrate(c *conn, steps []step) error {
	version, err := checkSchema(c, len(steps))
	if err != nil {
		return err
	}
	if mode, err := pragma(c, journalWAL); err != nil {
		return err
	} else if mode != "wal" {
		return fmt.Errorf("%w: the file system does not allow a write-ahead log (journal mode %s); use a local disk", world.ErrStorage, mode)
	}
	if version == len(steps) {
		return nil
	}
	if _, err := c.exec(begin); err != nil {
		return err
	}
	if err := takeSteps(c, steps); err != nil {
		_, _ = c.exec(rollback)
		return err
	}
	_, err = c.exec(commit)
	return err
}

// takeSteps takes those that another process has not taken meanwhile.
func takeSteps(c *conn, steps []step) error {
	version, err := checkSchema(c, len(steps))
	if err != nil || version == len(steps) {
		return err
	}
	age, _, err := ageOf(c)
	if err != nil {
		return err
	}
	for i := version; i < len(steps); i++ {
		if err := c.run(steps[i].script(i + 1)); err != nil {
			return fmt.Errorf("step %d of the schema, %s: %w", i+1, steps[i].name, err)
		}
	}
	return setAge(c, age+1, int64(len(steps)))
}

// checkSchema returns the version of the file's schema, 0 for an empty file.
func checkSchema(c *conn, newest int) (int, error) {
	var said, app, tables int64
	for s, to := range map[*statement]*int64{schemaVersion: &said, application: &app, countTables: &tables} {
		if _, err := c.one(s, func(r row) error { *to = r.int(0); return nil }); err != nil {
			return 0, err
		}
	}
	version := said & versionMask
	switch {
	case app == applicationID && version > int64(newest):
		return 0, fmt.Errorf("%w: the file has schema version %d, but this release only knows %d; use a newer release", world.ErrStorage, version, newest)
	case app != applicationID && (app != 0 || said != 0 || tables != 0):
		return 0, fmt.Errorf("%w: this SQLite database belongs to another program; give another path", world.ErrStorage)
	}
	return int(version), nil
}

// pragma runs a statement that answers with one text.
func pragma(c *conn, s *statement) (text string, err error) {
	_, err = c.one(s, func(r row) error { text = r.text(0); return nil })
	return text, err
}
