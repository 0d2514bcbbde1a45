package world

// What lies beside the log of a run that is not over: the row of the queue, hooks, tasks, and who waits for whom. The log is the truth.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Derived is what the log of a run says about data that is derived from it.
type Derived struct {
	Seq     int64 // number of the log's last event
	Running bool  // false: pending
	Paused  bool
	Awaits  []Await // those that are missing
}

// Await is a step that waits for the end of another run.
type Await struct{ Step, Run string }

// derivedCheck is a comparison.
type derivedCheck struct {
	w      World
	mender Mender // nil: nobody repairs
	s      *State
	cursor string // behind the log as it was read
	is     Derived
	wrong  []string // that a Mender puts right
	lost   error    // that nobody does
}

// checkDerived compares what lies beside the log of a run that is not over with what the log says. Where the log has gone on since, nothing is said. It tells
// what was put right, where that is wanted.
func checkDerived(ctx context.Context, w World, r *Run, s *State, cursor string, mend bool) (mended string, err error) {
	b := &derivedCheck{w: w, mender: w.Abilities().Mender, s: s, cursor: cursor, is: Derived{Seq: s.Seq, Running: s.Status == Running, Paused: s.Paused != nil}}
	for _, look := range []func(context.Context) error{
		func(ctx context.Context) error { return b.row(ctx, r) }, b.awaits, b.hooks, b.tasks,
	} {
		if err := look(ctx); err != nil {
			return "", err
		}
	}
	if len(b.wrong) == 0 && b.lost == nil {
		return "", nil
	}
	page, err := w.Events(ctx, s.ID, EventQuery{Cursor: cursor})
	if err != nil || len(page.Events) > 0 {
		return "", err
	}
	if b.mender != nil && mend && len(b.wrong) > 0 {
		done, err := b.mender.MendRun(ctx, s.ID, b.is)
		if err != nil {
			return "", err
		}
		if done {
			mended, b.wrong = strings.Join(b.wrong, "; "), nil
		}
	}
	if len(b.wrong) > 0 {
		return mended, &derivedError{run: s.ID, what: strings.Join(b.wrong, "; "), mends: b.lost == nil, lost: b.lost}
	}
	return mended, b.lost
}

// derivedError says what is not as the log says.
type derivedError struct {
	run, what string
	mends     bool // a Mender puts all of it right
	lost      error
}

func (e *derivedError) Error() string {
	if e.lost != nil {
		return e.what + "; " + e.lost.Error()
	}
	return "run " + e.run + ": " + e.what
}

func (e *derivedError) Unwrap() error { return ErrCorrupt }

// row compares the row of the queue.
func (b *derivedCheck) row(ctx context.Context, r *Run) error {
	differs := func(r *Run) bool {
		return r.Queue != nil && ((r.Status == Running) != b.is.Running || r.Queue.Paused != b.is.Paused)
	}
	if !differs(r) {
		return nil
	}
	now, err := b.w.Run(ctx, b.s.ID) // the log may have gone on between the two
	if err != nil || !differs(&now) {
		return err
	}
	if (now.Status == Running) != b.is.Running {
		b.wrong = append(b.wrong, fmt.Sprintf("its row says that it is %s, and its log that it is %s", now.Status, b.s.Status))
	}
	if now.Queue.Paused != b.is.Paused {
		paused := map[bool]string{true: "paused", false: "not paused"}
		b.wrong = append(b.wrong, fmt.Sprintf("its row says that it is %s, and its log that it is %s", paused[now.Queue.Paused], paused[b.is.Paused]))
	}
	return nil
}

// awaits looks for steps that nobody would tell of the end of the run that they wait for. Where that is over, the result is there or on its way: as mail.
func (b *derivedCheck) awaits(ctx context.Context) error {
	m := b.mender
	if m == nil {
		return nil
	}
	var open []Await
	for st := range b.s.Steps() {
		if (st.Kind == KindChild || st.Kind == KindAwait) && st.Peer != "" {
			open = append(open, Await{st.ID, st.Peer})
		}
	}
	if len(open) == 0 {
		return nil
	}
	have, err := m.Awaits(ctx, b.s.ID)
	if err != nil {
		return err
	}
	for _, a := range open {
		if slices.Contains(have, a) {
			continue
		}
		peer, err := b.w.Run(ctx, a.Run)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		lost := err != nil
		if !lost && peer.Status.Terminal() && slices.ContainsFunc(have, func(h Await) bool { return h.Step == a.Step }) {
			continue // it waits for what took the place of that run
		}
		if lost || peer.Status.Terminal() {
			row, err := b.w.Run(ctx, b.s.ID)
			if err != nil {
				return err
			}
			if row.Queue == nil || row.Queue.Mail > 0 {
				continue
			}
		}
		if lost { // the step is not told that there is no such run, which may end the one that waits: the row may come back
			b.lost = &CorruptError{Run: b.s.ID, Seq: b.s.Step(a.Step).Created, Err: fmt.Errorf("step %s waits for the end of run %s, whose row is lost: "+
				"restore it from a backup; or end this run with `stepwell runs cancel --force`, then fork it", a.Step, a.Run)}
			continue
		}
		b.is.Awaits = append(b.is.Awaits, a)
		b.wrong = append(b.wrong, fmt.Sprintf("step %s waits for the end of run %s, but would not be told of it", a.Step, a.Run))
	}
	return nil
}

// hooks looks for hooks that nobody can send to.
func (b *derivedCheck) hooks(ctx context.Context) error {
	for h := range b.s.Hooks() {
		rows, err := b.w.Hooks(ctx, HookQuery{Token: h.Token})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(rows, func(row HookRow) bool { return row.Run == b.s.ID && row.ID == h.ID }) {
			b.lost = &CorruptError{Run: b.s.ID, Seq: h.Created, Err: fmt.Errorf("hook %s is open, but its row is lost, so nobody can send to it", h.ID)}
		}
	}
	return nil
}

// tasks looks for queued steps that nobody runs.
func (b *derivedCheck) tasks(ctx context.Context) (err error) {
	if b.lost == nil {
		b.lost, err = lostTask(ctx, b.w, b.s)
	}
	return err
}

// lostTask finds a queued step that is open and has no task. One that has ended, and whose run has not read so, has mail.
func lostTask(ctx context.Context, w World, s *State) (lost, err error) {
	var open []*Step
	for st := range s.Steps() {
		if st.Queued {
			open = append(open, st)
		}
	}
	if len(open) == 0 {
		return nil, nil
	}
	tasks, err := w.Tasks(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	row, err := w.Run(ctx, s.ID)
	if err != nil || row.Queue == nil || row.Queue.Mail > 0 || len(tasks) >= mostTasks {
		return nil, err
	}
	for _, st := range open {
		if !slices.ContainsFunc(tasks, func(task Task) bool { return task.Step == st.ID }) {
			return &CorruptError{Run: s.ID, Seq: st.Created, Err: fmt.Errorf("step %s is open, but its task is lost, so no worker runs it", st.ID)}, nil
		}
	}
	return nil, nil
}

// mostTasks is how many tasks of a run worlds list.
const mostTasks = 1000

// PausedBy reports whether a run is paused after some events of its log. found is false if they do
// not say.
func PausedBy(events []Event) (paused, found bool) {
	for i := range events {
		if is, says := events[i].Pauses(); says {
			paused, found = is, true
		}
	}
	return paused, found
}
