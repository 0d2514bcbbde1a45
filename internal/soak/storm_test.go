//go:build unix

package soak

// This file is the proof that nobody is blamed for what happens to everybody: workers are killed before they have lived for a second, again and again, and then
// no more.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
)

// stormFlow is innocent, and slow to say so: its code needs a while before anything of it can be recorded, as that of a run with a long log does.
var stormFlow = stepwell.Define("storm", func(ctx stepwell.Context, n int64) (int64, error) {
	//stepwell:allow time the code is slow on purpose
	//stepwell:allow channels the code is slow on purpose
	<-time.After(60 * time.Millisecond)
	return stepwell.Step(ctx, "one", func(context.Context) (int64, error) { return n + 1, nil })
})

// TestStormUnderFire kills each worker some tenths of a second after its start, without a pause, and then lets the last one live: all runs complete soon.
func TestStormUnderFire(t *testing.T) {
	for _, name := range sample.One(t, "sqlite", "postgres") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := "sqlite:" + filepath.Join(t.TempDir(), "storm.db")
			if name == "postgres" {
				url = pgtest.New(t, pgtest.Config{}).URL(t)
			}
			storm(t, url, max(*soakTime/10, 3*time.Second))
		})
	}
}

func storm(t *testing.T, url string, burn time.Duration) {
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("again: go test ./internal/soak -run TestStormUnderFire -soak.time=%s -soak.seed=%d", *soakTime, seed)
	ctx, stop := context.WithTimeout(t.Context(), burn+patience)
	defer stop()
	w, err := stepwell.Open(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	app, err := stepwell.New(w, stepwell.Config{Name: "storming"})
	if err != nil {
		t.Fatal(err)
	}
	crew := newCrew(t, t.TempDir(), 1, func(string) string { return url })
	crew.told.Count = true
	if err := crew.hire(0); err != nil {
		t.Fatal(err)
	}
	var runs []*stepwell.Run[int64]
	start := func() {
		run, err := stormFlow.Start(ctx, app, int64(len(runs)))
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	for range 20 {
		start()
	}
	kills, rnd := 0, rand.New(rand.NewPCG(seed, 6))
	for end := time.Now().Add(burn); time.Now().Before(end); kills++ {
		_ = dawdle(ctx, 100+rnd.IntN(250))
		if err := errors.Join(crew.kill(0), crew.hire(0)); err != nil {
			t.Fatal(err)
		}
		start()
	}
	for i, run := range runs {
		if got, err := run.Result(ctx); err != nil || got != int64(i)+1 {
			why, _ := app.Why(context.WithoutCancel(ctx), run.ID())
			t.Errorf("run %d: %d, %v, want %d; %v", i, got, err, i+1, fmt.Sprint(why))
		}
	}
	if err := crew.dismiss(); err != nil {
		t.Error(err)
	}
	t.Logf("%d runs, %d kills", len(runs), kills)
}
