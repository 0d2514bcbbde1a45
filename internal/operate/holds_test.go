package operate_test

import (
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world/memory"
)

// TestListsSayWhatIsHeld: of the workflow that is held, and of no other.
func TestListsSayWhatIsHeld(t *testing.T) {
	ctx, w := t.Context(), memory.New()
	app, err := stepwell.New(w, stepwell.Config{Name: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Hold(ctx, "pay", "the bank is away"); err != nil {
		t.Fatal(err)
	}
	for _, workflow := range []string{"pay", "ship"} {
		if _, err := stepwell.Declare[int, int](workflow).Start(ctx, app, 1); err != nil {
			t.Fatal(err)
		}
	}
	stats, err := w.Stats(ctx)
	if err != nil {
		t.Fatal(err)
	}
	waits, err := operate.WaitsOf(ctx, app, &stats)
	if err != nil {
		t.Fatal(err)
	}
	page, err := app.Page(ctx, stepwell.ListFilter{}, "", 10)
	if err != nil || len(page.Runs) != 2 {
		t.Fatal(page, err)
	}
	for i := range page.Runs {
		r := &page.Runs[i]
		why := waits.Why(r, stats.Now)
		want := map[string]stepwell.WhyKind{"pay": stepwell.WhyHeld, "ship": stepwell.WhyNoWorker}[r.Workflow]
		if why.Kind != want || want == stepwell.WhyHeld && (why.By != "ann" || why.Reason != "the bank is away") {
			t.Errorf("%s: got %+v, want it %s", r.Workflow, why, want)
		}
	}
}
