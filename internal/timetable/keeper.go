package timetable

// This file looks at what is due while a program runs, and has runs started.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepwell/stepwell/internal/courier"
	"github.com/stepwell/stepwell/world"
)

// Input computes the input of a time's run.
type Input func(at, previous time.Time) ([]byte, error)

// Keeper works for the schedules of a database while a program runs. Any number may, in any process: a run and the
// change of its schedule's row are one commit, and of two who try the second changes nothing.
type Keeper struct {
	Store    world.Scheduler
	Notifier world.Notifier
	Log      *slog.Logger
	Poll     time.Duration // between looks for what nobody told of; 0: a minute where there are news, and 5 s where not
	// Inputs are computed here: by set and schedule.
	Inputs map[string]map[string]Input

	Start  func(ctx context.Context, f *Firing) (run string, existed bool, err error)
	Cancel func(ctx context.Context, run, reason string) error
	Last   func(ctx context.Context, run string) (LastRun, error)
	Beside func(ctx context.Context) (next time.Duration) // looks after something else, beside, and tells when next; nil: nothing
}

const (
	parallel = 64 // schedules at once
	atOnce   = 4 * parallel
	hold     = 10 * time.Second
	idle     = time.Minute      // between looks besides notices
	rest     = 15 * time.Second // of a schedule that cannot be gone on with here
)

// looking is what one who looks knows.
type looking struct {
	*Keeper
	mu    sync.Mutex
	waits map[string]waiting   // guarded by mu: by the run whose end is waited for
	ended map[string]bool      // guarded by mu: schedules whose wait is over
	shun  map[string]time.Time // guarded by mu: schedules that cannot be gone on with here
}

// waiting is a schedule that waits for the end of a run.
type waiting struct {
	schedule string
	asked    bool // for the run's end: it was cancelled
}

// Run works until ctx ends, and returns when nothing is worked on any more.
func (k *Keeper) Run(ctx context.Context) {
	l := &looking{Keeper: k, waits: map[string]waiting{}, ended: map[string]bool{}, shun: map[string]time.Time{}}
	look := k.Poll
	if look <= 0 {
		look = idle
	}
	var beside sync.WaitGroup
	defer beside.Wait()
	if k.Beside != nil {
		beside.Go(func() { k.lookBeside(ctx, look) })
	}
	news := courier.NewsOf(k.Notifier, l.concerns)
	defer news.Stop()
	for failed := 0; ctx.Err() == nil; {
		wait, err := l.look(ctx, look)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if failed++; failed == 1 {
				k.Log.Warn("cannot check the schedules", "error", err, "hint", "It is tried again")
			}
			wait = min(time.Second<<min(failed-1, 5), 30*time.Second)
		default:
			failed = 0
		}
		rests(ctx, wait, news)
	}
}

// rests waits for a time, or for news.
func rests(ctx context.Context, wait time.Duration, news *courier.News) {
	again := time.NewTimer(wait)
	defer again.Stop()
	select {
	case <-news.Came:
	case <-again.C:
	case <-ctx.Done():
	}
}

// lookBeside calls Beside, on a goroutine of its own: schedules do not wait for it.
func (k *Keeper) lookBeside(ctx context.Context, most time.Duration) {
	news := courier.NewsOf(k.Notifier, func(n world.Notice) bool { return n.Kind == world.NoticeSchedule })
	defer news.Stop()
	for ctx.Err() == nil {
		wait := most
		if next := k.Beside(ctx); next > 0 {
			wait = min(wait, next)
		}
		rests(ctx, wait, news)
	}
}

// concerns notes what ended.
func (l *looking) concerns(n world.Notice) bool {
	if n.Kind == world.NoticeSchedule {
		return true
	}
	if n.Kind != world.NoticeEnded {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for run, w := range l.waits {
		if n.Run == "" || n.Run == run {
			l.ended[w.schedule] = true
			delete(l.waits, run)
		}
	}
	return len(l.ended) > 0
}

// look does what is due, and tells for how long nothing is.
func (l *looking) look(ctx context.Context, most time.Duration) (time.Duration, error) {
	wait := most
	for _, code := range append([]string{""}, slices.Sorted(maps.Keys(l.Inputs))...) {
		for {
			due, err := l.Store.DueSchedules(ctx, code, atOnce, hold)
			if err != nil {
				return 0, err
			}
			done := l.each(ctx, due.Schedules, due.Now)
			if !due.More || done == 0 {
				if due.More {
					wait = min(wait, courier.LookAgain)
				}
				if !due.Next.IsZero() {
					wait = min(wait, max(due.Next.Sub(due.Now), time.Millisecond))
				}
				if done > 0 { // they may be due again
					wait = time.Millisecond
				}
				break
			}
		}
	}
	l.mu.Lock()
	names := slices.Sorted(maps.Keys(l.ended))
	clear(l.ended)
	l.mu.Unlock()
	for part := range slices.Chunk(names, 1_000) {
		all, err := l.Store.Schedules(ctx, world.ScheduleQuery{Names: part, Limit: 1_000})
		if err != nil {
			return 0, err
		}
		all = slices.DeleteFunc(all, func(s world.Schedule) bool {
			return s.Paused != nil || s.Is.Waits.IsZero() || s.Says.Code && l.Inputs[s.Set] == nil
		})
		if l.each(ctx, all, time.Now()) > 0 {
			wait = time.Millisecond
		}
	}
	return wait, nil
}

// each does what is to be done about schedules, in an order of chance, as others may be at it too. It tells how many it
// has done something about.
func (l *looking) each(ctx context.Context, all []world.Schedule, now time.Time) (done int) {
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var workers sync.WaitGroup
	var mu sync.Mutex
	next := 0
	for range min(parallel, len(all)) {
		workers.Go(func() {
			for ctx.Err() == nil {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= len(all) {
					return
				}
				if l.one(ctx, &all[i], now) {
					mu.Lock()
					done++
					mu.Unlock()
				}
			}
		})
	}
	workers.Wait()
	return done
}

// one does what is to be done about a schedule; false: nothing can be, here and now.
func (l *looking) one(ctx context.Context, s *world.Schedule, now time.Time) bool {
	l.mu.Lock()
	shunned := time.Now().Before(l.shun[s.Name])
	l.mu.Unlock()
	if shunned {
		return false
	}
	log := l.Log.With("schedule", s.Name)
	err := l.goOn(ctx, s, now)
	switch {
	case err == nil, errors.Is(err, world.ErrConflict), errors.Is(err, world.ErrNotFound) && ctx.Err() == nil:
		// Somebody else has, or it is gone.
		return true
	case ctx.Err() != nil:
		return false
	case errors.Is(err, world.ErrNoKey), errors.Is(err, world.ErrWrongKey), errors.Is(err, world.ErrCorrupt), errors.Is(err, errElsewhere):
		// Another program may have the key, or the function.
		log.Warn("this process cannot continue with a schedule", "error", err)
	case errors.Is(err, world.ErrInvalid), errors.Is(err, world.ErrTooLarge):
		row := *s
		pause(&row, "stepwell", brief(err), now)
		if _, bad := l.Store.PutSchedule(ctx, row); bad == nil {
			log.Error("a schedule is paused because its run cannot be started", "error", err, "hint", "stepwell schedules resume "+s.Name)
			return true
		}
	default:
		row := *s
		if t, err := Parse(s.Name, &s.Says); err == nil {
			t.see(&row, now) // what cannot be started now is not missed
		}
		row.Is.Tries++
		row.Is.Error = brief(err)
		row.Is.Due = now.Add(min(time.Second<<min(row.Is.Tries-1, 6), time.Minute))
		if _, bad := l.Store.PutSchedule(ctx, row); bad == nil {
			log.Warn("a scheduled run cannot be started now", "error", err, "hint", "It is tried again")
			return true
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.shun) > 10_000 {
		clear(l.shun)
	}
	l.shun[s.Name] = time.Now().Add(rest)
	return false
}

// goOn goes on with a schedule that is due. The error is [world.ErrConflict] where somebody else has.
func (l *looking) goOn(ctx context.Context, s *world.Schedule, now time.Time) error {
	switch {
	case s.Damage != "":
		return fmt.Errorf("%w: %s", world.ErrCorrupt, s.Damage)
	case s.Says.Encrypted != "":
		return fmt.Errorf("schedule %s: %w: its input is encrypted with the key %q", s.Name, world.ErrNoKey, s.Says.Encrypted)
	}
	t, err := Parse(s.Name, &s.Says)
	if err != nil {
		return err
	}
	var last LastRun
	if s.Is.Last != nil {
		if last, err = l.Last(ctx, s.Is.Last.Run); err != nil {
			return err
		}
	}
	todo := decide(s, t, now, &last)
	if todo.cancel != "" && !l.asked(todo.cancel, s.Name) { // to ask again is the same request
		if err := l.Cancel(ctx, todo.cancel, "schedule "+s.Name+": its next run is to start"); err != nil && !errors.Is(err, world.ErrTerminal) && !errors.Is(err, world.ErrNotFound) {
			return err
		}
	}
	if todo.fire {
		err := l.fire(ctx, &todo)
		if !errors.Is(err, world.ErrRunExists) {
			return err
		}
		l.Log.Error("a time of a schedule has no run, because another run has its ID", "schedule", s.Name, "error", err)
		todo.strange(s, t, err)
	}
	if w := &todo.row.Is; !w.Waits.IsZero() && w.Last != nil {
		l.mu.Lock()
		l.waits[cmp.Or(last.Run, w.Last.Run)] = waiting{s.Name, todo.cancel != ""}
		l.mu.Unlock()
	}
	put, err := l.Store.PutSchedule(ctx, todo.row)
	switch {
	case err != nil:
		return err
	case !put:
		return world.ScheduleMoved(s)
	case todo.row.Paused != nil:
		l.Log.Warn("a schedule is paused", "schedule", s.Name, "reason", todo.row.Paused.Reason, "hint", "stepwell schedules resume "+s.Name)
	}
	return nil
}

// asked reports whether a run is known here to have been cancelled for a schedule, which waits for its end.
func (l *looking) asked(run, name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waits[run] == waiting{name, true}
}

func (k *Keeper) fire(ctx context.Context, todo *step) error {
	f := &Firing{Schedule: todo.row, At: todo.at, Previous: todo.row.Is.Done, ID: world.ScheduledID(todo.row.Name, todo.at)}
	var err error
	if f.Input, err = k.input(&todo.row, f.At, f.Previous); err != nil {
		return err
	}
	run, _, err := k.Start(ctx, f)
	if err == nil && run != f.ID {
		k.merged(ctx, f, run)
	}
	return err
}

// merged notes for people into which run the start of a time was merged. Who dies before has it shown without.
func (k *Keeper) merged(ctx context.Context, f *Firing, run string) {
	if _, err := there(ctx, k.Store, f.Schedule.Name, func(is *world.Schedule, _ *Times) (bool, error) {
		last := is.Is.Last
		if last == nil || last.Run != f.ID {
			return false, nil // it has gone on
		}
		is.Is.Last = &world.ScheduledRun{Run: last.Run, At: last.At, Merged: run}
		return true, nil
	}); err != nil {
		k.Log.Warn("it is not noted into which run a start of a schedule was merged", "schedule", f.Schedule.Name, "run_id", run, "error", err)
	}
}

// errElsewhere: the input is computed by another program, as one with a newer revision of the set.
var errElsewhere = errors.New("another program computes its input")

// input is that of a time's run.
func (k *Keeper) input(s *world.Schedule, at, previous time.Time) (in []byte, err error) {
	if !s.Says.Code {
		if len(s.Says.Input) == 0 {
			return []byte("null"), nil
		}
		return s.Says.Input, nil
	}
	compute := k.Inputs[s.Set][s.Name]
	if compute == nil {
		return nil, fmt.Errorf("schedule %s: %w, one with the set %s of schedules", s.Name, errElsewhere, s.Set)
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("schedule %s: the function of its input panicked: %v", s.Name, p)
		}
	}()
	return compute(at, previous)
}

// brief is an error as a schedule keeps it.
func brief(err error) string {
	text := err.Error()
	return strings.ToValidUTF8(text[:min(len(text), world.MaxReason)], "")
}
