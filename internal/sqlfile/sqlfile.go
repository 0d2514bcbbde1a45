// Package sqlfile reads files that hold several SQL statements, each under its name:
//
//	-- name: claim_run
//	-- A worker claims a run that nobody owns.
//	UPDATE queue SET owner = ?2 …
//
// The form is that of sqlc and yesql. A file holds the statements of one topic.
package sqlfile

import (
	"fmt"
	"io/fs"
	"strings"
)

const marker = "-- name: "

// Read returns the statements of every *.sql file in dir, by name. The text of a statement is what stands between its
// name and the next one, trimmed. It fails for a file with text before its first name, for an empty statement and for a
// name that two statements have.
func Read(files fs.FS, dir string) (map[string]string, error) {
	paths, err := fs.Glob(files, dir+"/*.sql")
	if err != nil {
		return nil, err
	}
	statements := map[string]string{}
	for _, path := range paths {
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return nil, err
		}
		if err := split(string(text), statements); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return statements, nil
}

// split adds the statements of one file.
func split(text string, to map[string]string) error {
	head, rest, _ := strings.Cut("\n"+text, "\n"+marker)
	for line := range strings.Lines(head) {
		if line := strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "--") {
			return fmt.Errorf("%q stands before the first %q", line, marker)
		}
	}
	for rest != "" {
		var block string
		block, rest, _ = strings.Cut(rest, "\n"+marker)
		name, body, _ := strings.Cut(block, "\n")
		name, body = strings.TrimSpace(name), strings.TrimSpace(body)
		switch _, twice := to[name]; {
		case name == "" || body == "":
			return fmt.Errorf("statement %q is empty", name)
		case twice:
			return fmt.Errorf("statement %q stands twice", name)
		}
		to[name] = body
	}
	return nil
}
