package postgres

import (
	"fmt"
	"testing"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
)

// A schema of the version before gets the origins that its logs tell, as this release writes them and as the first wrote them, and finds children that it had.
func TestMigrationFillsOrigins(t *testing.T) {
	t.Parallel()
	u := pgtest.URL(t)
	left, err := Pending(t.Context(), u)
	if err != nil || len(left) < 6 {
		t.Fatalf("got %d steps, %v; want six at least", len(left), err)
	}
	for _, step := range left[:5] {
		execute(t, u, step.SQL)
	}
	heads := []string{
		`{"c":"AAAAAAAAAAAAAAAAAAAAAA","b":"b","t":1,"e":[{"y":"run_created","b":{"w":"w","v":1,"or":"r0","os":7},"o":0,"l":1}]}`,
		`{"c":"AAAAAAAAAAAAAAAAAAAAAA","b":"b","t":1,"e":[{"y":"run_created","br":{"workflow":"w","version":1,"origin":{"run":"r0","seq":7}},"o":0,"l":1}]}`,
		`{"c":"AAAAAAAAAAAAAAAAAAAAAA","b":"b","t":1,"e":[{"y":"run_created","b":{"w":"w","v":1,"x":{"or":"r0"}},"o":0,"l":1}]}`,
		`{"c":"AAAAAAAAAAAAAAAAAAAAAA","b":"b","t":1,"e":[{"y":"run_created","b":{"w":"w","v":1},"o":0,"l":1}]}`,
	}
	for i, head := range heads {
		execute(t, u, fmt.Sprintf(`INSERT INTO stepwell.runs (key, id, workflow, version, status, priority, parent_run, parent_step, created_at, ended_at, retention_ns)
			VALUES (%d, 'f%[1]d', 'w', 1, 'completed', 1, 'p', 's', now(), now(), 0); INSERT INTO stepwell.log VALUES (%[1]d, 1, 1, 1, %s, '1')`, i+1, literal(head)))
	}
	execute(t, u, fmt.Sprintf(`INSERT INTO stepwell.totals VALUES ('w', 'completed', %d)`, len(heads)))
	w := openAt(t, u)
	made, err := w.Runs(t.Context(), world.RunQuery{Origin: "r0"})
	if err != nil || len(made.Runs) != 2 || made.Runs[0].ID != "f2" || made.Runs[1].ID != "f1" || made.Runs[1].Origin.Seq != 7 {
		t.Errorf("got %+v, %v; want f2 and f1", made.Runs, err)
	}
	children, err := w.Runs(t.Context(), world.RunQuery{Parent: "p"})
	if err != nil || len(children.Runs) != len(heads) {
		t.Errorf("got %d children, %v; want %d", len(children.Runs), err, len(heads))
	}
}
