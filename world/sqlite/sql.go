package sqlite

import (
	"embed"
	"path"
	"strings"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// statement is one file of sql/; every connection prepares it once.
type statement struct {
	name  string
	text  string
	index int
}

// statements are all that are used, by index.
var statements []*statement

// load reads the file of a statement, and puts the columns of a run into it. It panics where there is none: the name is
// written wrong.
func load(name string) *statement {
	text, err := sqlFiles.ReadFile(path.Join("sql", name+".sql"))
	if err != nil {
		panic("sqlite: " + err.Error())
	}
	s := &statement{name: name, text: placeholders.Replace(strings.TrimSpace(string(text))), index: len(statements)}
	statements = append(statements, s)
	return s
}

var (
	begin    = load("begin")
	commit   = load("commit")
	rollback = load("rollback")
)
