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
		s.course.look(s.e.clock.now())
		s.eval.use(s.e.code.workflow(tk.Class))
		cancel := slices.ContainsFunc(tk.Mail, isCancel)
		s.course.fault().was(tk.Blocked)
		withoutCode := cancel && (s.eval.workflow() == nil || tk.Status == world.Pending || tk.Blocked != nil || tk.Strikes >= maxStrikes)
		if withoutCode {
			s.eval.use(nil)
		}
		if s.leaves(ctx, tk) || !s.mayEvaluate(ctx, tk) {
			return
		}
		s.pen.reach(tk.Seq)
		if err := s.course.load(ctx, tk); err != nil {
			if errors.Is(err, world.ErrNotFound) || errors.Is(err, world.ErrClosed) || ctx.Err() != nil {
				s.stay.end()
				return
			}
			if s.course.state().Seq != tk.Seq && s.eval.workflow().fails(err) {
				_ = s.course.foldOn(ctx, tk) // where it cannot be read the run is blocked
			}
			if s.course.state().Seq != tk.Seq { // it cannot even be folded: go by what the queue says
				s.course.standAt(tk.Seq, tk.Status)
			}
			if !withoutCode {
				s.course.fail(err, 0)
			}
		}
		if err := s.eval.strictly().before(); err != nil {
			s.course.fail(err, s.course.state().Seq)
		}
		for i := range tk.Mail {
			if !withoutCode || isCancel(tk.Mail[i]) {
				s.box.postMail(&tk.Mail[i])
			}
		}
		if s.eval.workflow() != nil && !s.course.blocked() {
			s.begin(tk)
		}
		defer s.stay.limit(s.box.endSlice)()
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
			s.course.fail(&replay.PanicError{Value: recover(), Stack: debug.Stack()}, s.course.state().Seq)
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
func (c *course) load(ctx context.Context, tk world.ClaimedRun) error {
	c.st = &world.State{ID: c.own.run}
	if tk.Damage != "" {
		return &world.CorruptError{Run: c.own.run, Seq: 1, Err: errors.New(tk.Damage)}
	}
	cursor := ""
	if was := c.e.cache.pop(c.own.run); was != nil {
		if was.wf == c.eval.workflow() && was.state.Seq <= tk.Seq && was.state.SegmentSeq >= tk.Segment { // else another worker has continued it
			if c.eval.strictly().resume(was); was.m != nil {
				c.st = was.state
				c.eval.resume(was.m, c.st.Seq < tk.Seq) // another worker has lived through what came since
				cursor = world.Cursor(was.state.Seq)
			}
		} else {
			c.e.drop(was)
		}
	}
	if c.eval.machine() != nil && c.st.Seq == tk.Seq {
		return nil
	}
	err := c.reading(&tk).read(ctx, &tk, cursor, false)
	if err == nil && c.st.Seq == 0 {
		return world.CheckFirst(c.own.run, nil)
	}
	if errors.Is(err, replay.ErrFurther) { // what a turn asked for was cut into several commits, and a page ends between them
		c.eval.forget()
		c.st = &world.State{ID: c.own.run}
		err = c.reading(&tk).read(ctx, &tk, "", true)
	}
	if err != nil {
		return err
	}
	if c.eval.machine() != nil {
		c.eval.machine().SetReplaying(false)
	}
	if c.st.Seq != tk.Seq {
		return &world.CorruptError{Run: c.own.run, Seq: c.st.Seq + 1, Err: fmt.Errorf("the log ends at event %d, the queue says %d", c.st.Seq, tk.Seq)}
	}
	return nil
}

// reading is a course that is read from its log.
//
//   - What was sent and not taken is collected up to the start of the newest segment, whose machine begins with it.
type reading struct {
	course *course
	eval   *evaluation
	e      *Engine
	run    string
	newest int64         // number of the event that began the newest segment; 0: the first
	unread []world.Event // signals and payloads that nobody has taken, in order
}

func (c *course) reading(tk *world.ClaimedRun) *reading {
	return &reading{course: c, eval: c.eval, e: c.e, run: c.own.run, newest: tk.Segment}
}

// read replays the log behind a cursor: page by page, or all of it at once.
func (r *reading) read(ctx context.Context, tk *world.ClaimedRun, cursor string, whole bool) (err error) {
	var page world.EventPage
	if n := len(tk.Log); cursor == "" && n > 0 && tk.Log[n-1].Seq == tk.Seq { // the run came with all of it
		page.Events = tk.Log
	} else {
		page, err = r.firstPage(ctx, cursor)
	}
	var before []world.Event
	for err == nil {
		more := page.More
		if whole {
			before = append(before, page.Events...)
			page.Events = before
		}
		if !more || !whole {
			err = r.replay(page.Events, more)
		}
		if err != nil || !more {
			break
		}
		page, err = r.page(ctx, page.Cursor, 0)
	}
	return err
}

// replay folds a page of the log and feeds it to the machine.
func (r *reading) replay(events []world.Event, more bool) error {
	if err := r.e.readable(r.run, events); err != nil {
		return err
	}
	segment := 0 // where it begins
	for i := range events {
		e := &events[i]
		if r.course.state().Seq == 0 {
			if err := world.CheckFirst(r.run, e); err != nil {
				return err
			}
		}
		want := r.course.state().Seq + 1
		changed, err := r.course.state().Apply(e, zeroTime)
		if err == nil && !changed {
			err = errors.New("it says nothing new")
		}
		if err != nil {
			return &world.CorruptError{Run: r.run, Seq: want, Err: err}
		}
		if e.Seq <= r.newest {
			if err := r.pass(e, r.course.state().EnterAt > 0); err != nil {
				return err
			}
			segment = i
		}
		if e.Seq == r.newest || r.newest == 0 && e.Type == world.RunCreated {
			r.eval.enter(r.course.state(), r.unread)
		}
	}
	if r.course.state().Seq < r.newest {
		return nil
	}
	events = events[segment:]
	r.eval.strictly().record(events)
	if r.eval.machine() == nil || r.eval.strictly().before() != nil { // such code does not run again
		return nil
	}
	return r.eval.strictly().tells(r.eval.machine(), r.course.state().Seq, r.eval.machine().Feed(events, more))
}

// begin takes up what is open in a run that was just loaded, and starts it if it is new.
func (s *session) begin(tk world.ClaimedRun) {
	s.steps.loads(tk.Seq)
	if s.course.state().Status == world.Pending {
		if st := s.course.state(); st.Cancel == nil && st.Birth.StartTTL > 0 && !s.course.now().Before(st.Birth.StartBy(st.CreatedAt)) {
			s.course.terminal(world.Lapse(st.Birth.StartTTL))
			return
		}
		input, err := s.e.cfg.Whole(s.e.workCtx, s.own.run, s.course.state().Input, s.course.state().InputApart)
		if err != nil {
			s.course.fail(err, 1)
			return
		}
		if err := s.eval.workflow().Check(input); err != nil {
			if wf := s.eval.workflow(); (wf.Gather == nil) != (s.course.state().Birth.Gather == nil) { // other code knows better
				s.course.fail(otherGather(wf, err), 1)
				return
			}
			// Nothing has run: there is nothing to be kept for other code.
			s.course.terminal(world.Event{Type: world.RunFailed, Error: &world.Error{
				Message: fmt.Sprintf("workflow %s: the input does not fit: %v", s.eval.workflow().Name, err), Code: world.CodeDecode, Permanent: true,
			}})
			return
		}
		e := s.e.begins(world.RunStarted)
		if s.course.state().Version == 0 {
			e.Version = s.eval.workflow().Version
		}
		s.course.result(e)
		s.timers.timeDeadline(s.course.state())
		return
	}
	s.timers.timeDeadline(s.course.state())
	s.course.create()
	for w := range s.course.state().Waits() {
		s.timers.timeWait(w)
	}
	s.ready.clear()
	for _, st := range byCreation(s.course.state().Steps()) {
		s.timers.timeStart(st)
		if st.Queued || st.Kind != world.KindClosure && st.Kind != world.KindTask {
			continue
		}
		if st.RetryAt.After(s.course.now()) {
			s.timers.add(st.RetryAt, st.ID, true, st.Created)
		} else {
			s.ready.add(st.ID)
		}
	}
}
