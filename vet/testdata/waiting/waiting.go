// Package waiting has errors, futures, loops and deferred functions.
package waiting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
)

func notify(ctx context.Context) error { return nil }

func count(ctx context.Context) (int, error) { return 1, nil }

var approved = stepwell.Event[int]("approved")

var Child = stepwell.Define("child", func(ctx stepwell.Context, n int) (int, error) { return n, nil })

func wrong(ctx stepwell.Context, id string) error {
	stepwell.Sleep(ctx, "nap", time.Hour)                           // want `the error of stepwell.Sleep is ignored`
	stepwell.Go(ctx, func(ctx stepwell.Context) (struct{}, error) { // want `what stepwell.Go starts is not waited for`
		return struct{}{}, stepwell.Do(ctx, "label", notify)
	})
	n, _ := stepwell.Step(ctx, "count", count)                                                       // want `the error of stepwell.Step is ignored, and its result is used all the same`
	m, _, _ := approved.Wait(ctx)                                                                    // want `the error of EventDef.Wait is ignored`
	_, _ = stepwell.Step(ctx, "count", func(ctx context.Context) (int, error) { return n + m, nil }) // on purpose // near: unchecked
	Child.Child().Start(ctx, 3)                                                                      // want `what ChildCall.Start starts is not waited for`
	defer stepwell.Do(ctx, "release", notify)                                                        // want `stepwell.Do is deferred`
	defer func() {                                                                                   // want `stepwell.Do in a deferred function`
		_ = stepwell.Do(ctx, "release", notify)
	}()
	defer func() {
		recover() // want `recover swallows each panic`
	}()
	for {
		if err := stepwell.Sleep(ctx, "nap", time.Hour); err != nil {
			ctx.Logger().Info("again")
			continue // want `stepwell.Sleep fails at once when the run is cancelled`
		}
		return nil
	}
}

func endless(ctx stepwell.Context, n int) error {
	for { // want `each round of this loop adds to the log`
		if err := stepwell.Sleep(ctx, "nap", time.Hour); err != nil {
			return err
		}
	}
}

type inbox struct{ all []int }

func (b *inbox) next(n *int) bool { return len(b.all) > *n }

// drains ends with what there is, whatever fails.
func drains(ctx stepwell.Context, b *inbox) error {
	for {
		var n int
		if !b.next(&n) {
			break
		}
		err := stepwell.Sleep(ctx, "nap", time.Hour)
		if err != nil {
			continue
		}
		if err := stepwell.Do(ctx, "tell", notify); err != nil {
			return err
		}
	}
	return nil
}

// goes does not.
func goes(ctx stepwell.Context, done bool) error {
	for {
		if done {
			break
		}
		if err := stepwell.Sleep(ctx, "nap", time.Hour); err != nil {
			continue // want `stepwell.Sleep fails at once when the run is cancelled`
		}
	}
	return nil
}

func listens(ctx stepwell.Context) (struct{}, error) {
	for {
		if _, _, err := approved.Wait(ctx); err != nil {
			return struct{}{}, err
		}
	}
}

func right(ctx stepwell.Context, n int) (err error) {
	defer func() {
		if r := recover(); r != nil { // near: recovered
			err = fmt.Errorf("%v", r)
		}
		err = errors.Join(err, stepwell.Do(ctx, "release", notify)) // near: deferred
	}()
	done := false
	stepwell.Go(ctx, func(ctx stepwell.Context) (struct{}, error) { // it listens for as long as the run lasts // near: unawaited
		_, _, err := approved.Wait(ctx)
		done = true
		return struct{}{}, err
	})
	stepwell.Go(ctx, func(ctx stepwell.Context) (struct{}, error) { // and so does this
		for {
			if _, _, err := approved.Wait(ctx); err != nil {
				return struct{}{}, err
			}
		}
	})
	stepwell.Go(ctx, listens)
	Child.Child(stepwell.Detached()).Start(ctx, 3)
	label := stepwell.Go(ctx, func(ctx stepwell.Context) (struct{}, error) {
		return struct{}{}, stepwell.Do(ctx, "label", notify)
	})
	if _, err := label.Get(ctx); err != nil {
		return err
	}
	for {
		err := stepwell.Sleep(ctx, "nap", time.Hour)
		if err != nil {
			if errors.Is(err, stepwell.ErrCancelled) {
				return err
			}
			continue // near: cancelled
		}
		if done {
			break
		}
	}
	for i := 0; ; i++ { // near: unbounded
		if i == 1000 {
			return stepwell.ContinueAsNew(ctx, n)
		}
		if err := stepwell.Sleep(ctx, "nap", time.Hour); err != nil {
			return err
		}
	}
}
