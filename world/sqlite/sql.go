package sqlite

import (
	"embed"

	"github.com/stepwell/stepwell/internal/sqlfile"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// texts are all statements of the files of sql/, by name.
var texts = func() map[string]string {
	all, err := sqlfile.Read(sqlFiles, "sql")
	if err != nil {
		panic("sqlite: " + err.Error())
	}
	return all
}()

// statement is one that a file of sql/ names; every connection prepares it once.
type statement struct {
	name  string
	text  string
	index int
}

// statements are all that are used, by index.
var statements []*statement

// load finds a statement by its name, and puts the columns of a run into it. It panics where there is none: the name is
// written wrong.
func load(name string) *statement {
	text, ok := texts[name]
	if !ok {
		panic("sqlite: no file of sql/ names " + name)
	}
	s := &statement{name: name, text: placeholders.Replace(text), index: len(statements)}
	statements = append(statements, s)
	return s
}

var (
	begin    = load("begin")
	commit   = load("commit")
	rollback = load("rollback")
)
