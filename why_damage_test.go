package stepwell

// A run whose log cannot be read is still told of.

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// damaged is a world that has one event of each log, and then an error.
type damaged struct {
	world.World
	err error
}

func (d *damaged) Events(ctx context.Context, run string, q world.EventQuery) (world.EventPage, error) {
	if q.Cursor != "" {
		return world.EventPage{}, fmt.Errorf("run %s: %w", run, d.err)
	}
	q.Limit = 1
	page, err := d.World.Events(ctx, run, q)
	page.More = true
	return page, err
}

func TestStoryOfADamagedLog(t *testing.T) {
	gone := errors.New("gone")
	for _, test := range []struct{ err, want error }{
		{&world.CorruptError{Run: "r", Seq: 2, Err: errors.New("no such type")}, nil},
		{world.ErrFormat, nil},
		{gone, gone},
	} {
		app, err := New(&damaged{memory.New(), test.err}, Config{})
		if err != nil {
			t.Fatal(err)
		}
		run, err := app.Start(t.Context(), "any", []byte("1"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := app.Story(t.Context(), run.ID(), true)
		if !errors.Is(err, test.want) {
			t.Fatalf("%v: error %v, want %v", test.err, err, test.want)
		}
		if err == nil && (s.Damage == "" || s.Journal.Workflow != "any" || s.Why.Kind != WhyNoWorker) {
			t.Errorf("%v: damage %q, workflow %q, why %s; want all three told", test.err, s.Damage, s.Journal.Workflow, s.Why)
		}
	}
}
