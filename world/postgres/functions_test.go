package postgres

import (
	"context"


	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"



	"github.com/jackc/pgx/v5"



	"github.com/stepwell/stepwell/internal/pgtest"


)

// asCaller connects as a role that may call the four functions and has nothing else, as docs/sql.md grants it.
func asCaller(t *testing.T, u, schema string) *pgx.Conn {
	t.Helper()
	admin := pgtest.Shared(t).AdminURL(u)
	role := "door_" + strings.ToLower(regexp.MustCompile(`\W`).ReplaceAllString(t.Name(), "_"))
	execute(t, admin, fmt.Sprintf(`DROP ROLE IF EXISTS %s; CREATE ROLE %[1]s LOGIN PASSWORD 'p'; GRANT USAGE ON SCHEMA %[2]s TO %[1]s;
		GRANT EXECUTE ON FUNCTION %[2]s.publish, %[2]s.send, %[2]s.start, %[2]s.signal TO %[1]s`, role, schema))
	t.Cleanup(func() { execute(t, admin, fmt.Sprintf("DROP OWNED BY %s; DROP ROLE %[1]s", role)) })
	limited, err := url.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	limited.User = url.UserPassword(role, "p")
	c, err := pgx.Connect(t.Context(), limited.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// told is the answer of a query with one value.
func told[V any](t *testing.T, c querier, sql string, args ...any) (v V) {
	t.Helper()
	if err := c.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// tables are the rows of tables as JSON, without what differs from one time to the next.
func tables(t *testing.T, w *World, run string, names ...string) (all []string) {
	t.Helper()
	change := regexp.MustCompile(strings.NewReplacer("KEY", `(key|run|publication)`, "TIME", `(arrived_at|created_at|sent_at|due_at|visible_at|wake_at|ready_at|at)`).Replace(
		`"KEY":-?\d+|"TIME":"[^"]*"|\\"(c|s|nb)\\":("?\d+|\\"[^"]*\\")|` + `"sum":("[^"]*"|-?\d+)`))
	for _, name := range names {
		rows, err := w.pool.Query(t.Context(), fmt.Sprintf(`SELECT row_to_json(x)::text FROM stepwell.%s x ORDER BY 1`, name))
		if err != nil {
			t.Fatal(err)
		}
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		for i := range texts {
			texts[i] = name + " " + strings.ReplaceAll(change.ReplaceAllString(texts[i], ""), run, "RUN")
		}
		slices.Sort(texts)
		all = append(all, texts...)
	}
	return all
}
