package stepwell_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// work runs an App on a world until the test ends.
func work(t testing.TB, w world.World, cfg stepwell.Config) *stepwell.App {
	t.Helper()
	app, err := stepwell.New(w, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	waitWorking(t, w)
	return app
}

func waitWorking(t testing.TB, w world.World) {
	t.Helper()
	for range 1000 {
		s, err := w.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Workers) > 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("no worker joined")
}

func serial(n int) *stepwell.Workflow[int, int] {
	return stepwell.Define(fmt.Sprintf("serial-%d", n), func(ctx stepwell.Context, in int) (int, error) {
		for i := range n {
			v, err := stepwell.Step(ctx, "add", func(context.Context) (int, error) { return i, nil })
			if err != nil {
				return 0, err
			}
			in += v
		}
		return in, nil
	})
}

func commits(t testing.TB, app *stepwell.App, run string) int {
	n, last := 0, int64(0)
	for e, err := range app.Events(t.Context(), run, stepwell.EventFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Commit != last {
			n, last = n+1, e.Commit
		}
	}
	return n
}

func dump(t testing.TB, app *stepwell.App, run string) {
	for e, err := range app.Events(t.Context(), run, stepwell.EventFilter{}) {
		t.Log(e.Seq, e.Commit, e.Type, e.Name, e.Attempt, string(e.Payload), e.Error, err)
	}
}

func TestFirst(t *testing.T) {
	wf := serial(10)
	var calls atomic.Int32
	flaky := stepwell.Define("flaky", func(ctx stepwell.Context, in string) (string, error) {
		return stepwell.Step(ctx, "try", func(context.Context) (string, error) {
			if calls.Add(1) < 3 {
				return "", errors.New("no luck")
			}
			return "ok " + in, nil
		}, stepwell.Retry{Base: 10 * time.Millisecond})
	})
	nap := stepwell.Define("nap", func(ctx stepwell.Context, in string) (string, error) {
		step := func(context.Context) (string, error) { return in, nil }
		if _, err := stepwell.Step(ctx, "a", step); err != nil {
			return "", err
		}
		if err := stepwell.Sleep(ctx, "nap", 300*time.Millisecond); err != nil {
			return "", err
		}
		return stepwell.Step(ctx, "b", step)
	})
	verify := stepwell.Event[string]("verify")
	ev := stepwell.Define("ev", func(ctx stepwell.Context, in string) (string, error) {
		s, ok, err := verify.Wait(ctx, stepwell.Timeout(time.Minute))
		return fmt.Sprint(s, ok), err
	})
	double := stepwell.DefineStep("double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	m := stepwell.Define("map", func(ctx stepwell.Context, n int) (int, error) {
		rs, err := stepwell.Map(ctx, make([]int, n), 4, func(ctx stepwell.Context, i int) (int, error) { return double.Run(ctx, i+1) })
		sum := 0
		for _, r := range rs {
			sum += r
		}
		return sum, err
	})
	w := memory.New()
	app := work(t, w, stepwell.Config{Definitions: []stepwell.Definition{wf, flaky, nap, ev, double, m}, MaxSteps: 4})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()

	run, err := wf.Start(ctx, app, 100)
	if err != nil {
		t.Fatal(err)
	}
	got, err := run.Result(ctx)
	if err != nil || got != 145 {
		t.Fatalf("result = %d, %v, want 145", got, err)
	}
	info, _ := app.Get(ctx, run.ID())
	if got := commits(t, app, run.ID()); got != 11 || info.Takes != 1 {
		t.Errorf("commits = %d, invocations = %d, want 11, 1", got, info.Takes)
	}

	fr, err := flaky.Start(ctx, app, "x")
	if err != nil {
		t.Fatal(err)
	}
	fs, err := fr.Result(ctx)
	info, _ = app.Get(ctx, fr.ID())
	t.Log(fs, err, commits(t, app, fr.ID()), info.Takes)

	nr, err := nap.Start(ctx, app, "x")
	if err != nil {
		t.Fatal(err)
	}
	fs, err = nr.Result(ctx)
	info, _ = app.Get(ctx, nr.ID())
	t.Log(fs, err, commits(t, app, nr.ID()), info.Takes)
	dump(t, app, nr.ID())

	er, err := ev.Start(ctx, app, "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := verify.Send(ctx, app, er.ID(), "hello"); err != nil {
		t.Fatal(err)
	}
	fs, err = er.Result(ctx)
	info, _ = app.Get(ctx, er.ID())
	t.Log(fs, err, commits(t, app, er.ID()), info.Takes)

	mr, err := m.Start(ctx, app, 20)
	if err != nil {
		t.Fatal(err)
	}
	mi, err := mr.Result(ctx)
	info, _ = app.Get(ctx, mr.ID())
	t.Log(mi, err, commits(t, app, mr.ID()), info.Takes)
	if err != nil {
		dump(t, app, mr.ID())
	}
}
