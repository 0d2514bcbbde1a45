package stepwell_test

// Examples of time, and of code beside code.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stepwell/stepwell"
)

// A pause that survives whatever happens to the process.
func ExampleSleep() {
	remind := stepwell.Define("remind", func(ctx stepwell.Context, what string) (string, error) {
		if err := stepwell.Sleep(ctx, "later", 3*time.Millisecond); err != nil { // or a month
			return "", err // the run was cancelled
		}
		return "do not forget: " + what, nil
	})
	app, stop := exampleApp(remind)
	defer stop()
	run, _ := remind.Start(context.Background(), app, "milk")
	fmt.Println(run.Result(context.Background()))
	// Output: do not forget: milk <nil>
}

// A pause until a time, reckoned from the workflow's own.
func ExampleSleepUntil() {
	next := stepwell.Define("next", func(ctx stepwell.Context, _ int) (bool, error) {
		at := ctx.Now().Truncate(time.Millisecond).Add(2 * time.Millisecond)
		err := stepwell.SleepUntil(ctx, "full-ms", at)
		return !ctx.Now().Before(at), err
	})
	app, stop := exampleApp(next)
	defer stop()
	run, _ := next.Start(context.Background(), app, 0)
	fmt.Println(run.Result(context.Background()))
	// Output: true <nil>
}

// Two coroutines of one workflow: they run one at a time, so they may share variables.
func ExampleGo() {
	fetch := stepwell.Define("fetch", func(ctx stepwell.Context, _ int) (string, error) {
		done := 0
		part := func(name string) *stepwell.Future[string] {
			return stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) {
				got, err := stepwell.Step(ctx, name, func(context.Context) (string, error) { return name + "!", nil })
				done++
				return got, err
			})
		}
		left, right := part("left"), part("right")
		l, err := left.Get(ctx)
		if err != nil {
			return "", err
		}
		r, err := right.Get(ctx)
		return fmt.Sprintf("%s %s %d", l, r, done), err
	})
	app, stop := exampleApp(fetch)
	defer stop()
	run, _ := fetch.Start(context.Background(), app, 0)
	fmt.Println(run.Result(context.Background()))
	// Output: left! right! 2 <nil>
}

// All results, in the order of the arguments.
func ExampleAll() {
	double := stepwell.Define("double", func(ctx stepwell.Context, ns []int) ([]int, error) {
		var fs []*stepwell.Future[int]
		for _, n := range ns {
			fs = append(fs, stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				return stepwell.Step(ctx, "double", func(context.Context) (int, error) { return 2 * n, nil })
			}))
		}
		return stepwell.All(ctx, fs...)
	})
	app, stop := exampleApp(double)
	defer stop()
	run, _ := double.Start(context.Background(), app, []int{3, 1, 2})
	fmt.Println(run.Result(context.Background()))
	// Output: [6 2 4] <nil>
}

// Done tells, without waiting, whether a result is there.
func ExampleFuture_Done() {
	peek := stepwell.Define("peek", func(ctx stepwell.Context, _ int) ([]bool, error) {
		quick, slow := stepwell.Timer(ctx, "quick", time.Millisecond), stepwell.Timer(ctx, "slow", time.Hour)
		_, err := stepwell.Select(ctx, quick, slow)
		return []bool{quick.Done(), slow.Done()}, err
	})
	app, stop := exampleApp(peek)
	defer stop()
	run, _ := peek.Start(context.Background(), app, 0)
	fmt.Println(run.Result(context.Background()))
	// Output: [true false] <nil>
}

// Wait until what other coroutines do makes a condition true.
func ExampleAwait() {
	quorum := stepwell.Define("quorum", func(ctx stepwell.Context, voters []string) (int, error) {
		votes := 0
		for range voters {
			stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				err := stepwell.Do(ctx, "vote", func(context.Context) error { return nil })
				votes++
				return 0, err
			})
		}
		_, err := stepwell.Await(ctx, func() bool { return votes >= 2 })
		return 2, err
	})
	app, stop := exampleApp(quorum)
	defer stop()
	run, _ := quorum.Start(context.Background(), app, []string{"ann", "bob", "eve"})
	fmt.Println(run.Result(context.Background()))
	// Output: 2 <nil>
}

// A condition with a deadline: that the time is up is a value, not an error.
func ExampleAwait_timeout() {
	wait := stepwell.Define("wait", func(ctx stepwell.Context, _ int) (string, error) {
		came := false
		ok, err := stepwell.Await(ctx, func() bool { return came }, stepwell.Timeout(2*time.Millisecond))
		if err != nil || ok {
			return "it came", err
		}
		return "nobody came", nil
	})
	app, stop := exampleApp(wait)
	defer stop()
	run, _ := wait.Start(context.Background(), app, 0)
	fmt.Println(run.Result(context.Background()))
	// Output: nobody came <nil>
}

// A registered step over many items, at most two at once, and tried oftener than it says itself.
func ExampleMap_registeredStep() {
	resize := stepwell.DefineStep("resize", func(_ context.Context, picture string) (string, error) {
		return "small " + picture, nil
	})
	album := stepwell.Define("album", func(ctx stepwell.Context, pictures []string) ([]string, error) {
		small, err := stepwell.Map(ctx, pictures, 2, resize.Run)
		if err != nil {
			return nil, err
		}
		return stepwell.Map(ctx, small, 2, resize.With(stepwell.Retry{Attempts: 10}).Run)
	})
	app, stop := exampleApp(album, resize)
	defer stop()
	run, _ := album.Start(context.Background(), app, []string{"cat", "dog"})
	fmt.Println(run.Result(context.Background()))
	// Output: [small small cat small small dog] <nil>
}

// Two searches beside each other, of which the slower one is ended when the first has found something; the run goes on.
func ExampleWithCancel() {
	search := stepwell.Define("search", func(ctx stepwell.Context, what string) (string, error) {
		part, cancel := stepwell.WithCancel(ctx)
		defer cancel()
		slow := stepwell.Go(part, func(ctx stepwell.Context) (string, error) {
			return stepwell.Step(ctx, "ask-the-archive", func(ctx context.Context) (string, error) {
				<-ctx.Done() // it would take a week
				return "", context.Cause(ctx)
			})
		})
		fast := stepwell.Go(part, func(ctx stepwell.Context) (string, error) {
			return stepwell.Step(ctx, "ask-the-index", func(context.Context) (string, error) { return what + ": shelf 7", nil })
		})
		found, err := stepwell.Race(ctx, slow, fast)
		if err != nil {
			return "", err
		}
		cancel()
		if _, err := slow.Get(ctx); !errors.Is(err, stepwell.ErrCancelled) {
			return "", err
		}
		return stepwell.Step(ctx, "fetch", func(context.Context) (string, error) { return "fetched from " + found, nil })
	})
	app, stop := exampleApp(search)
	defer stop()
	run, _ := search.Start(context.Background(), app, "Moby Dick")
	fmt.Println(run.Result(context.Background()))
	// Output: fetched from Moby Dick: shelf 7 <nil>
}

// A part of a run that has its own time.
func ExampleWithTimeout() {
	order := stepwell.Define("patient", func(ctx stepwell.Context, _ string) (string, error) {
		part, cancel := stepwell.WithTimeout(ctx, "patience", 5*time.Millisecond) // or a week
		defer cancel()
		if err := stepwell.Sleep(part, "delivery", time.Hour); errors.Is(err, stepwell.ErrCancelled) && stepwell.CancelCause(ctx) == nil {
			return fmt.Sprint("gave up: ", stepwell.CancelCause(part)), nil
		}
		return "delivered", nil
	})
	app, stop := exampleApp(order)
	defer stop()
	run, _ := order.Start(context.Background(), app, "o-1")
	fmt.Println(run.Result(context.Background()))
	// Output: gave up: the part of the workflow took longer than its timeout <nil>
}

// Items of which some fail: the others are done, and those that failed are tried again.
func ExampleMapSettled() {
	var called sync.Map // steps run side by side
	call := func(_ context.Context, who string) (string, error) {
		if _, again := called.LoadOrStore(who, true); who == "bob" && !again { // he is free by the next round
			return "", stepwell.Fatal(errors.New("engaged"))
		}
		return "hello " + who, nil
	}
	calls := stepwell.Define("calls", func(ctx stepwell.Context, all []string) ([]string, error) {
		var said []string
		for len(all) > 0 {
			round, err := stepwell.MapSettled(ctx, all, 2, func(ctx stepwell.Context, who string) (string, error) {
				return stepwell.Call(ctx, "call", call, who)
			})
			if err != nil {
				return nil, err
			}
			for _, one := range round {
				if one.Err == nil {
					said = append(said, one.Value)
				}
			}
			all = stepwell.Failed(round)
		}
		return said, nil
	})
	app, stop := exampleApp(calls)
	defer stop()
	run, _ := calls.Start(context.Background(), app, []string{"bob", "ann"})
	fmt.Println(run.Result(context.Background()))
	// Output: [hello ann hello bob] <nil>
}

// A step for each item, two at a time.
func ExampleEach() {
	mail := func(context.Context, string) error { return nil }
	news := stepwell.Define("news", func(ctx stepwell.Context, readers []string) (int, error) {
		err := stepwell.Each(ctx, readers, 2, func(ctx stepwell.Context, reader string) error {
			return stepwell.Exec(ctx, "mail", mail, reader)
		})
		return len(readers), err
	})
	app, stop := exampleApp(news)
	defer stop()
	run, _ := news.Start(context.Background(), app, []string{"ann", "bob", "cy"})
	fmt.Println(run.Result(context.Background()))
	// Output: 3 <nil>
}
