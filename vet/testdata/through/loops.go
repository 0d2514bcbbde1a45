package through

import (
	"context"
	"errors"
	"time"

	"example.com/vet/through/desk"
	"github.com/stepwell/stepwell"
)

func cleanUp(ctx stepwell.Context) { _ = ship(ctx, "clean-up") }

func swallow() { recover() }

func deferredThrough(ctx stepwell.Context) error {
	s, bag := &state{ctx: ctx}, desk.NewBag(ctx)
	clean := func() { _ = ship(ctx, "x") }
	defer cleanUp(ctx)    // want `cleanUp is deferred, and comes to stepwell.Do`
	defer s.ship()        // want `ship is deferred, and comes to stepwell.Do`
	defer clean()         // want `clean is deferred, and comes to stepwell.Do`
	defer bag.Ship("far") // want `Bag.Ship is deferred, and comes to stepwell.Do`
	defer func() {        // want `ship in a deferred function`
		_ = ship(ctx, "x")
	}()
	defer swallow() // want `swallow swallows each panic`
	return ship(ctx, "y")
}

func nearDeferred(ctx stepwell.Context) (err error) {
	bag := desk.NewBag(ctx)
	note := func() { bag.Name = "done" }
	defer note()
	defer func() { _ = bag.Label() }()
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("x")
		}
		cleanUp(ctx)
	}()
	return ship(ctx, "y")
}

func once(ctx stepwell.Context) error { return stepwell.Sleep(ctx, "nap", time.Hour) }

func swallows(ctx stepwell.Context) error {
	if err := once(ctx); err != nil {
		ctx.Logger().Info("again")
	}
	return nil
}

func gone(err error) bool { return err != nil && errors.Is(err, stepwell.ErrCancelled) }

func failed(err error) bool { return err != nil }

func cancelledThrough(ctx stepwell.Context, n int) error {
	switch n {
	case 1:
		for {
			if err := once(ctx); err != nil {
				continue // want `through.once fails at once when the run is cancelled, and this loop never ends`
			}
			return nil
		}
	case 2:
		for { // want `through.once fails at once when the run is cancelled, and this loop never ends`
			if err := once(ctx); err == nil {
				return nil
			}
		}
	case 3:
		for {
			err := stepwell.Sleep(ctx, "nap", time.Hour)
			if errors.Is(err, stepwell.ErrCancelled) {
				continue // want `stepwell.Sleep fails at once when the run is cancelled`
			}
			return err
		}
	case 4:
		for {
			err := desk.Ship(ctx, "x")
			if failed(err) || desk.Gone(err) {
				continue // want `desk.Ship fails at once when the run is cancelled`
			}
			return err
		}
	case 5:
		for i := 0; ; i++ {
			err := once(ctx)
			switch {
			case err != nil:
				ctx.Logger().Info("again", "i", i)
				continue // want `through.once fails at once when the run is cancelled`
			}
			break
		}
	case 6:
	again:
		if err := once(ctx); err != nil {
			goto again // want `through.once fails at once when the run is cancelled`
		}
	case 7:
		ask := func() error { return once(ctx) }
		for {
			if ask() != nil {
				continue // want `ask fails at once when the run is cancelled`
			}
			return nil
		}
	}
	return nil
}

func nearCancelled(ctx stepwell.Context, n int) error {
	switch n {
	case 1:
		for {
			err := once(ctx)
			if gone(err) {
				return err
			}
			if err == nil {
				return nil
			}
		}
	case 2:
		for {
			err := once(ctx)
			if err != nil && !desk.Gone(err) {
				continue
			}
			return err
		}
	case 3:
		for tries := 0; ; tries++ {
			if err := once(ctx); err != nil && tries < 3 {
				continue
			}
			return nil
		}
	case 4:
		for {
			if err := once(ctx); errors.Is(err, stepwell.ErrTimeout) {
				continue
			} else if err != nil {
				return err
			}
			return nil
		}
	case 5:
		for {
			if err := swallows(ctx); err != nil {
				return err
			}
			if n++; n > 3 {
				return nil
			}
		}
	case 6:
		for range 3 {
			if err := once(ctx); err != nil {
				continue
			}
			return nil
		}
	}
	return nil
}

func unboundedThrough(ctx stepwell.Context, n int) error {
	switch n {
	case 1:
		for { // want `each round of this loop adds to the log`
			if err := once(ctx); failed(err) {
				return err
			}
		}
	case 2:
		for true { // want `each round of this loop adds to the log`
			if err := desk.Ship(ctx, "x"); err != nil {
				break
			}
		}
	case 3:
	again: // want `each round of this loop adds to the log`
		if err := once(ctx); err != nil {
			return err
		}
		goto again
	case 4:
		bag := desk.NewBag(ctx)
	outer:
		for { // want `each round of this loop adds to the log`
			for {
				if err := bag.Ship("x"); err != nil {
					break outer
				}
				continue outer
			}
		}
	}
	return poll(ctx)
}

func poll(ctx stepwell.Context) error { // want `poll calls itself, each time adding to the log, and nothing but an error ends it`
	if err := once(ctx); err != nil {
		return err
	}
	return poll(ctx)
}

func ping(ctx stepwell.Context) error { // want `ping calls itself, each time adding to the log`
	if err := once(ctx); err != nil {
		return err
	}
	return pong(ctx)
}

func pong(ctx stepwell.Context) error { return ping(ctx) }

func renew(ctx stepwell.Context, n int) error { return stepwell.ContinueAsNew(ctx, n) }

func countDown(ctx stepwell.Context, n int) error {
	if n == 0 {
		return nil
	}
	if err := once(ctx); err != nil {
		return err
	}
	return countDown(ctx, n-1)
}

func nearUnbounded(ctx stepwell.Context, n int) error {
	if err := countDown(ctx, n); err != nil {
		return err
	}
	switch n {
	case 1:
		for i := 0; ; i++ {
			if i > 100 {
				return renew(ctx, i)
			}
			if err := once(ctx); err != nil {
				return err
			}
		}
	case 2:
	again:
		if err := once(ctx); err != nil {
			return err
		}
		if n--; n > 0 {
			goto again
		}
	case 3:
		for {
			err := once(ctx)
			if errors.Is(err, stepwell.ErrTimeout) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func spinsThrough(ctx stepwell.Context, done bool) int {
	n := desk.Crunch() // want `desk.Crunch comes to a loop of 10000000000 rounds`
	n += crunch()      // want `through.crunch comes to a loop of 10000000000 rounds`
	for !done {        // want `nothing in this loop waits, or changes what it waits for`
	}
	for { // want `nothing in this loop waits, or changes what it waits for`
		n++
	}
}

func crunch() (n int) {
	const rounds = 10_000_000_000
	for i := 0; i < rounds; i++ {
		n += i
	}
	return n
}

func nearSpins(ctx stepwell.Context, list []int) (int, error) {
	n := 0
	for len(list) > 0 {
		list = list[1:]
	}
	for n < 100 {
		n++
	}
	for {
		if n++; n > 3 {
			break
		}
	}
	return stepwell.Step(ctx, "crunch", func(context.Context) (int, error) { return crunch() + desk.Crunch(), nil })
}
