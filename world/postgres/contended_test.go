package postgres_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/postgres"
)

// TestContendedTransactionsUseUpNoAttempt: a serialization failure and a deadlock are no fault of the step, be it in the
// body or at COMMIT.
func TestContendedTransactionsUseUpNoAttempt(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"40001", "40P01"} {
		raise := "DO $do$ BEGIN RAISE EXCEPTION 'contended' USING ERRCODE = '" + state + "'; END $do$"
		for where, sql := range map[string]string{"in the body": raise, "at COMMIT": "INSERT INTO contended VALUES (1)"} {
			for _, queued := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s, queued=%v", state, where, queued), func(t *testing.T) {
					t.Parallel()
					var calls atomic.Int32
					body := func(ctx context.Context, _ int) (int, error) {
						n := int(calls.Add(1))
						_, err := postgres.TxFrom(ctx).Exec(ctx, move, "ada", -1)
						if n <= 2 {
							_, err = postgres.TxFrom(ctx).Exec(ctx, sql)
						}
						return n, err
					}
					once := stepwell.Retry{Attempts: 1}
					step := stepwell.DefineStep("step", body, once, stepwell.Transactional())
					other := stepwell.DefineStep("other", func(context.Context, int) (int, error) { return 0, nil })
					flow := stepwell.Define("flow", func(ctx stepwell.Context, _ int) (int, error) {
						if !queued {
							return stepwell.Step(ctx, "step", func(ctx context.Context) (int, error) { return body(ctx, 0) }, once, stepwell.Transactional())
						}
						inPlace := other.Start(ctx, 0) // the first runs in place, the second is queued
						n, err := step.Start(ctx, 0).Get(ctx)
						if _, e := inPlace.Get(ctx); err == nil {
							err = e
						}
						return n, err
					})
					b := openBank(t, flow, step, other)
					b.exec(`CREATE TABLE contended (n integer);
						CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN RAISE EXCEPTION 'contended' USING ERRCODE = '` + state + `'; END $f$;
						CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON contended DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`)
					run, err := flow.Start(t.Context(), b.app, 0)
					if err != nil {
						t.Fatal(err)
					}
					wants(b, run, 3)
					if got := b.balance("ada"); got != 99 {
						t.Errorf("balance = %d, want 99: one attempt's writes", got)
					}
				})
			}
		}
	}
}
