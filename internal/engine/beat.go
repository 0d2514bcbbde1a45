package engine

import (
	"context"
	"errors"
	"time"

	"github.com/stepwell/stepwell/world"
)

// join registers the worker under a new ID.
func (e *Engine) join(ctx context.Context) error {
	w := world.Worker{
		ID: world.NewID(world.PrefixWorker, time.Now()), Name: e.cfg.Name, Build: e.cfg.Build,
		Classes: e.classes, Steps: e.stepNames(), Lease: e.cfg.Lease,
	}
	sent := time.Now()
	b, err := e.cfg.World.Join(ctx, w)
	if err != nil {
		return err
	}
	e.worker.Store(&w.ID)
	e.renewed(sent, b)
	return nil
}

// renewed notes a new end of the lease and the world's clock. The lease counts from when the beat was sent: the world's view is never earlier.
func (e *Engine) renewed(sent time.Time, b world.Beat) {
	e.spoken.Store(int64(time.Since(e.epoch0)))
	e.until.Store(int64(sent.Add(b.Until.Sub(b.Now)).Sub(e.epoch0)))
	trip := time.Since(sent)
	offset := b.Now.Sub(e.clock().Add(-trip / 2))
	if offset.Abs() <= trip+time.Millisecond {
		offset = 0 // within what the round trip explains
	}
	e.offset.Store(int64(offset))
	e.notBefore(b.Now)
}

// notBefore moves this worker's idea of the world's clock to what the world has said, if it is behind. What the world has given as due is due here, or it would
// be released and taken over and over.
func (e *Engine) notBefore(said time.Time) {
	if behind := said.Sub(e.now()); behind > 0 {
		e.offset.Add(int64(behind))
	}
}

// beatLoop renews the lease: every Beat while the worker owns anything, else as rarely as the lease allows; and whenever mail is announced. What is taken
// meanwhile makes the next beat due sooner, and never later.
func (e *Engine) beatLoop(ctx context.Context) {
	due := time.Now().Add(e.beatPause())
	for {
		t := time.NewTimer(time.Until(due))
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-e.beat:
			if !e.busy() && e.leased() {
				t.Stop()
				continue // nobody here could get mail
			}
		case <-e.stir:
			t.Stop()
			if soon := time.Now().Add(e.beatPause()); soon.Before(due) {
				due = soon
			}
			continue
		case <-t.C:
		}
		t.Stop()
		e.beatOnce(ctx)
		due = time.Now().Add(e.beatPause())
	}
}

// beatPause is the time between beats for a worker that owns what this one does.
func (e *Engine) beatPause() time.Duration {
	if e.busy() {
		return e.cfg.Beat
	}
	return e.cfg.Lease / 3
}

// stirLocked makes beats as frequent as they are for who owns something, where this worker begins to.
func (e *Engine) stirLocked() {
	if len(e.owned)+len(e.tasks) == 0 {
		nudge(e.stir)
	}
}

func (e *Engine) busy() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.owned)+len(e.tasks) > 0 || e.books.openLocked()
}

// holds reports whether this process is still the worker that it was when it asked for something whose answer has come now.
func (e *Engine) holds(ctx context.Context, worker string) bool {
	return e.workerID() == worker && (e.leased() || e.confirm(ctx, worker))
}

// confirm finds out whether this process is still the worker, where its lease ran out on its own clock: it asks until it is told.
func (e *Engine) confirm(ctx context.Context, worker string) bool {
	for try := 0; ; try++ {
		switch {
		case e.workerID() != worker || ctx.Err() != nil:
			return false
		case e.leased():
			return true
		}
		e.beatOnce(ctx)
		if !e.leased() && !pause(ctx, retryPause(try)) {
			return false
		}
	}
}

// resign gives up all that the worker holds and joins anew, where the answer to a take was lost: nobody knows what it was given. The old
// lease is left to run out, so that nobody else begins what bodies here may still do.
func (e *Engine) resign(ctx context.Context) {
	e.beating <- struct{}{}
	defer func() { <-e.beating }()
	e.loseAll()
	for try := 0; ; try++ {
		err := e.join(ctx)
		if err == nil || !pause(ctx, retryPause(try)) {
			return
		}
		e.cfg.Logger.Warn("join failed", "err", err)
	}
}

// distrust makes the worker beat before it believes in its lease again.
func (e *Engine) distrust() {
	e.until.Store(0)
	nudge(e.beat)
}

func (e *Engine) beatOnce(ctx context.Context) {
	select {
	case e.beating <- struct{}{}: // one at a time: a lost lease is joined anew once
		defer func() { <-e.beating }()
	case <-ctx.Done():
		return
	}
	e.beatNow(ctx)
}

// look gets the mail of all runs that is durable by now: by a beat that begins behind this call, be it another's. It
// is false where there was none.
func (e *Engine) look(ctx context.Context) bool {
	begun := e.beats.Load()
	select {
	case e.beating <- struct{}{}:
		defer func() { <-e.beating }()
	case <-ctx.Done():
		return false
	}
	if e.beats.Load() > begun && e.heard {
		return true
	}
	e.beatNow(ctx)
	return e.heard
}

// beatNow beats. The caller has the place in e.beating.
func (e *Engine) beatNow(ctx context.Context) {
	number, worker := e.beats.Add(1), e.workerID()
	e.heard = false
	sent := time.Now()
	b, err := e.cfg.World.Beat(ctx, world.BeatQuery{Worker: worker, Tasks: e.taskKeys()})
	switch {
	case err == nil:
		e.renewed(sent, b)
	case errors.Is(err, world.ErrLeaseLost):
		e.loseAll()
		if err := e.join(ctx); err != nil && ctx.Err() == nil {
			e.cfg.Logger.Warn("join failed", "err", err)
		}
		e.kick()
		return
	case errors.Is(err, world.ErrReplaced):
		e.lostWorld(err)
		return
	default:
		if ctx.Err() == nil {
			e.cfg.Logger.Warn("beat failed", "err", err)
		}
		return
	}
	e.heard = true
	e.dispatch(b)
	e.audit(ctx, worker, number, b.Account)
}

// dispatch gives what a beat told to whom it concerns.
func (e *Engine) dispatch(b world.Beat) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range b.Mail {
		m := &b.Mail[i]
		if s := e.owned[m.Run]; s != nil {
			s.postMail(m)
		}
	}
	for _, k := range b.Ended {
		if t := e.tasks[taskKey{k.Run, k.Step}]; t != nil && t.attempt == k.Attempt {
			t.cancel(ErrRunOver)
		}
	}
	for _, run := range b.Lost {
		if s := e.owned[run]; s != nil {
			s.box.post(message{kind: msgLost})
		}
	}
}

func (e *Engine) taskKeys() []world.TaskKey {
	e.mu.Lock()
	defer e.mu.Unlock()
	keys := make([]world.TaskKey, 0, len(e.tasks))
	for k, t := range e.tasks {
		if t.ending {
			continue
		}
		keys = append(keys, world.TaskKey{Run: k.run, Step: k.step, Attempt: t.attempt})
	}
	return keys
}

// loseAll ends everything that this worker owned: its lease was ended by somebody else.
func (e *Engine) loseAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.owned {
		s.box.post(message{kind: msgLost})
	}
	for _, t := range e.tasks {
		t.cancel(world.ErrLeaseLost)
	}
}
