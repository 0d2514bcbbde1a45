package behaviour_test

// Errors among an App's definitions.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// TestAnErrorIsKnownWhereItsDefinitionIs: after a replay, and in a program that has neither the workflow nor the step.
func TestAnErrorIsKnownWhereItsDefinitionIs(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("sold-out", func(ctx stepwell.Context, _ int) (string, error) {
			err := stepwell.Do(ctx, "take", func(context.Context) error { return stepwell.Fatal(stepErr(1)) })
			if e := stepwell.Sleep(ctx, "nap", time.Minute); e != nil {
				return "", e
			}
			if short, ok := errors.AsType[*shortage](err); ok && errors.Is(err, errStock) {
				return "", stepwell.Do(ctx, short.Reason, func(context.Context) error { return fmt.Errorf("again: %w", err) })
			}
			return "", errors.New("what the step returned is not what it was")
		})
		wk := r.beginWith(stepwell.Config{Definitions: known(wf)})
		run := start(r, wk, wf, 0)
		until(r, "the step to fail", func() bool { return r.count(run.ID(), world.WaitCreated, "") == 1 })
		wk.stop(r.T)
		r.beginWith(stepwell.Config{Definitions: known(wf)})
		for _, has := range []bool{true, false} {
			client := r.client()
			if has {
				client = r.client(known()...)
			}
			_, err := wf.Get(client, run.ID()).Result(r.ctx)
			short, is := errors.AsType[*shortage](err)
			if errors.Is(err, errStock) != has || is != has || has && short.Reason != "no funds" || !strings.Contains(err.Error(), "again: ") {
				r.Errorf("with the definitions: %t: got %v, %+v", has, err, short)
			}
		}
		r.replays(run.ID(), known(wf)...)
	})
}

// TestKnownErrorsConflict: New says it of each, and names both.
func TestKnownErrorsConflict(t *testing.T) {
	other := errors.New("another")
	onWorlds(t, func(r *rig) {
		r.client(append(known(), known()...)...) // the same once more is no conflict
		for name, c := range map[string]struct {
			more []stepwell.Definition
			says string
		}{
			"name":           {[]stepwell.Definition{stepwell.KnownError("stock", other)}, `known error "stock": invalid: the name stands for the error "out of stock": it cannot stand for the error "another" too`},
			"error":          {[]stepwell.Definition{stepwell.KnownError("stocks", errStock)}, `known error "stocks": invalid: the error "out of stock" is known as "stock"`},
			"type's name":    {[]stepwell.Definition{stepwell.KnownErrorType[*typedError]("shortage")}, `known error type "shortage": invalid: the name stands for the type *behaviour_test.shortage: it cannot stand for the type *behaviour_test.typedError too`},
			"type":           {[]stepwell.Definition{stepwell.KnownErrorType[*shortage]("lack")}, `known error type "lack": invalid: the type *behaviour_test.shortage is known as "shortage"`},
			"name of a type": {[]stepwell.Definition{stepwell.KnownError("shortage", other)}, `the name stands for the type *behaviour_test.shortage: it cannot stand for the error "another" too`},
			"library's":      {[]stepwell.Definition{stepwell.KnownError("io.EOF", other)}, `known error "io.EOF": invalid: the name stands for the error "EOF"`},
			"nil":            {[]stepwell.Definition{stepwell.KnownError("nothing", nil)}, `known error "nothing": invalid: the error is nil`},
			"no name":        {[]stepwell.Definition{stepwell.KnownError("", other), stepwell.KnownErrorType[*typedError]("")}, `known error "": must have 1 to`},
		} {
			_, err := stepwell.New(r.world, stepwell.Config{Definitions: append(known(), c.more...)})
			for _, is := range []bool{errors.Is(err, stepwell.ErrInvalid), err != nil && strings.Contains(err.Error(), c.says)} {
				if !is {
					r.Errorf("%s: New = %v, want ErrInvalid, and %q", name, err, c.says)
				}
			}
		}
	})
}
