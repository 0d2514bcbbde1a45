package server

// Those who wait for one run read it once, and never see less than what they were told of.

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

func TestShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		defer func() { _ = w.Close() }() // nothing was written
		h := newWatchers(w)
		_, stop := h.add("r")
		defer stop()
		var reads atomic.Int64
		read := func() (int64, error) {
			n := reads.Add(1)
			<-time.After(time.Second)
			return n, nil
		}
		ask := func(what string, fresh time.Duration) int64 {
			n, err := share(h, "r", what, fresh, read)
			if err != nil {
				t.Error(err)
			}
			return n
		}
		check := func(about string, got, want int64) {
			t.Helper()
			if got != want {
				t.Errorf("%s: got what reading %d found, want %d", about, got, want)
			}
		}
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { check("together", ask("log", time.Minute), 1) })
		}
		all.Wait()
		check("later", ask("log", time.Minute), 1)
		check("something else", ask("status", time.Minute), 2)
		check("too late", ask("log", time.Millisecond), 3)

		all.Go(func() { check("the one that reads before the news", ask("log", 0), 4) })
		synctest.Wait()
		h.tell(world.Notice{Kind: world.NoticeLog, Run: "other"})
		all.Go(func() { check("after news of another run", ask("log", time.Minute), 4) })
		synctest.Wait()
		h.tell(world.Notice{Kind: world.NoticeLog, Run: "r"})
		all.Go(func() { check("after the news, while another reads", ask("log", time.Minute), 5) })
		synctest.Wait()
		all.Go(func() { check("with the one before", ask("log", time.Minute), 5) })
		all.Wait()

		for i := range 3 * mostReads {
			ask(fmt.Sprint("page ", i), time.Minute)
		}
		if n := len(h.runs["r"].reads); n > mostReads {
			t.Errorf("%d readings are kept, want %d at most", n, mostReads)
		}
	})
}

// A reading that fails, or panics, fails for nobody else.
func TestShareOfWhatFailed(t *testing.T) {
	for name, fails := range map[string]func() (int, error){
		"error": func() (int, error) { return 0, errors.New("the client went away") },
		"panic": func() (int, error) { panic("bug") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := memory.New()
				defer func() { _ = w.Close() }() // nothing was written
				h := newWatchers(w)
				_, stop := h.add("r")
				defer stop()
				var all sync.WaitGroup
				all.Go(func() {
					defer func() { _ = recover() }()
					_, _ = share(h, "r", "log", time.Minute, func() (int, error) {
						<-time.After(time.Second)
						return fails()
					})
				})
				synctest.Wait()
				all.Go(func() {
					if got, err := share(h, "r", "log", time.Minute, func() (int, error) { return 7, nil }); got != 7 || err != nil {
						t.Errorf("got %d, %v, want 7", got, err)
					}
				})
				all.Wait()
			})
		})
	}
}
