package postgres

import (
	"embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/internal/sqlfile"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// statement is one block of a file of sql/. In the file {schema} stands for the schema's quoted name; each World has texts of its own.
type statement struct {
	name  string
	text  string
	index int
}

// statements are all that are used, by index.
var statements []*statement

// sqlTexts are the texts of all files, by the names of the statements.
var sqlTexts = readSQL()

func readSQL() map[string]string {
	texts, err := sqlfile.Read(sqlFiles, "sql")
	if err != nil {
		panic("postgres: " + err.Error())
	}
	return texts
}

// load gives a statement, and puts the columns of a run into it. It panics where there is none: the name is written wrong.
func load(name string) *statement {
	text, ok := sqlTexts[name]
	if !ok {
		panic(fmt.Sprintf("postgres: no statement %q", name))
	}
	s := &statement{name: name, text: placeholders.Replace(text), index: len(statements)}
	statements = append(statements, s)
	return s
}

// inSchema puts the schema's name into a text of SQL.
func inSchema(text, schema string) string {
	return strings.ReplaceAll(text, "{schema}", pgx.Identifier{schema}.Sanitize())
}

// sql is the text of a statement for the schema.
func (db *database) sql(s *statement) string { return db.texts[s.index] }

// allTexts are the texts of all statements for a schema, by index.
func allTexts(schema string) []string {
	texts := make([]string, len(statements))
	for i, s := range statements {
		texts[i] = inSchema(s.text, schema)
	}
	return texts
}
