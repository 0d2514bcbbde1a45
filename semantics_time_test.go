package stepwell_test

// The answers of semantics.md about time and order.

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

type number struct {
	N int `json:"n"`
}

var numbers = stepwell.Event[number]("number")

// waitOnce waits for a number with a timeout of 10 s.
var waitOnce = stepwell.Define("wait-once", func(ctx stepwell.Context, _ struct{}) (string, error) {
	n, ok, err := numbers.Wait(ctx, stepwell.Timeout(10*time.Second))
	return fmt.Sprint(n.N, ok), err
})

func TestAnswer01OverdueThingsComeInOrderOfTheirTimes(t *testing.T) {
	everywhere(t, func(r *rig) {
		client := r.client()
		for _, c := range []struct {
			sent time.Duration // after the run began
			want string
		}{{5 * time.Second, "7 true"}, {20 * time.Second, "0 false"}} {
			wk := r.begin(waitOnce)
			run := start(r, wk, waitOnce, struct{}{})
			until(r, "the wait", func() bool { return r.count(run.ID(), world.WaitCreated, "") == 1 })
			wk.stop(r)
			time.Sleep(c.sent) //lint:allow in a bubble
			if err := numbers.Send(r.ctx, client, run.ID(), number{7}); err != nil {
				r.Fatal(err)
			}
			time.Sleep(time.Minute) //lint:allow in a bubble
			again := r.begin(waitOnce)
			want(r, run, c.want)
			r.replays(run.ID(), waitOnce)
			again.stop(r)
		}
	})
}

var _ = context.Background
