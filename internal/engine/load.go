package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// runClaimed is the goroutine of a session whose run was claimed from the queue.
func (s *session) runClaimed(ctx context.Context, tk world.ClaimedRun) {
	s.guard(ctx, func() {
		s.now = s.e.clock.now()
		cancel := slices.ContainsFunc(tk.Mail, isCancel)
		s.failure.was(tk.Blocked)
		s.wf, s.workflow = s.e.code.workflow(tk.Class), tk.Class.Workflow
		withoutCode := cancel && (s.wf == nil || tk.Status == world.Pending || tk.Blocked != nil || tk.Strikes >= maxStrikes)
		if withoutCode {
			s.wf = nil
		}
		if !s.mayEvaluate(ctx, tk) {
			return
		}
		if err := s.load(ctx, tk); err != nil {
			if errors.Is(err, world.ErrNotFound) || errors.Is(err, world.ErrClosed) || ctx.Err() != nil {
				s.stay.end()
				return
			}
			if s.state.Seq != tk.Seq && s.wf.fails(err) {
				_ = foldOn(ctx, s, tk) // where it cannot be read the run is blocked
			}
			if s.state.Seq != tk.Seq { // it cannot even be folded: go by what the queue says
				s.state = &world.State{ID: s.run, Seq: tk.Seq, Status: tk.Status}
			}
			if !withoutCode {
				s.fail(err, 0)
			}
		}
		if err := s.trial.before(); err != nil {
			s.fail(err, s.state.Seq)
		}
		for i := range tk.Mail {
			if !withoutCode || isCancel(tk.Mail[i]) {
				s.postMail(&tk.Mail[i])
			}
		}
		if s.wf != nil && !s.failure.some() {
			s.begin(tk)
		}
		defer s.stay.limit(s.endSlice)()
		s.loop(ctx)
	})
}

func isCancel(m world.Mail) bool {
	return slices.ContainsFunc(m.Events, func(e world.Event) bool { return e.Type == world.CancelRequested })
}

// guard runs the session's life. Workflow code that calls runtime.Goexit ends this goroutine; another one blocks the run then.
func (s *session) guard(ctx context.Context, life func()) {
	finished := false
	defer func() {
		switch {
		case finished:
			s.close()
		case s.birth != nil:
			recovered := recover()
			s.birth.refuse(fmt.Errorf("the first turn ended its goroutine (%v)", recovered))
			s.close()
		default:
			s.fail(&replay.PanicError{Value: recover(), Stack: debug.Stack()}, s.state.Seq)
			s.e.holdings.goOn(func() {
				defer s.close()
				s.loop(ctx)
			})
		}
	}()
	life()
	finished = true
}

// load brings the run's state and machine to the end of its log: from the cache and what came since, or by a replay of its newest segment.
func (s *session) load(ctx context.Context, tk world.ClaimedRun) error {
	s.state, s.durable, s.newest = &world.State{ID: s.run}, tk.Seq, tk.Segment
	if tk.Damage != "" {
		return &world.CorruptError{Run: s.run, Seq: 1, Err: errors.New(tk.Damage)}
	}
	cursor := ""
	if c := s.e.cache.pop(s.run); c != nil {
		if c.wf == s.wf && c.state.Seq <= tk.Seq && c.state.SegmentSeq >= tk.Segment { // else another worker has continued it
			if s.trial.resume(c); c.m != nil {
				s.state, s.m = c.state, c.m
				s.m.SetReplaying(s.state.Seq < tk.Seq) // another worker has lived through what came since
				s.watched.Store(s.m)
				cursor = world.Cursor(c.state.Seq)
			}
		} else {
			s.e.drop(c)
		}
	}
	if s.m != nil && s.state.Seq == tk.Seq {
		return nil
	}
	err := s.read(ctx, tk, cursor, false)
	if err == nil && s.state.Seq == 0 {
		return world.CheckFirst(s.run, nil)
	}
	if errors.Is(err, replay.ErrFurther) { // what a turn asked for was cut into several commits, and a page ends between them
		s.e.unwind(s.m)
		s.state, s.m, s.carried = &world.State{ID: s.run}, nil, carried{}
		err = s.read(ctx, tk, "", true)
	}
	if err != nil {
		return err
	}
	if s.m != nil {
		s.m.SetReplaying(false)
	}
	if s.state.Seq != tk.Seq {
		return &world.CorruptError{Run: s.run, Seq: s.state.Seq + 1, Err: fmt.Errorf("the log ends at event %d, the queue says %d", s.state.Seq, tk.Seq)}
	}
	return nil
}

// read replays the log behind a cursor: page by page, or all of it at once.
func (s *session) read(ctx context.Context, tk world.ClaimedRun, cursor string, whole bool) (err error) {
	var page world.EventPage
	if n := len(tk.Log); cursor == "" && n > 0 && tk.Log[n-1].Seq == tk.Seq { // the run came with all of it
		page.Events = tk.Log
	} else {
		page, err = s.firstPage(ctx, cursor)
	}
	var before []world.Event
	for err == nil {
		more := page.More
		if whole {
			before = append(before, page.Events...)
			page.Events = before
		}
		if !more || !whole {
			err = s.replay(page.Events, more)
		}
		if err != nil || !more {
			break
		}
		page, err = s.page(ctx, page.Cursor, 0)
	}
	return err
}

// replay folds a page of the log and feeds it to the machine.
func (s *session) replay(events []world.Event, more bool) error {
	if err := s.e.readable(s.run, events); err != nil {
		return err
	}
	segment := 0 // where it begins
	for i := range events {
		e := &events[i]
		if s.state.Seq == 0 {
			if err := world.CheckFirst(s.run, e); err != nil {
				return err
			}
		}
		want := s.state.Seq + 1
		changed, err := s.state.Apply(e, zeroTime)
		if err == nil && !changed {
			err = errors.New("it says nothing new")
		}
		if err != nil {
			return &world.CorruptError{Run: s.run, Seq: want, Err: err}
		}
		if e.Seq <= s.newest {
			if err := s.pass(e, s.state.EnterAt > 0); err != nil {
				return err
			}
			segment = i
		}
		if e.Seq == s.newest || s.newest == 0 && e.Type == world.RunCreated {
			s.enter()
		}
	}
	if s.state.Seq < s.newest {
		return nil
	}
	events = events[segment:]
	s.trial.record(events)
	if s.m == nil || s.trial.before() != nil { // such code does not run again
		return nil
	}
	return s.trial.tells(s.m, s.state.Seq, s.m.Feed(events, more))
}

func (s *session) newMachine() {
	s.m = s.machine()
	s.watched.Store(s.m)
}

// machine makes a machine for the run's present segment.
func (s *session) machine() *replay.Machine {
	return replay.New(replay.Config{
		Run: s.run, Created: s.state.CreatedAt, Seed: s.state.Birth.Seed, Segment: s.state.Segment, Build: s.e.cfg.Build, Strict: s.e.cfg.Strict, Secret: s.e.cfg.Secret,
		Fails: s.wf.crashes(),
		Fork:  s.state.Birth.Origin != nil, Unread: s.carried.unread, Hooks: s.carried.hooks, Attributes: s.carried.attributes,
	}, s.wf.Body(s.state.Input))
}

// begin takes up what is open in a run that was just loaded, and starts it if it is new.
func (s *session) begin(tk world.ClaimedRun) {
	s.loaded = tk.Seq
	if s.state.Status == world.Pending {
		input, err := s.e.cfg.Whole(s.e.workCtx, s.run, s.state.Input)
		if err != nil {
			s.fail(err, 1)
			return
		}
		if err := s.wf.Check(input); err != nil { // nothing has run: there is nothing to be kept for other code
			s.terminal(world.Event{Type: world.RunFailed, Error: &world.Error{
				Message: fmt.Sprintf("workflow %s: the input does not fit: %v", s.wf.Name, err), Code: world.CodeDecode, Permanent: true,
			}})
			return
		}
		e := world.Event{Type: world.RunStarted}
		if s.state.Version == 0 {
			e.Version = s.wf.Version
		}
		s.result(e)
		s.watchDeadline()
		return
	}
	s.watchDeadline()
	s.create()
	for w := range s.state.Waits() {
		s.timeWait(w)
	}
	s.ready.clear()
	for _, st := range byCreation(s.state.Steps()) {
		s.timers.timeStart(st)
		if st.Queued || st.Kind != world.KindClosure && st.Kind != world.KindTask {
			continue
		}
		if st.RetryAt.After(s.now) {
			s.timers.add(st.RetryAt, st.ID, true, st.Created)
		} else {
			s.ready.add(st.ID)
		}
	}
}
