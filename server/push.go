package server

// This file delivers by push: it finds runs and queued steps that are ready, and tells the endpoints that have their code, one message each.
//
//  1. Nothing rests on a message. It names what is ready; who gets it takes that from the queue, if it still is. A message that is lost is sent again,
//     because what it named is still ready.
//  2. A run has one message in flight at most, whatever wakes it meanwhile; so has a queued step. A message whose answer does not come though what it
//     named was taken and given back since is given up: whoever got it is gone, or its connection is. One that is accepted and then nobody takes what it
//     named is given up too, after a time that grows: who accepts it hangs, and behind a balancer another may not.
//  3. What was named in a message and is ready as before, since the same moment, is named again after a pause that grows. So an endpoint that does
//     nothing is not asked without end.

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell/push"
	"github.com/stepwell/stepwell/world"
)

// PushOptions say which endpoints a server pushes to. The zero value has none.
type PushOptions struct {
	// Endpoints are the URLs of programs that serve a [Flow]: https://app.example.com, or with a
	// path before /.well-known.
	Endpoints []string
	// Secrets sign messages, each with all of them: see [ParsePushSecrets]. Without secrets
	// messages are unsigned; then endpoints must be Insecure, and on this machine.
	Secrets []PushSecret
	// Concurrency is how many messages an endpoint may have at once. Default 32.
	Concurrency int
	// Margin is how long after its slice an endpoint may take to answer. A step that takes longer
	// goes on, and its endpoint keeps the run. Default 30 s.
	Margin time.Duration
	// Refresh is the time between reads of an endpoint's manifest, which a deploy changes. Default
	// 1 min.
	Refresh time.Duration
	// Failures is how many failures in a row open an endpoint's circuit. Then nothing is sent until
	// its health check succeeds. Default 5.
	Failures int
	// Reset is how long a circuit stays open at first. Each further opening doubles it, up to 5
	// min. Default 5 s.
	Reset time.Duration
}

func (o *PushOptions) defaults() error {
	var errs []error
	set := func(d *time.Duration, name string, to time.Duration) {
		if *d < 0 {
			errs = append(errs, invalid("PushOptions.%s is %s: must not be negative", name, *d))
		}
		if *d == 0 {
			*d = to
		}
	}
	set(&o.Margin, "Margin", 30*time.Second)
	set(&o.Refresh, "Refresh", time.Minute)
	set(&o.Reset, "Reset", 5*time.Second)
	if o.Concurrency < 0 || o.Failures < 0 {
		errs = append(errs, invalid("PushOptions: Concurrency is %d, Failures %d: must not be negative", o.Concurrency, o.Failures))
	}
	if o.Concurrency == 0 {
		o.Concurrency = 32
	}
	if o.Failures == 0 {
		o.Failures = 5
	}
	return errors.Join(append(errs, checkPushSecrets(o.Secrets))...)
}

// What the pusher waits for.
const (
	pushPoll     = time.Second            // between looks, beside notices, where the world does not say how reliable those are
	pushPollTold = 5 * time.Second        // where it does
	pushPause    = 10 * time.Millisecond  // between two looks, at least: notices come in crowds
	againFirst   = 100 * time.Millisecond // before something is named again that is ready as before
	againMost    = 30 * time.Second
	strayAfter   = 2 * time.Second        // from when something is ready though its message is in flight until that is given up
	hungAfter    = 10 * time.Second       // from a message until it is given up because nobody has taken what it names; twice as long each time
	afterStep    = 200 * time.Millisecond // for a run of which a step is being worked on: whoever ends that goes on with the run
	forgetDone   = 5 * time.Second        // what was worked on, and did not come again
	forgetTried  = 2 * againMost
)

// pusher finds what is ready, and who is to be told.
type pusher struct {
	world     world.World
	poller    world.Poller // of world; nil: it has none
	opts      PushOptions
	log       *slog.Logger
	endpoints []*endpoint
	wake      chan struct{} // look soon
	flying    sync.WaitGroup

	mu    sync.Mutex
	items map[itemKey]*item // guarded by mu
	steps map[string]int    // messages for steps that are in flight, by run; guarded by mu
	swept time.Time         // items that are no more were forgotten; guarded by mu
}

// itemKey names a run, or a task of one.
type itemKey struct{ run, step string }

// item is something that was named in a message.
type item struct {
	flying bool
	worked bool      // so said the last answer
	due    time.Time // since when it was ready when it was named last
	tries  int       // messages in a row that changed nothing
	until  time.Time // it is not named again before, on this process's clock

	answered time.Time
	named    time.Time // when its last message was sent
	hung     int       // messages in a row that were given up because nobody took what they name
	giveUp   context.CancelCauseFunc
	sent     int       // messages so far: only the last one's answer counts
	strayed  time.Time // it is in flight, and ready again, since; zero: it is not
}

// errHung is why a message is given up that was accepted.
var errHung = errors.New("it accepts messages, but nothing takes what they name")

// newPusher is nil where there are no endpoints.
func newPusher(w world.World, o PushOptions, log *slog.Logger) (*pusher, error) {
	if len(o.Endpoints) == 0 {
		return nil, nil
	}
	p := &pusher{world: w, poller: w.Abilities().Poller, opts: o, log: log, wake: make(chan struct{}, 1), items: map[itemKey]*item{}, steps: map[string]int{}}
	for _, text := range o.Endpoints {
		e, err := newEndpoint(p, text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(p.endpoints, func(other *endpoint) bool { return other.base.String() == e.base.String() }) {
			return nil, invalid("push endpoint %s is there twice", e.base)
		}
		p.endpoints = append(p.endpoints, e)
	}
	return p, nil
}

// Push delivers messages to the endpoints of the options until ctx ends, and returns when none is
// in flight. [Server.Serve] calls it; call it yourself if you mount the server in your own program.
// Several servers may push at once.
func (s *Server) Push(ctx context.Context) {
	if s.pusher != nil {
		s.pusher.run(ctx)
	}
}

// PushEndpoints returns the states of the endpoints.
func (s *Server) PushEndpoints() (all []PushEndpoint) { return s.pusher.standing() }

// standing tells how the endpoints are; of no pusher: there are none.
func (p *pusher) standing() (all []PushEndpoint) {
	if p == nil {
		return nil
	}
	for _, e := range p.endpoints {
		all = append(all, e.standing())
	}
	return all
}

func (p *pusher) run(ctx context.Context) {
	defer p.flying.Wait()
	defer p.world.Notify(func(n world.Notice) {
		if n.Kind == world.NoticeWork {
			p.kick()
		}
	})()
	for _, e := range p.endpoints {
		p.flying.Go(func() { e.watch(ctx) })
	}
	for {
		next := p.look(ctx)
		t := time.NewTimer(next)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-p.wake:
		case <-t.C:
		}
		t.Stop()
		if !pause(ctx, pushPause) {
			return
		}
	}
}

// kick makes the pusher look soon.
func (p *pusher) kick() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// look names what is ready to those who have room, and returns when to look again.
func (p *pusher) look(ctx context.Context) time.Duration {
	next := p.poll()
	p.forget()
	for _, e := range p.endpoints {
		room, classes, steps := e.room()
		if room == 0 {
			continue // an answer, or its health, kicks
		}
		got, err := p.world.Ready(ctx, world.ReadyQuery{Classes: classes, Steps: steps, Limit: p.limit(room)})
		if err != nil {
			if ctx.Err() == nil {
				p.log.Warn("cannot see what is ready to be pushed", "err", err)
			}
			return next
		}
		for i := range got.Items {
			k := itemKey{got.Items[i].Run, got.Items[i].Step}
			if room == 0 || !p.concerns(e, &got.Items[i]) {
				continue
			}
			if wait := p.leaves(k, got.Now.Sub(got.Items[i].Due)); wait > 0 {
				next = min(next, wait)
			} else if wait := p.claim(k, got.Items[i].Due); wait > 0 {
				next = min(next, wait)
			} else if wait == 0 {
				room--
				e.send(ctx, &got.Items[i])
			}
		}
		if d := got.Next.Sub(got.Now); !got.Next.IsZero() {
			next = min(next, max(d, pushPause))
		}
	}
	return next
}

// limit is how much to ask for, so that what is in flight, or waits for another try, hides nothing.
func (p *pusher) limit(room int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, now := room, time.Now()
	for _, it := range p.items {
		if it.flying || it.until.After(now) {
			n++
		}
	}
	return n
}

func (p *pusher) poll() time.Duration {
	if q := p.poller; q != nil && q.Poll() > 0 {
		return pushPollTold
	}
	return pushPoll
}

// concerns reports whether a message for something can go to an endpoint. A run that is to be cancelled is listed for everybody: but one that has its code lets it
// clean up.
func (p *pusher) concerns(e *endpoint, i *world.ReadyItem) bool {
	if i.Step != "" || e.has(i.Class) {
		return true
	}
	return !slices.ContainsFunc(p.endpoints, func(other *endpoint) bool { return other.has(i.Class) })
}

// leaves is how long a run that has been ready for some time is left to who works on a step of it; 0: nobody does.
func (p *pusher) leaves(k itemKey, ready time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k.step != "" || p.steps[k.run] == 0 {
		return 0
	}
	return max(afterStep-ready, 0)
}

// claim notes that something is named in a message now: 0. Otherwise it may be named again after that time, if it has no answer before.
func (p *pusher) claim(k itemKey, due time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	it := p.items[k]
	switch {
	case it == nil:
		it = &item{}
		p.items[k] = it
	case it.flying && it.due.Equal(due):
		if wait := hungAfter<<min(it.hung, 3) - time.Since(it.named); wait > 0 {
			return wait
		}
		it.hung++
		if it.giveUp != nil {
			it.giveUp(errHung)
		}
	case it.flying && it.strayed.IsZero():
		it.strayed = time.Now()
		return strayAfter
	case it.flying:
		if wait := strayAfter - time.Since(it.strayed); wait > 0 {
			return wait
		}
		it.tries = 0
	case !it.due.Equal(due): // something has happened to it
		it.tries, it.until, it.worked = 0, time.Time{}, false
	case it.worked: // they say, and it is as before
		it.worked = false
		it.again()
	}
	if wait := time.Until(it.until); wait > 0 {
		return wait
	}
	if !it.flying && k.step != "" {
		p.steps[k.run]++
	}
	it.flying, it.due, it.named, it.strayed = true, due, time.Now(), time.Time{}
	it.sent++
	return 0
}

// again puts off the next message.
func (it *item) again() {
	d := min(againFirst<<min(it.tries, 16), againMost)
	it.tries++
	it.until = time.Now().Add(d/2 + rand.N(d/2))
}

// sends notes how the message for something that was claimed is given up, and returns its number.
func (p *pusher) sends(k itemKey, giveUp context.CancelCauseFunc) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	it := p.items[k]
	it.giveUp = giveUp
	return it.sent
}

// answered notes what became of a message.
func (p *pusher) answered(k itemKey, number int, changed bool) {
	p.mu.Lock()
	if it := p.items[k]; it != nil && it.sent == number {
		it.flying, it.answered, it.hung = false, time.Now(), 0
		if k.step != "" {
			if p.steps[k.run]--; p.steps[k.run] == 0 {
				delete(p.steps, k.run)
			}
		}
		if it.worked = changed; !changed {
			it.again()
		}
	}
	p.mu.Unlock()
	p.kick()
}

// forget forgets what was not named again for a while.
func (p *pusher) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Sub(p.swept) < time.Second {
		return
	}
	p.swept = now
	for k, it := range p.items {
		keep := forgetDone
		if it.tries > 0 {
			keep = forgetTried
		}
		if !it.flying && now.Sub(it.answered) > keep {
			delete(p.items, k)
		}
	}
}

// messageOf is what is sent for something.
func messageOf(i *world.ReadyItem) push.Message {
	return push.Message{Run: i.Run, Step: i.Step, StepName: i.StepName}
}
