package behaviour_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
)

// A loop that starts a wait in each round loses what comes to the waits of earlier rounds: the run says so, until its code looks at them.
func TestPayloadsOfWaitsLeftBehindAreTold(t *testing.T) {
	changed := stepwell.Event[int]("changed")
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("left", func(ctx stepwell.Context, _ struct{}) (int, error) {
			var rounds []*stepwell.Future[stepwell.Received[int]]
			for _, nap := range []time.Duration{time.Second, time.Second, time.Hour} {
				wait := changed.Start(ctx)
				rounds = append(rounds, wait)
				if _, err := stepwell.Select(ctx, stepwell.Timer(ctx, "nap", nap), wait); err != nil {
					return 0, err
				}
			}
			last, _, err := changed.Wait(ctx)
			if err != nil {
				return 0, err
			}
			first, err := rounds[0].Get(ctx)
			if err != nil || !rounds[1].Done() { // which is a look, too
				return 0, err
			}
			end, _, err := changed.Wait(ctx)
			return first.Payload*100 + last*10 + end, err
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, struct{}{})
		until(r, "the third round", func() bool { return len(r.events(run.ID(), "wait_created")) == 6 })
		told := func(waiting string, lost int, text string, payloads ...int) {
			r.Helper()
			for _, p := range payloads {
				if err := changed.Send(r.ctx, wk.App, run.ID(), p); err != nil {
					r.Fatal(err)
				}
			}
			until(r, waiting, func() bool { return r.get(run.ID()).Queue.Waiting == waiting })
			why, err := wk.Why(r.ctx, run.ID())
			if said := why.String(); err != nil || why.Lost != lost || strings.Contains(said, "nobody read") != (text != "") || !strings.Contains(said, text) {
				r.Errorf("why = %d lost, %s, %v; want %d, %q", why.Lost, said, err, lost, text)
			}
		}
		told(`event "changed" and 1 more`, 0, "")
		told(`event "changed" (payloads taken by waits that nobody read: 1) and 1 more`, 1, `a payload of event "changed" was taken by a wait that nobody read`, 1)
		told(`event "changed" (payloads taken by waits that nobody read: 2) and 1 more`, 2, `2 payloads of event "changed" were taken by waits that nobody read`, 2)
		told(`event "changed" (payloads taken by waits that nobody read: 2)`, 2, `2 payloads of event "changed" were taken`, 3) // the Select told the code of this one
		told(`event "changed"`, 0, "", 4)
		if err := changed.Send(r.ctx, wk.App, run.ID(), 5); err != nil {
			r.Fatal(err)
		}
		want(r, run, 145)
		r.replays(run.ID(), wf)
	})
}
