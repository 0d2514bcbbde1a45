package waiting

import (
	"context"
	"time"

	"github.com/stepwell/stepwell"
)

type line struct{ ID string }

var (
	stopped = stepwell.Event[string]("stop")
	resized = stepwell.Event[string]("resize")
	Pack    = stepwell.DefineStep("pack", func(ctx context.Context, id string) (string, error) { return id, nil })
)

func selects(ctx stepwell.Context, lines []line, how int) error {
	switch how {
	case 1:
		for _, l := range lines {
			i, err := stepwell.Select(ctx, Pack.Start(ctx, l.ID), stopped.Start(ctx)) // want `each round starts another EventDef.Start, and where another future ends first`
			if err != nil {
				return err
			}
			if i == 1 {
				return nil
			}
		}
	case 2:
		for n := 0; n < 100; n++ {
			packed, stop := Pack.Start(ctx, "x"), stopped.Start(ctx) // want `each round starts another EventDef.Start`
			switch i, err := stepwell.Select(ctx, packed, stop); {
			case err != nil:
				return err
			case i > 0:
				_, err := stop.Get(ctx)
				return err
			}
		}
	case 3:
		hook, err := stepwell.NewHook[string](ctx)
		if err != nil {
			return err
		}
		for n := 0; n < 100; n++ {
			i, err := stepwell.Select(ctx, hook.Start(ctx), stepwell.Timer(ctx, "nap", time.Hour)) // want `each round starts another Hook.Start`
			if err != nil {
				return err
			}
			switch i {
			case 0:
				return nil
			case 1:
				continue
			}
		}
	case 4:
		for range lines {
			for {
				i, err := stepwell.Select(ctx, stepwell.Timer(ctx, "nap", time.Hour), stopped.Start(ctx, stepwell.Timeout(time.Minute))) // want `each round starts another EventDef.Start`
				if err != nil {
					return err
				}
				if i == 0 {
					break
				}
			}
		}
	}
	return nil
}

func nearSelects(ctx stepwell.Context, lines []line, how int) error {
	switch how {
	case 1: // it is started once, and again when it has ended
		stop := stopped.Start(ctx)
		for _, l := range lines {
			i, err := stepwell.Select(ctx, Pack.Start(ctx, l.ID), stop) // near: leftbehind
			if err != nil {
				return err
			}
			if i == 1 {
				stop = stopped.Start(ctx)
			}
		}
	case 2: // the timer ends the loop
		for n := 0; n < 100; n++ {
			i, err := stepwell.Select(ctx, stopped.Start(ctx), stepwell.Timer(ctx, "nap", time.Hour)) // near: leftbehind
			if err != nil {
				return err
			}
			if i == 1 {
				break
			}
		}
	case 3: // each round waits for its own
		for _, l := range lines {
			if _, err := stepwell.Select(ctx, Pack.Start(ctx, l.ID), stopped.Start(ctx, stepwell.Match{"id": l.ID})); err != nil { // near: leftbehind
				return err
			}
		}
	case 4: // the one that lost is cancelled, with its part of the run or by the race
		for _, l := range lines {
			part, cancel := stepwell.WithCancel(ctx)
			if _, err := stepwell.Select(ctx, Pack.Start(ctx, l.ID), stopped.Start(part)); err != nil { // near: leftbehind
				return err
			}
			cancel()
		}
		for n := 0; n < 100; n++ {
			got, err := stepwell.Race(ctx, stopped.Start(ctx), resized.Start(ctx)) // near: leftbehind
			if err != nil || got.Payload == "end" {
				return err
			}
		}
	case 5: // steps and timers take nothing from others
		for _, l := range lines {
			if _, err := stepwell.Select(ctx, Pack.Start(ctx, l.ID), stepwell.Timer(ctx, "late", time.Hour)); err != nil { // near: leftbehind
				return err
			}
		}
	case 6: // what is there is kept
		var stop *stepwell.Future[stepwell.Received[string]]
		for _, l := range lines {
			if stop == nil {
				stop = stopped.Start(ctx)
			}
			i, err := stepwell.Select(ctx, Pack.Start(ctx, l.ID), stop) // near: leftbehind
			if err != nil {
				return err
			}
			if i == 1 {
				stop = nil
			}
		}
	case 7: // the switch leaves for each but the wait
		for n := 0; n < 100; n++ {
			i, err := stepwell.Select(ctx, stopped.Start(ctx), stepwell.Timer(ctx, "nap", time.Hour), Pack.Start(ctx, "x")) // near: leftbehind
			if err != nil {
				return err
			}
			switch i {
			case 1, 2:
				return nil
			}
		}
	case 9: // it is of a part that the round ends
		for _, l := range lines {
			part, cancel := stepwell.WithCancel(ctx)
			_, err := stepwell.Select(ctx, Pack.Start(ctx, l.ID), stopped.Start(part)) // near: leftbehind
			cancel()
			if err != nil {
				return err
			}
		}
	case 8: // it looks first
		for n := 0; n < 100; n++ {
			packed := Pack.Start(ctx, "x")
			if _, err := stepwell.Select(ctx, packed, stopped.Start(ctx)); err != nil || packed.Done() { // near: leftbehind
				return err
			}
		}
	}
	return nil
}
