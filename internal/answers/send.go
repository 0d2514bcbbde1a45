package answers

// Answers about what workflow code sends to other runs.

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

var sharedToSend = map[string]func(*answers){
	"a workflow sends to another run, once":  answerSendTo,
	"what is sent last is sent all the same": answerSendLast,
}

// answerSendTo: what is sent arrives once; an unknown run, one that is over, and the run itself are errors that the code sees, the same on replay.
func answerSendTo(r *answers) {
	ping := stepwell.Event[string]("ping")
	hears := stepwell.Define("send-hears", func(ctx stepwell.Context, n int) (string, error) {
		var got []string
		for range n {
			s, _, err := ping.Wait(ctx)
			if err != nil {
				return "", err
			}
			got = append(got, s)
		}
		return strings.Join(got, " "), nil
	})
	tells := stepwell.Define("send-tells", func(ctx stepwell.Context, runs []string) (string, error) {
		var said []string
		for i, run := range append(runs, "wrun_nobody", ctx.RunID(), "not an ID\x00") {
			err := ping.SendTo(ctx, run, fmt.Sprint("hello ", i))
			switch {
			case errors.Is(err, stepwell.ErrNotFound):
				said = append(said, "unknown")
			case errors.Is(err, stepwell.ErrTerminal):
				said = append(said, "over")
			case errors.Is(err, stepwell.ErrInvalid):
				said = append(said, "invalid")
			case err != nil:
				return "", err
			default:
				said = append(said, "sent")
			}
		}
		return strings.Join(said, " "), stepwell.Sleep(ctx, "rest", time.Millisecond) // so that it is replayed, where it is
	})
	app := r.begin(hears, tells)
	one, gone := begun(r, app.App, hears, 2), begun(r, app.App, hears, 0)
	gives(r, gone, "")
	run := begun(r, app.App, tells, []string{one.ID(), gone.ID(), one.ID()})
	gives(r, run, "sent over sent unknown invalid invalid")
	gives(r, one, "hello 0 hello 2")
	if n := len(r.events(one.ID(), world.SignalReceived)); n != 2 {
		r.Errorf("%d signals arrived, want 2", n)
	}
	r.replays(run.ID(), hears, tells)
}

// answerSendLast: a send that nobody waits for is in the log before the run ends.
func answerSendLast(r *answers) {
	ping := stepwell.Event[string]("ping-last")
	hears := stepwell.Define("send-hears-last", func(ctx stepwell.Context, _ int) (string, error) {
		s, _, err := ping.Wait(ctx)
		return s, err
	})
	tells := stepwell.Define("send-tells-last", func(ctx stepwell.Context, to string) (int, error) {
		for _, run := range []string{to, "wrun_nobody"} {
			stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, ping.SendTo(ctx, run, "bye") })
		}
		return 1, stepwell.Await(ctx, func() bool { return true })
	})
	quick := stepwell.Define("send-quick", func(ctx stepwell.Context, to string) (int, error) {
		f := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, ping.SendTo(ctx, to, "bye") })
		none := stepwell.Timer(ctx, "none", 0)
		_, err := stepwell.Select(ctx, f, none)
		return 2, err
	})
	app := r.begin(hears, tells, quick)
	one, two := begun(r, app.App, hears, 0), begun(r, app.App, hears, 0)
	gives(r, begun(r, app.App, quick, two.ID()), 2)
	gives(r, two, "bye")
	run := begun(r, app.App, tells, one.ID())
	gives(r, run, 1)
	r.replays(run.ID(), hears, tells)
	r.must(ping.Send(r.ctx, app.App, one.ID(), "in the end")) // coroutines that never ran asked for nothing
	if _, err := one.Result(r.ctx); err != nil {
		r.Error(err)
	}
}
