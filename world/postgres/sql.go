package postgres

import (
	"embed"
	"path"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// statement is one file of sql/. In the file {schema} stands for the schema's quoted name; each World has texts of its own.
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
		panic("postgres: " + err.Error())
	}
	s := &statement{name: name, text: placeholders.Replace(strings.TrimSpace(string(text))), index: len(statements)}
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
