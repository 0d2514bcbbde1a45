package behaviour_test

// A run that goes on in a process with another time zone.

import (
	"context"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/stepwell/stepwell"
)

// inZone gives this process a time zone until the test ends. No other test may run meanwhile.
func inZone(t testing.TB, name string) {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	before := time.Local
	time.Local = zone
	t.Cleanup(func() { time.Local = before })
}

// TestARunGoesOnInAnotherTimeZone: what the code does with a time from a step, an input or an event does not depend on the process.
func TestARunGoesOnInAnotherTimeZone(t *testing.T) {
	type appointment struct{ At time.Time }
	arrived := stepwell.Event[appointment]("arrived")
	wf := stepwell.Define("zones", func(ctx stepwell.Context, in appointment) ([]string, error) {
		at, err := stepwell.Step(ctx, "now", func(context.Context) (*appointment, error) {
			return &appointment{time.Date(2026, 1, 15, 12, 0, 0, 0, time.Local)}, nil
		})
		if err != nil {
			return nil, err
		}
		all := []string{ctx.Now().Location().String()}
		for _, a := range []appointment{in, *at} {
			text := a.At.AddDate(0, 6, 0).Format(time.RFC822)
			if err := stepwell.Sleep(ctx, "until "+text, time.Minute); err != nil { // replay asks for the same
				return nil, err
			}
			all = append(all, text)
		}
		got, _, err := arrived.Wait(ctx)
		return append(all, got.At.AddDate(0, 6, 0).Format(time.RFC822)), err
	})
	for _, m := range modes {
		bubble(t, kinds[0].open, m.set, func(r *rig) {
			inZone(t, "Europe/Berlin")
			berlin := r.begin(wf)
			run := start(r, berlin, wf, appointment{time.Date(2026, 1, 15, 12, 0, 0, 0, time.Local)})
			r.pass(5 * time.Minute)
			berlin.stop(r)
			inZone(t, "America/New_York")
			york := r.begin(wf)
			at := appointment{time.Date(2026, 1, 15, 12, 0, 0, 0, time.Local)}
			if err := arrived.Send(r.ctx, york.App, run.ID(), at); err != nil {
				r.Fatal(err)
			}
			want(r, run, []string{"UTC", "15 Jul 26 12:00 +0100", "15 Jul 26 12:00 +0100", "15 Jul 26 12:00 -0500"})
			york.stop(r)
		})
	}
}
