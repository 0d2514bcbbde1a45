package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
)

// TestRefusedContentBlocksTheRun: a commit that the database refuses for what is in it is refused again, however often it is
// tried. Its run is blocked and says why; others go on.
func TestRefusedContentBlocksTheRun(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"22021", "22P05", "23514", "54000"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			flow := stepwell.Define("flow", func(ctx stepwell.Context, name string) (int, error) {
				if err := stepwell.Do(ctx, "first", func(context.Context) error { return nil }); err != nil { // the start is accepted
					return 0, err
				}
				return stepwell.Step(ctx, name, func(context.Context) (int, error) { return 1, nil })
			})
			b := openBank(t, flow)
			b.exec(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN RAISE EXCEPTION 'not this' USING ERRCODE = '` + state + `'; END $f$;
				CREATE TRIGGER refuse BEFORE INSERT ON stepwell.log FOR EACH ROW WHEN (NEW.head LIKE '%"poison"%') EXECUTE FUNCTION refuse()`)
			poisoned, err := flow.Start(t.Context(), b.app, "poison")
			if err != nil {
				t.Fatal(err)
			}
			well, err := flow.Start(t.Context(), b.app, "well")
			if err != nil {
				t.Fatal(err)
			}
			wants(b, well, 1)
			w, err := postgres.Open(t.Context(), b.url)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Close() }()
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			var is world.Run
			for is.Queue == nil || is.Queue.Blocked == nil {
				if is, err = w.Run(ctx, poisoned.ID()); err != nil {
					t.Fatal(errors.Join(errors.New("the run was not blocked"), err))
				}
			}
			if got := is.Queue.Blocked.Message; !strings.Contains(got, "SQLSTATE "+state) || !strings.Contains(got, "not this") {
				t.Errorf("blocked: %s; want the SQLSTATE %s", got, state)
			}
		})
	}
}
