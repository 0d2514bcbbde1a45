package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stepwell/stepwell/world"
)

// heads of births, as this release writes them and as the first wrote them, beside the origin that each tells.
var createdFrom = []struct{ front, origin string }{
	{`{"c":"AAAAAAAAAAAAAAAAAAAAAA","b":"b","t":1,"e":[{"y":"run_created","b":{"w":"w","v":1,"or":"r0","os":7},"o":0,"l":1}]}`, "r0"},
	{`{"c":"AAAAAAAAAAAAAAAAAAAAAA","b":"b","t":1,"e":[{"y":"run_created","br":{"workflow":"w","version":1,"origin":{"run":"r0","seq":7}},"o":0,"l":1}]}`, "r0"},
	{`{"c":"AAAAAAAAAAAAAAAAAAAAAA","b":"b","t":1,"e":[{"y":"run_created","b":{"w":"w","v":1,"x":{"or":"r0"}},"o":0,"l":1}]}`, ""},
	{`{"c":"AAAAAAAAAAAAAAAAAAAAAA","b":"b","t":1,"e":[{"y":"run_created","b":{"w":"w","v":1},"o":0,"l":1}]}`, ""},
}

// A file of the version before gets the origins that its logs tell, and finds children that it had.
func TestMigrationFillsOrigins(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	texts, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts[:6] {
		script(t, path, text)
	}
	for i, b := range createdFrom {
		script(t, path, fmt.Sprintf(`INSERT INTO runs (key, id, workflow, version, status, priority, parent_run, parent_step, detached, created_us, ended_us, retention_ns)
			VALUES (%d, 'f%[1]d', 'w', 1, 'completed', 1, 'p', 's', 0, 1, 1, 0); INSERT INTO log VALUES (%[1]d, 1, 1, 1, '%s', '1')`, i+1, b.front))
	}
	script(t, path, fmt.Sprintf(`INSERT INTO totals VALUES ('w', 'completed', %d)`, len(createdFrom)))
	w := openAt(t, path)
	made, err := w.Runs(t.Context(), world.RunQuery{Origin: "r0"})
	if err != nil || len(made.Runs) != 2 || made.Runs[0].ID != "f2" || made.Runs[1].ID != "f1" || made.Runs[1].Origin.Seq != 7 {
		t.Errorf("got %+v, %v; want f2 and f1", made.Runs, err)
	}
	children, err := w.Runs(t.Context(), world.RunQuery{Parent: "p"})
	if err != nil || len(children.Runs) != len(createdFrom) {
		t.Errorf("got %d children, %v; want %d", len(children.Runs), err, len(createdFrom))
	}
}
