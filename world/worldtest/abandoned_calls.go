// Calls that are given up: a caller that does not wait for the answer must be able to find out, and to try again.

package worldtest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/world"
)

// abandonedCalls is how many calls a check gives up.
const abandonedCalls = 40

// givenUp calls f with a context that ends while it is under way: at another moment of usual, which is how long f takes, for each n.
func (r *rig) givenUp(n int, usual time.Duration, f func(ctx context.Context) error) error {
	ctx, stop := context.WithCancel(r.ctx)
	defer stop()
	timer := time.AfterFunc(usual*time.Duration(2*n+1)/abandonedCalls, stop)
	defer timer.Stop()
	return f(ctx)
}

// took is how long f takes.
func took(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin)
}

var givenUps = []check{
	{"a commit that was given up is written once or not", "Outcome tells; one that was not written may be tried again, and its first try cannot come after it", func(r *rig) {
		s := r.worker("greet").create("greet")
		abandoned := 0
		usual := took(func() { s.append(signalEvent("first")) })
		for i := range abandonedCalls {
			c := s.next(signalEvent(fmt.Sprint("a", i)))
			err := r.givenUp(i, usual, func(ctx context.Context) error { _, err := r.w.Commit(ctx, c); return err })
			if err != nil {
				r.refused(err, context.Canceled, "a commit that was given up")
				abandoned++
			}
			for err != nil {
				if _, err = r.w.Outcome(r.ctx, c); err == nil {
					break
				}
				r.refused(err, world.ErrNotFound, "outcome")
				if _, err = r.w.Commit(r.ctx, c); isErr(err, world.ErrLeaseLost) { // the first try was written after all
					_, err = r.w.Outcome(r.ctx, c)
				}
				r.must(err, "the second try")
			}
			s.seq++
			r.same(r.events(s.run)[s.seq-1].Name, fmt.Sprint("a", i), "the event")
		}
		r.Log(abandoned, "of", abandonedCalls, "commits were given up")
		r.same(len(r.events(s.run)), 3+abandonedCalls, "events")
	}},
	{"a birth that was given up happens once or not", "the run ID tells: a second try is refused where the first was written", func(r *rig) {
		usual := took(func() { r.createRun("greet") })
		for i := range abandonedCalls {
			c := birth("greet", withKey(fmt.Sprint("k", i)))
			if err := r.givenUp(i, usual, func(ctx context.Context) error { _, err := r.w.Commit(ctx, c); return err }); err != nil {
				r.refused(err, context.Canceled, "a birth that was given up")
				if _, err := r.w.Commit(r.ctx, c); err != nil {
					r.refused(err, world.ErrRunExists, "the second try")
				}
			}
			_, err := r.w.Outcome(r.ctx, c)
			r.must(err, "outcome")
			r.same(len(r.events(c.Run)), 1, "events")
		}
	}},
	{"a delivery that was given up comes once", "sent again under its ID it is accepted, and waits once", func(r *rig) {
		s := r.worker("greet").create("greet")
		usual := took(func() { r.deliver(signal(s.run, "", "first")) })
		for i := range abandonedCalls {
			d := signal(s.run, fmt.Sprint("d", i), "a")
			if err := r.givenUp(i, usual, func(ctx context.Context) error { _, err := r.w.Deliver(ctx, d); return err }); err != nil {
				r.refused(err, context.Canceled, "a delivery that was given up")
				r.deliver(d)
			}
		}
		r.same(len(s.mail()), 1+abandonedCalls, "mail")
	}},
	{"a release that was not made is not told as made", "a release without events is known by its claim: the end of a lease is no release", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		c := s.next()
		c.Release = &world.Release{}
		r.must(r.w.Leave(r.ctx, k.id), "leave")
		for _, state := range []string{"nobody owns the run", "another worker does"} {
			if state == "another worker does" {
				r.worker("greet").get(s.run)
			}
			if _, err := r.w.Outcome(r.ctx, c); !isErr(err, world.ErrLeaseLost) && !isErr(err, world.ErrNotFound) {
				r.Fatalf("outcome while %s: got %v, want ErrLeaseLost or ErrNotFound", state, err)
			}
			r.refusedCommit(c, world.ErrLeaseLost, "the release, while "+state)
		}
	}},
	{"closing ends no commit half way", "Close waits for commits under way; what comes later gets ErrClosed", func(r *rig) {
		k := r.worker("greet")
		var wg sync.WaitGroup
		var written atomic.Int32
		for range 8 {
			s := k.create("greet")
			wg.Go(func() {
				for {
					_, err := r.w.Commit(r.ctx, s.next(signalEvent("a")))
					if isErr(err, world.ErrClosed) {
						return
					}
					if err != nil {
						r.Errorf("run %s: %v", s.run, err)
						return
					}
					s.seq++
					written.Add(1)
				}
			})
		}
		r.until("commits are under way", func() bool { return written.Load() > 20 })
		r.must(r.w.Close(), "close")
		wg.Wait()
	}},
}
