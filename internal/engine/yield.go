package engine

// A body that waits for another run yields its step slot meanwhile, and its session yields its run slot if no other body runs: the run that is
// waited for may need them.
//
//  1. The slot is yielded as long as any goroutine of the body waits. Which of them does the work nobody can tell: one that goes on beside
//     others which wait does so without a slot, or the body might wait for ever for what needs it.
//  2. When the last one has its answer it takes a slot again before it goes on, and before steps that have not begun. If the context of the attempt
//     ends first, it goes on without: it is to return, and whoever ended it must not wait for a slot.
//  3. The session takes its run slot again when it next moves. A cancel for a body that is away is handled without one.
//  4. One in quarantine gives up its place as well, as what it waits for may be one in quarantine too. A session records that as the end of the attempt
//     (ABANDONED), so that it is not counted as a death when the other one ends the process, and a new start before the body goes on. One in quarantine
//     that was claimed from the queue has nobody to record that: its attempt is given up indeed, and made again after a pause.

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// errGaveWay is why the context of one in quarantine ends that was claimed from the queue and waits for another run.
var errGaveWay = errors.New("a step that may have ended its process waits for another run: it is tried again later")

// waitsForRun is the reason in the log.
const waitsForRun = "it waits for another run, and may be the step that ends its process"

// yieldPause is how long one in quarantine rests that gave way, the longer the more often it did: a minute at most.
func yieldPause(times int) time.Duration {
	d := quarantinePause << min(times, 8)
	return d + rand.N(d/4)
}

// seat is the place of a body: who it is, and what it holds.
type seat struct {
	info StepInfo
	e    *Engine
	home *mailbox        // that started it; nil: a task that was claimed from the queue
	ctx  context.Context // of the attempt
	// failedIn is the place of the function that failed, if it did; the body's own goroutine sets it.
	failedIn string
	quit     func()      // one in quarantine from the queue: ends the attempt's context
	task     *world.Task // that the body runs for; nil: it runs for its session alone

	mu       sync.Mutex
	streams  *streams            // nil: it has opened none; guarded by mu
	progress *progress           // nil: it has said nothing, and need not; guarded by mu
	made     []string            // values that it keeps apart; guarded by mu
	started  map[string]struct{} // workflows of which it has started a run under its own key; guarded by mu

	wear        *time.Timer   // that ends its place; guarded by mu
	waiting     int           // goroutines of the body that wait for runs; guarded by mu
	free        chan struct{} // closed when nobody need wait for a slot any more; nil: nobody does; guarded by mu
	returned    bool          // and opens no stream any more; guarded by mu
	slot        bool          // it holds a step slot; guarded by mu
	isolated    bool          // it is the only one in quarantine; guarded by mu
	quarantined bool          // it is, or was until it yielded its slot; guarded by mu
	away        bool          // it has yielded its slot and has not come back; guarded by mu
	over        bool          // the body has returned; guarded by mu
	asked       bool          // queued for what it yielded; guarded by mu
	loose       bool          // it need not wait for a slot: see letGo; guarded by mu
}

// Yield is called before a step's body waits for another run: it yields what the body holds to others. The caller calls back when it has its
// answer; that blocks until there is a slot for the body again, or its attempt's context has ended. Outside a body nothing happens.
func Yield(ctx context.Context) (back func()) {
	p, ok := ctx.Value(infoKey{}).(*seat)
	if !ok {
		return func() {}
	}
	p.yield()
	return p.back
}

func (p *seat) yield() {
	if p.quit != nil {
		p.quit()
		return
	}
	p.mu.Lock()
	p.waiting++
	slot, isolated := p.slot, p.isolated
	p.slot, p.isolated = false, false
	p.away = p.away || slot
	p.releaseLocked()
	p.mu.Unlock()
	if !slot {
		return
	}
	if p.home != nil && p.home.post(message{kind: msgYielded, step: p.info.Step, isolated: isolated}) {
		isolated = false // its session gives it back
	}
	p.give(true, isolated)
}

// give gives back to others what the body no longer holds.
func (p *seat) give(slot, isolated bool) {
	if isolated {
		p.e.quarantine.end(1)
	}
	if slot {
		p.e.steps.release(1)
	}
}

// releaseLocked lets goroutines go on that wait for a slot.
func (p *seat) releaseLocked() {
	if p.free != nil {
		close(p.free)
		p.free = nil
	}
}

func (p *seat) back() {
	if p.quit != nil {
		return
	}
	p.mu.Lock()
	p.waiting--
	if p.waiting > 0 || p.over || p.slot || p.loose || !p.away {
		p.mu.Unlock()
		return
	}
	if p.free == nil {
		p.free = make(chan struct{})
	}
	free, ask, quarantined := p.free, !p.asked, p.quarantined
	p.asked = true
	p.mu.Unlock()
	if ask {
		p.ask(quarantined)
	}
	select {
	case <-free:
	case <-p.ctx.Done():
	}
}

// ask queues for what was yielded.
func (p *seat) ask(quarantined bool) {
	if quarantined { // its session records a new start first, and calls resume
		p.home.post(message{kind: msgBack, step: p.info.Step})
		return
	}
	p.e.steps.again(func() {
		if !p.resume(false) {
			p.give(true, false)
		} else if p.home != nil {
			p.home.post(message{kind: msgBack, step: p.info.Step})
		}
	})
}

// resume lets the body go on with a slot. It reports whether it needs one still.
func (p *seat) resume(isolated bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = false
	if p.over || p.waiting > 0 {
		return false
	}
	p.slot, p.isolated, p.quarantined, p.away = true, isolated, isolated, false
	p.releaseLocked()
	return true
}

// leave ends the place when the body has returned, and tells what it held.
func (p *seat) leave() (slot, isolated bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	slot, isolated = p.slot, p.isolated
	p.slot, p.isolated, p.over = false, false, true
	p.stopWearLocked()
	p.releaseLocked()
	return slot, isolated
}

// wearOut ends a place in quarantine when its body has run for long, though it goes on: what ends its process does so soon, as a rule, and others wait for their place.
func (p *seat) wearOut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isolated {
		return
	}
	p.stopWearLocked()
	p.wear = time.AfterFunc(isolationPatience, func() {
		p.mu.Lock()
		isolated := p.isolated
		p.isolated, p.quarantined = false, false
		p.mu.Unlock()
		p.give(false, isolated)
	})
}

func (p *seat) stopWearLocked() {
	if p.wear != nil {
		p.wear.Stop()
	}
}

// letGo lets the body go on without a slot: its session starts nothing any more.
func (p *seat) letGo() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loose = true
	p.releaseLocked()
}

func (p *seat) isAway() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.away
}

// handleYielded is told that a body has yielded its slot. What a place in quarantine was is recorded before it is given to another.
func (w *steps) handleYielded(msg *message) {
	if !msg.isolated {
		return // it was only to let the session look at its run slot
	}
	w.isolation.done()
	b := w.bodies.of(msg.step)
	if b == nil || b.parked || w.course.blocked() || w.course.state().Step(msg.step) == nil {
		return
	}
	b.parked = true
	w.course.result(world.Event{
		Type: world.StepRetrying, ID: msg.step, Attempt: b.attempt, RetryAt: w.course.now(), Error: abandoned(waitsForRun),
	})
}

// handleBack lets one in quarantine that has waited for a run queue for its next start. Others have a slot already.
func (w *steps) handleBack(msg *message) {
	if b := w.bodies.of(msg.step); b != nil && b.parked {
		w.ready.add(msg.step)
	}
}

// resumeParked lets one in quarantine go on whose new start is durable now.
func (w *steps) resumeParked(b *body) {
	b.parked = false
	if b.quarantined {
		w.e.quarantine.begins(quarantinePause)
	}
	if b.seat.resume(b.quarantined) {
		b.seat.wearOut()
		return
	}
	w.slots.back(1) // it waits again, or has returned
	w.box.post(message{kind: msgYielded, step: b.step, isolated: b.quarantined})
}

// unpark records the start of one in quarantine that went on by itself, as its context had ended, and has returned.
func (w *steps) unpark(b *body) {
	b.parked = false
	e := world.Event{Type: world.StepStarted, ID: b.step, Attempt: w.course.state().Step(b.step).Attempts + 1}
	b.attempt = e.Attempt
	w.course.result(e)
}
