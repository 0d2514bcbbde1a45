package postgres

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// goldenPlans compares plans with those of the server's version. Versions that have none are held to the rules alone, and so are other sizes, where of
// two tables that are joined by their keys either may come first.
func goldenPlans(t *testing.T, p *planner, name, plans string) {
	t.Helper()
	file := fmt.Sprintf("%s.%d.txt", name, p.major())
	if _, err := os.Stat(filepath.Join("testdata", file)); (err == nil || *update) && sleepers(t) == fewSleepers {
		golden(t, file, plans)
	}
}

// mayRead are statements that read all of a large table on purpose: for people, seldom.
var mayRead = map[string]bool{"doctor_tasks": true, "doctor_unowned": true, "doctor_orphans": true, "doctor_inbox": true, "doctor_counts": true, "give_again": true, "doctor_ends": true, "recount": true, "lost_owners": true, "mend_limits": true, "list_holders": true}

// Over many runs that sleep, every statement finds what it needs by an index, and touches as many pages as over a few.
func TestPlans(t *testing.T) {
	t.Parallel()
	n := sleepers(t)
	w := fill(t, n)
	t.Run("once for all", func(t *testing.T) { testGeneric(t, w) })
	t.Run("hot", func(t *testing.T) { testHot(t, w, n) })
}

// testGeneric holds all statements, by the plans that the server makes once for all calls.
func testGeneric(t *testing.T, w *World) {
	p := newPlanner(t, w, "force_generic_plan")
	var plans strings.Builder
	used := make(map[string]bool)
	for _, s := range slices.SortedFunc(slices.Values(statements), func(a, b *statement) int { return strings.Compare(a.name, b.name) }) {
		used[s.name] = true
		if !strings.HasPrefix(s.text, "-- ") {
			t.Errorf("%s: does not begin with a comment", s.name)
		}
		if _, rest, _ := strings.Cut(withoutComments(s.text), " "); rest == "" || !plannable(s.text) {
			continue
		}
		name, n := p.prepare(s)
		plan := p.explain(s, "COSTS off", name, slices.Repeat([]string{"NULL"}, n))
		if !ofCatalog.MatchString(s.text) {
			fmt.Fprintf(&plans, "%s\n", s.name)
			plan.write(&plans, 1)
		}
		if bad := faults(plan); len(bad) > 0 && !mayRead[s.name] {
			t.Errorf("%s %s", s.name, strings.Join(bad, ", "))
		}
	}
	for name := range sqlTexts {
		if !used[name] {
			t.Errorf("the statement %s is not used", name)
		}
	}
	goldenPlans(t, p, "plans", plans.String())
}

// ofCatalog finds statements that read the server's own tables. Their plans follow what else is on the server, and so are not in the golden file.
var ofCatalog = regexp.MustCompile(`\bpg_(catalog|class|index|namespace|tables|stat|locks|settings|database|replication|prepared)`)

func withoutComments(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "--") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// plannable reports whether a statement has a plan.
func plannable(text string) bool {
	first, _, _ := strings.Cut(withoutComments(text), " ")
	return slices.Contains([]string{"SELECT", "INSERT", "UPDATE", "DELETE", "WITH"}, strings.TrimSpace(first))
}
