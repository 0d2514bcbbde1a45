package postgres

// Hints: the shortest way of mail to a run that nobody owns. Whoever sends it says in the notification which run it is for. The process that gave the run up
// last has its machine in memory, most likely, and claims it at once, by its key and without a look; the others look for work as ever, some milliseconds
// later, and claim it if that process did not. Nothing rests on it: what is claimed is checked under the lock of its row as always, and a look follows a
// moment later. No hint is followed while anything else is known to wait, so that nobody is passed over: neither higher priorities nor other workflows.

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

const (
	mostReleased = 4096 // runs that were given up here, and are remembered
	mostHinted   = 16   // runs that are claimed at once without a look
)

// released remembers the runs that workers of this World gave up last.
type released struct {
	mu    sync.Mutex
	byID  map[string]releasedRun
	order []string // a ring of IDs; what it overwrites is forgotten
	next  int
}

type releasedRun struct {
	key      int64
	workflow string
}

// note remembers a run that was given up.
func (s *released) note(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = make(map[string]releasedRun)
	}
	if _, known := s.byID[r.id]; !known {
		if len(s.order) < mostReleased {
			s.order = append(s.order, r.id)
		} else {
			delete(s.byID, s.order[s.next])
			s.order[s.next] = r.id
			s.next = (s.next + 1) % mostReleased
		}
	}
	s.byID[r.id] = releasedRun{r.key, r.workflow}
}

func (s *released) has(run string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.byID[run]
	return ok
}

// forget forgets runs by their keys.
func (s *released) forget(keys map[int64]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for run, r := range s.byID {
		if keys[r.key] {
			delete(s.byID, run)
		}
	}
}

// gaveUp reports whether a worker here has given a run up. Who sent mail to it and took it for owned, because its release was under way, told the owner: that
// is this process, and now it has to claim the run.
func (t *telling) gaveUp(run string) bool {
	return t.crew.owned(run) == nil && t.queue.resting.has(run)
}

// find returns some runs as what may be claimed, those that are known.
func (s *released) find(runs []string) (all []candidate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, run := range runs {
		if r, ok := s.byID[run]; ok {
			all = append(all, candidate{kind: mailedRun, key: r.key, workflow: r.workflow})
		}
	}
	return all
}

// settled is what a Claim came to.
type settled struct {
	worker  *worker // nil: nobody knows what there is beside the runs of which there is news
	classes []int32
	steps   []string
	next    time.Time // when the next is due
}

// settle notes that a Claim looked and gave all that is ready.
func (l *looks) settle(t *claiming) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if next := t.out.Next; t.look == l.count && !t.out.More && (next.IsZero() || next.After(t.out.Now)) {
		l.last = settled{t.wk, t.classes, t.steps, next}
	}
}

// mayHint reports whether runs may be claimed without a look, as far as nobody asks yet.
func (l *looks) mayHint() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mayHintLocked()
}

// mayHintLocked: the last look left nothing, what is known since then is mail, and that look was not long before the first hint.
func (l *looks) mayHintLocked() bool {
	if l.last.worker == nil || l.full.IsZero() || len(l.named) == mostNamed {
		return false
	}
	if !l.hints.IsZero() && time.Since(l.hints) > fullPause {
		return false
	}
	for _, post := range l.named {
		if !post {
			return false
		}
	}
	return true
}

// hinted returns the runs that a Claim may begin with; none where it has to look.
func (l *looks) hinted(t *claiming, worldNow time.Time) (runs []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := &l.last
	same := last.worker == t.wk && slices.Equal(last.classes, t.classes) && sameNames(last.steps, t.steps)
	if !same || !l.mayHintLocked() || !last.next.IsZero() && !last.next.After(worldNow) {
		return nil
	}
	for run := range l.named {
		runs = append(runs, run)
	}
	return runs
}

// sameNames compares two lists whose order does not matter.
func sameNames(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(name string) bool { return !slices.Contains(b, name) })
}

// followed notes that runs were claimed without a look, and returns when the next is due, as the last look had it.
func (l *looks) followed(claimed []world.ClaimedRun) (next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range claimed {
		delete(l.named, claimed[i].Run)
	}
	if l.hints.IsZero() {
		l.hints = time.Now()
	}
	return l.last.next
}

// hint claims the runs that mail came for without a look. It reports whether that was all there is, as far as anybody knows.
func (t *claiming) hint(ctx context.Context) (all bool, err error) {
	w := t.w
	runs := w.queue.looks.hinted(t, w.now())
	known := w.queue.resting.find(runs)
	if len(known) == 0 || len(known) > min(t.runs, mostHinted) {
		return false, nil // one look serves many
	}
	t.out.Now = w.now()
	given, err := t.give(ctx, t.out.Now, known, nil)
	if err != nil {
		return false, err
	}
	if given < len(known) { // somebody else had them since
		w.queue.resting.forget(t.skip)
		clear(t.skip) // the look may find them after all
	}
	w.queue.fairness.serve(known)
	t.out.Next = w.queue.looks.followed(t.out.Runs)
	w.queue.news.kickSoon() // what was not told of is found by a look that follows
	return given == len(known), nil
}
