package postgres

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// node is a part of a query plan, as EXPLAIN tells it in JSON.
type node struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Index    string  `json:"Index Name"`
	Subplan  string  `json:"Subplan Name"`
	CTE      string  `json:"CTE Name"`
	Join     string  `json:"Join Type"`
	Strategy string  `json:"Strategy"`
	Hit      int64   `json:"Shared Hit Blocks"`
	Read     int64   `json:"Shared Read Blocks"`
	Cond     string  `json:"Index Cond"`
	Loops    float64 `json:"Actual Loops"`
	Rows     float64 `json:"Actual Rows"` // of a loop, as are the next
	Removed  float64 `json:"Rows Removed by Filter"`
	Unjoined float64 `json:"Rows Removed by Join Filter"`
	Plans    []node  `json:"Plans"`
}

// numbers are in the names of subplans; those that were thought of and dropped count too.
var numbers = regexp.MustCompile(`^(SubPlan|InitPlan) .*`)

// write draws the query plan without what differs from one machine and one size to another. What keeps a few rows in memory between two looks is left out: the
// planner sees no difference that statistics do not change.
func (n *node) write(b *strings.Builder, depth int) {
	if n.Type == "Materialize" && n.Subplan == "" && len(n.Plans) == 1 {
		n.Plans[0].write(b, depth)
		return
	}
	b.WriteString(strings.Repeat("  ", depth))
	if n.Subplan != "" {
		fmt.Fprintf(b, "%s: ", numbers.ReplaceAllString(n.Subplan, "$1"))
	}
	b.WriteString(n.Type)
	if n.Relation != "" {
		fmt.Fprintf(b, " on %s", n.Relation)
	}
	if n.Index != "" {
		fmt.Fprintf(b, " by %s", n.Index)
	}
	if n.CTE != "" {
		fmt.Fprintf(b, " of %s", n.CTE)
	}
	if n.Join != "" && n.Join != "Inner" {
		fmt.Fprintf(b, " (%s)", n.Join)
	}
	b.WriteString("\n")
	for i := range n.Plans {
		n.Plans[i].write(b, depth+1)
	}
}

// pages counts the pages that a query plan touched. What changes rows on the side, and is not read by the rest, counts beside the rest.
func (n *node) pages() int64 {
	read := make(map[string]bool)
	n.each(func(n *node) { read[n.CTE] = true })
	all := n.Hit + n.Read
	n.each(func(n *node) {
		if name, ok := strings.CutPrefix(n.Subplan, "CTE "); ok && n.Type == "ModifyTable" && !read[name] {
			all += n.Hit + n.Read
		}
	})
	return all
}

// rows counts the rows that a query plan looked at.
func (n *node) rows() (all int64) {
	n.each(func(n *node) { all += int64(n.Loops * (n.Rows + n.Removed + n.Unjoined)) })
	return all
}

// each calls f for the node and all below it.
func (n *node) each(f func(*node)) {
	f(n)
	for i := range n.Plans {
		n.Plans[i].each(f)
	}
}

// planner explains statements on a connection of its own, as prepared statements are run.
type planner struct {
	t  *testing.T
	w  *World
	c  *pgx.Conn
	at int
}

func newPlanner(t *testing.T, w *World, mode string) *planner {
	t.Helper()
	c, err := pgx.ConnectConfig(t.Context(), w.cfg.ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(t.Context()) })
	if _, err := c.Exec(t.Context(), "SET plan_cache_mode = "+mode); err != nil {
		t.Fatal(err)
	}
	return &planner{t: t, w: w, c: c}
}

// prepare prepares a statement, and tells its name and how many parameters it has.
func (p *planner) prepare(s *statement) (name string, parameters int) {
	p.t.Helper()
	p.at++
	name = fmt.Sprintf("plan_%d", p.at)
	d, err := p.c.Prepare(p.t.Context(), name, p.w.sql(s))
	if err != nil {
		p.t.Fatalf("%s: %v", s.name, err)
	}
	return name, len(d.ParamOIDs)
}

// explain runs EXPLAIN with options on a prepared statement, in a transaction that is rolled back.
func (p *planner) explain(s *statement, options, name string, args []string) *node {
	p.t.Helper()
	tx, err := p.c.Begin(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(p.t.Context()) }()
	call := name
	if len(args) > 0 {
		call += "(" + strings.Join(args, ", ") + ")"
	}
	var text []byte
	if err := tx.QueryRow(p.t.Context(), fmt.Sprintf("EXPLAIN (%s, FORMAT JSON) EXECUTE %s", options, call), pgx.QueryExecModeSimpleProtocol).Scan(&text); err != nil {
		p.t.Fatalf("%s: %v", s.name, err)
	}
	var plans []struct{ Plan node }
	if err := json.Unmarshal(text, &plans); err != nil || len(plans) != 1 {
		p.t.Fatalf("%s: %d plans, %v", s.name, len(plans), err)
	}
	return &plans[0].Plan
}

// major is the major version of the server.
func (p *planner) major() int {
	p.t.Helper()
	var version int
	if err := p.c.QueryRow(p.t.Context(), "SELECT current_setting('server_version_num')::int / 10000").Scan(&version); err != nil {
		p.t.Fatal(err)
	}
	return version
}

// literals are Go values as EXECUTE takes them.
func literals(args []any) (texts []string) {
	for _, a := range args {
		texts = append(texts, literal(a))
	}
	return texts
}

func literal(a any) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	switch a := a.(type) {
	case nil:
		return "NULL"
	case string:
		return quote(a)
	case time.Time:
		return quote(a.UTC().Format("2006-01-02 15:04:05.999999Z07:00"))
	case []byte:
		return fmt.Sprintf(`'\x%x'`, a)
	case bool, int, int64:
		return fmt.Sprint(a)
	}
	v := reflect.ValueOf(a)
	if v.Kind() != reflect.Slice {
		panic(fmt.Sprintf("no literal for %T", a))
	}
	var texts []string
	for i := range v.Len() {
		text := literal(v.Index(i).Interface())
		if text != "NULL" {
			text = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(strings.Trim(text, "'")) + `"`
		}
		texts = append(texts, text)
	}
	return quote("{" + strings.Join(texts, ",") + "}")
}

// large are the tables that no statement may read as a whole.
var large = []string{"runs", "queue", "log", "inbox", "tasks", "hooks", "awaits", "chunks", "attributes", "publications", "due"}

// faults says what a query plan does that it must not: look at a whole large table, or at a whole index of one. Where it stops after some rows it may begin
// at the end of an index.
func faults(n *node) (all []string) {
	var look func(n *node, stops bool)
	look = func(n *node, stops bool) {
		if slices.Contains(large, n.Relation) && !stops {
			switch {
			case n.Type == "Seq Scan":
				all = append(all, "reads all of "+n.Relation)
			case strings.HasPrefix(n.Type, "Index ") && n.Cond == "":
				all = append(all, "reads all of "+n.Index)
			}
		}
		for i := range n.Plans {
			look(&n.Plans[i], n.Type == "Limit" || stops && (n.Type == "LockRows" || n.Type == "Result" || n.Type == "Nested Loop" && i == 0))
		}
	}
	look(n, false)
	return all
}
