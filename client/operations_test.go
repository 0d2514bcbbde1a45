package client_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/api"
)

var update = flag.Bool("update", false, "write operations.go anew")

// TestOperations: the client has a method for each row of the table; -update writes them.
func TestOperations(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("package client\n\n// This file is made of the table of package api: go test ./client -run TestOperations -update\n\n" +
		"import (\n\"context\"\n\n\"github.com/stepwell/stepwell/api\"\n)\n")
	rows := api.Rows()
	slices.SortFunc(rows, func(a, b *api.Row) int { return strings.Compare(a.ID, b.ID) })
	for _, row := range rows {
		name := strings.ToUpper(row.ID[:1]) + row.ID[1:]
		about := fmt.Sprintf("%s is %s %s, for a key of scope %s.\n%s.", name, row.Method, row.Path, row.Scope, row.Summary)
		out, answer := "api."+row.Out.Name(), "return api.Do(ctx, c, api."+name+"Op, in)"
		if row.Out == reflect.TypeFor[api.None]() {
			out, answer = "", "_, err := api.Do(ctx, c, api."+name+"Op, in)\nreturn err"
		}
		fmt.Fprintf(&b, "\n%s\nfunc (c *Client) %s(ctx context.Context, in api.%s) %s {\n%s\n}\n", comment(about), name, row.In.Name(), result(out), answer)
	}
	want, err := format.Source(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("operations.go", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("operations.go")
	if err != nil {
		t.Fatal(err)
	}
	if got = bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")); !bytes.Equal(got, want) {
		t.Error("operations.go is not what the table says: go test ./client -run TestOperations -update writes it")
	}
}

func result(out string) string {
	if out == "" {
		return "error"
	}
	return "(" + out + ", error)"
}

// comment is a text as a comment of at most 100 columns.
func comment(text string) string {
	line, all := "//", ""
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > 100 {
			all, line = all+line+"\n", "//"
		}
		line += " " + word
	}
	return all + line
}
