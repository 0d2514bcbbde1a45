package waiting

import (
	"context"

	"github.com/stepwell/stepwell"
)

var Charge = stepwell.DefineStep("charge", func(ctx context.Context, n int) (int, error) { return n, nil })

func begin(ctx stepwell.Context) *stepwell.Future[int] { return Charge.Start(ctx, 3) }

func send(ctx stepwell.Context) *stepwell.ChildRun[int] {
	return Child.Child(stepwell.Detached()).Start(ctx, 3)
}

func label(ctx stepwell.Context) error { return stepwell.Do(ctx, "label", notify) }

func labelled(ctx stepwell.Context) (int, error) { return stepwell.Step(ctx, "labelled", count) }

func throughHelpers(ctx stepwell.Context, n int) (int, error) {
	label(ctx)                                                 // want `the error of waiting.label, which is that of stepwell.Do, is ignored`
	m, _ := labelled(ctx)                                      // want `the error of waiting.labelled, which is that of stepwell.Step, is ignored, and its result is used`
	begin(ctx)                                                 // want `what waiting.begin starts with RegisteredStep.Start is not waited for`
	stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { // want `what stepwell.Go starts is not waited for`
		return labelled(ctx)
	})
	done, err := false, error(nil)
	for !done { // want `EventDef.Wait fails at once when the run is cancelled`
		_, done, err = approved.Wait(ctx)
		if err != nil {
			ctx.Logger().Info("again")
		}
	}
	for err = label(ctx); err != nil; err = label(ctx) { // want `waiting.label fails at once when the run is cancelled`
		m++
	}
	defer func() {
		if r := recover(); r != nil { // want `recover swallows each panic`
			ctx.Logger().Error("panic", "r", r)
		}
	}()
	return m, label(ctx)
}

func nearHelpers(ctx stepwell.Context, n int) (sum int, err error) {
	_ = label(ctx)
	send(ctx) // it is detached // near: unawaited
	if sum, err = begin(ctx).Get(ctx); err != nil {
		return 0, err
	}
	ok := false
	for !ok { // near: cancelled
		if _, ok, err = approved.Wait(ctx); err != nil {
			return 0, err
		}
	}
	for tries := 0; err != nil && tries < 3; tries++ {
		err = label(ctx)
	}
	failed := false
	defer func() {
		if r := recover(); r != nil { // near: recovered
			failed = true
		}
	}()
	_ = failed
	return sum, label(ctx)
}

func counted(context.Context, int) (int, error) { return 1, nil }

func calls(ctx stepwell.Context) (int, error) {
	n, _ := stepwell.Call(ctx, "counted", counted, 1)                                                                                                 // want `the error of stepwell.Call is ignored, and its result is used all the same`
	all, _ := stepwell.MapSettled(ctx, []int{n}, 0, func(ctx stepwell.Context, n int) (int, error) { return n, stepwell.Exec(ctx, "idle", idle, n) }) // want `the error of stepwell.MapSettled is ignored, and its result is used all the same`
	return len(stepwell.Failed(all)), nil
}

func idle(context.Context, int) error { return nil }
