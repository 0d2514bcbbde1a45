package engine

import (
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/world"
)

// worldClock is the world's clock, as far as the worker knows it. It goes on with the monotonic clock: steps of the
// system's clock are none of its.
type worldClock struct {
	keeper world.Timekeeper // that knows better, mostly; nil: none
	epoch  time.Time        // when the worker was made
	wall   time.Time        // what the system's clock said then, without a monotonic reading
	offset atomic.Int64     // world's clock minus ours, ns
	ahead  atomic.Int64     // the same at the last call of stepped, whoever knows it
}

// leastStep is from when a difference between two clocks is a step: less is how they run beside each other.
const leastStep = time.Second

func (c *worldClock) init(wall time.Time, keeper world.Timekeeper) {
	c.keeper, c.epoch, c.wall = keeper, time.Now(), wall.Round(0)
}

func (c *worldClock) now() time.Time {
	if c.keeper != nil {
		if t := c.keeper.Time(); !t.IsZero() {
			return t
		}
	}
	return c.system().Add(time.Duration(c.offset.Load())).UTC().Truncate(time.Microsecond)
}

// system is the system's clock as it was when the worker was made, gone on with the monotonic clock.
func (c *worldClock) system() time.Time { return c.wall.Add(time.Since(c.epoch)) }

// stepped reports whether the clock was set, in either direction, since the last call.
func (c *worldClock) stepped() bool {
	ahead := int64(c.now().Sub(c.system()))
	return time.Duration(ahead-c.ahead.Swap(ahead)).Abs() > leastStep
}

// hears notes what the world's clock said in the answer to what was sent.
func (c *worldClock) hears(sent, said time.Time) {
	trip := time.Since(sent)
	offset := said.Sub(c.system().Add(-trip / 2))
	if offset.Abs() <= trip+time.Millisecond {
		offset = 0 // within what the round trip explains
	}
	c.offset.Store(int64(offset))
	c.notBefore(said)
}

// notBefore moves the clock to what the world has said, if it is behind. What the world has given as due is due here,
// or it would be released and claimed over and over.
func (c *worldClock) notBefore(said time.Time) {
	if behind := said.Sub(c.now()); behind > 0 {
		c.offset.Add(int64(behind))
	}
}

// lease is for how long others believe that the worker is alive, on its own monotonic clock, and never longer than
// they do.
type lease struct {
	epoch  time.Time    // when the worker was made
	until  atomic.Int64 // ns since then
	spoken atomic.Int64 // when the last heartbeat was answered, ns since then
}

func (l *lease) init() { l.epoch = time.Now() }

// runs reports whether the lease still runs.
func (l *lease) runs() bool { return time.Since(l.epoch) < time.Duration(l.until.Load()) }

// renew lets it run for so long from when the heartbeat was sent: the world's view is never earlier.
func (l *lease) renew(sent time.Time, left time.Duration) {
	l.spoken.Store(int64(time.Since(l.epoch)))
	l.until.Store(int64(sent.Add(left).Sub(l.epoch)))
}

// end ends it, as far as the worker believes in it.
func (l *lease) end() { l.until.Store(0) }

// silent is for how long the world has not answered a heartbeat.
func (l *lease) silent() time.Duration {
	return time.Since(l.epoch) - time.Duration(l.spoken.Load())
}
