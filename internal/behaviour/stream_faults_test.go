package behaviour_test

// Streams whose appends fail, or whose answers are lost: a reader gets each chunk once, in order.

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/world"
)

// TestStreamAppendsThatFail: of each four appends one is refused, one is done and its answer lost, one is neither done nor answered.
func TestStreamAppendsThatFail(t *testing.T) {
	everywhere(t, func(r *rig) {
		const n = 4
		var words []string
		for i := range n {
			words = append(words, fmt.Sprint(i))
		}
		wf := stepwell.Define("say", func(ctx stepwell.Context, _ int) (int, error) {
			err := stepwell.Do(ctx, "say", func(ctx context.Context) error {
				out := stepwell.Stream[int](ctx, "numbers")
				for i := range n {
					if err := errors.Join(out.Write(i), out.Flush()); err != nil {
						return err
					}
				}
				return nil
			})
			return n, errors.Join(err, stepwell.CloseStream(ctx, "numbers"))
		})
		below := r.world
		f := faults.New(below, func(c faults.Call) faults.Fault {
			switch {
			case c.Op != faults.Append:
				return faults.Fault{}
			case c.N%4 == 1:
				return faults.Fault{Err: world.ErrUnknownOutcome, Lost: true}
			case c.N%4 == 2:
				return faults.Fault{Err: world.ErrStorage}
			case c.N%4 == 3:
				return faults.Fault{Err: world.ErrUnknownOutcome}
			}
			return faults.Fault{}
		})
		r.world = f
		wk := r.begin(wf)
		run := start(r, wk, wf, 0)
		want(r, run, n)
		r.says(wk.App, run.ID(), "numbers", words...)
		if calls := f.Calls(faults.Append); calls < 2*n {
			r.Errorf("got %d appends, want those that failed and were made again", calls)
		}
		r.world = below
	})
}
