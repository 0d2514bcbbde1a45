package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/answers"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
)

// TestAnswers: each answer holds on a real server and its clock, with the cache or without. The tests of one mode share
// a database.
//
// Left to worldtest, which shows them whole on this world: 27 ("ten thousand payloads are enough", "the owner can close
// its inbox"), and what is deleted in 21 and 22 ("sweeping a run leaves its relatives alone", "a key is free when its run
// is swept").
func TestAnswers(t *testing.T) {
	t.Parallel()
	modes := map[string]int{"cached": 0, "replayed": -1}
	for _, mode := range sample.OneKey(t, modes) {
		cache := modes[mode]
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			url := pgtest.URL(t)
			stage := answers.Stage{
				World: openAnswers(t, url),
				Mode:  func(cfg *stepwell.Config) { cfg.CacheRuns = cache },
				Clock: func(t testing.TB, now func() time.Time) world.World {
					return openAnswers(t, url, postgres.Options{Now: now})
				},
				Age: func(t testing.TB, run string) { age(t, url, run) },
			}
			for _, cases := range []map[string]answers.Answer{answers.Shared(), answers.InRealTime()} {
				for name, test := range cases {
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						test(t, stage)
					})
				}
			}
		})
	}
}

func openAnswers(t testing.TB, url string, opts ...postgres.Options) *postgres.World {
	t.Helper()
	w, err := postgres.Open(t.Context(), url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// age lets a run in the queue have waited for a minute and a second more than it has.
func age(t testing.TB, url, run string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	tag, err := conn.Exec(t.Context(), "UPDATE stepwell.queue SET ready_at = ready_at - interval '61 seconds' WHERE run = (SELECT key FROM stepwell.runs WHERE id = $1)", run)
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("aged %d runs, %v, want 1", tag.RowsAffected(), err)
	}
}
