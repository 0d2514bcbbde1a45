package postgres

// Looks: what could be claimed, as a worker that asks sees it. Runs and tasks that were claimed leave dead entries at the front of their index, for as long as somebody
// holds an old snapshot; so most looks start from a low-water mark, below which there was nothing, and know of mail by notices. A look that finds nothing so is
// followed by a full one, at once or a moment later, and once a second each look is one, so that correctness rests on neither.

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

const (
	fullEvery  = time.Second            // between full looks, while there is much to take
	fullPause  = 100 * time.Millisecond // and at least, where a look found nothing
	markMargin = 5 * time.Second        // for how long what was written may take to be committed, before it is only seen by a full look
	peersEvery = 100 * time.Millisecond // between looks at other workers
	mostNamed  = 512                    // runs of which notices are remembered
)

var ready = load("ready")

// looks is what looks before this one have found.
type looks struct {
	mu    sync.Mutex
	full  time.Time // when the last full one was, on this process's clock; zero: the next one is
	marks map[partition]time.Time
	named map[string]bool // runs about which there was a notice; true: of mail alone
	last  settled         // what the last Claim that looked came to
	count int64           // of looks
	hints time.Time       // when the first run since then was claimed without a look; zero: none was
	asked time.Time       // when the workers were looked at last
	peers time.Time       // the first end of a lease of another worker that holds something
}

// looked is what a look found.
type looked struct {
	now         time.Time
	full        bool
	runs, tasks []candidate
	gone        bool      // the worker that asks is dead
	unlisted    bool      // or its row is not there, which does not say that
	dead        []int64   // others are
	limits      bool      // there is news of limits
	rates       time.Time // when the first key of a rate is to be looked at; zero: none is
	peers       time.Time
}

// wantFull makes the next look a full one, unless the last was too short a time ago.
func (l *looks) wantFull() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.full) < fullPause {
		return false
	}
	l.full = time.Time{}
	return true
}

// fullLook has a full look follow one that was not and found less than there is room for: at once, where nothing was found and the last one was not a moment
// ago, else a moment later.
func (w *World) fullLook(nothing bool) (now bool) {
	if nothing && w.queue.looks.wantFull() {
		return true
	}
	w.queue.news.kickSoon()
	return false
}

// lookFull makes the next look a full one.
func (l *looks) lookFull() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full = time.Time{}
}

// forget makes the next look a full one: what was asked for was not answered.
func (l *looks) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full, l.asked = time.Time{}, time.Time{}
}

// name notes that there is news of a run; "": of any. post: it is mail, and nobody owned the run.
func (l *looks) name(run string, post bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if run == "" {
		l.full = time.Time{}
		return
	}
	if l.named == nil {
		l.named = make(map[string]bool)
	}
	if before, known := l.named[run]; known || len(l.named) < mostNamed {
		l.named[run] = post && (before || !known)
	}
}

// question is what a look asks for.
type question struct {
	full, peers bool
	count       int64
	named       []string
	tasks       []partition
	low         func(partition) time.Time
}

// next decides what the next look asks for. worldNow is the database's clock, about.
func (l *looks) next(worldNow time.Time) (q question) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	q.full = now.Sub(l.full) > fullEvery
	if q.peers = now.Sub(l.asked) > peersEvery || !l.peers.IsZero() && !l.peers.After(worldNow); q.peers {
		l.asked = now
	}
	for run := range l.named {
		q.named = append(q.named, run)
	}
	clear(l.named)
	l.last.worker, l.hints = nil, time.Time{} // until it is known what this look comes to
	l.count++
	q.count = l.count
	q.low = func(partition) time.Time { return dawn }
	if q.full {
		return q
	}
	marks := l.marks // it is replaced, not changed
	q.low = func(part partition) time.Time { return marks[part] }
	for part := range marks {
		if part.step != "" {
			q.tasks = append(q.tasks, part)
		}
	}
	return q
}

// note keeps what a look found for the next ones.
func (l *looks) note(began time.Time, q *question, found *looked, parts []partition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q.peers {
		l.peers = found.peers
	}
	found.peers = l.peers
	if q.full {
		marks := make(map[partition]time.Time, len(l.marks))
		maps.Copy(marks, l.marks) // of other workers of this process
		for _, part := range parts {
			marks[part] = found.now.Add(-markMargin)
		}
		l.marks, l.full = marks, began
	}
	l.lower(found.runs)
	l.lower(found.tasks)
}

// lower moves marks below what was found: a look that was not full may have found it by name, below the mark or where there was none.
func (l *looks) lower(found []candidate) {
	cloned := false
	for i := range found {
		c := &found[i]
		low := c.due.Add(-markMargin)
		if mark := l.marks[c.partition]; c.kind == mailedRun || !mark.IsZero() && !low.Before(mark) {
			continue
		}
		if !cloned {
			l.marks, cloned = maps.Clone(l.marks), true // other looks read the old ones
		}
		l.marks[c.partition] = low
	}
}

// look asks what could be claimed.
func (w *World) look(ctx context.Context, t *claiming) (*looked, error) {
	began := time.Now()
	q := w.queue.looks.next(w.now())
	t.look = q.count
	class, priority, from := partitionArgs(t.classes, q.low)
	var steps, workflows []string
	var levels []int16
	var lows []time.Time
	for _, part := range q.tasks {
		if !slices.Contains(t.steps, part.step) {
			continue // another worker's
		}
		steps, levels, workflows, lows = append(steps, part.step), append(levels, part.priority), append(workflows, part.workflow), append(lows, q.low(part))
	}
	found := &looked{full: q.full}
	var peers []peerRow
	err := w.read(ctx, ready, func(row pgx.Rows) error { return found.scan(row, &peers) },
		class, priority, from, t.runs, steps, levels, workflows, lows, t.tasks, q.full, texts(t.steps), q.named, t.classes, q.peers, q.full || w.limits.used())
	if err != nil {
		w.queue.looks.forget()
		return nil, err
	}
	w.clock.measure(began, found.now)
	if q.peers {
		found.judge(peers, t.wk.key)
	}
	if !found.peers.IsZero() {
		w.queue.session.watchPeers()
	}
	w.queue.looks.note(began, &q, found, partitionsOf(class, priority))
	return found, w.nameWorkflows(ctx, found.runs)
}

// texts is never nil, which would be null.
func texts(all []string) []string {
	if all == nil {
		return []string{}
	}
	return all
}

func partitionsOf(class []int32, priority []int16) []partition {
	parts := make([]partition, len(class))
	for i := range parts {
		parts[i] = partition{class: class[i], priority: priority[i]}
	}
	return parts
}

// peerRow is a worker as a look sees it.
type peerRow struct {
	key   int64
	until time.Time
	holds bool
	ended bool
}

// scan reads a row of ready.sql.
func (l *looked) scan(row pgx.Rows, peers *[]peerRow) error {
	var c candidate
	var step, workflow, id, history, ended *string
	var attempt, failures, abandoned *int32
	var holds *bool
	if err := row.Scan(&c.kind, &c.key, &c.partition.class, &c.partition.priority, &c.due, &step, &workflow, &id, &attempt, &failures, &abandoned, &history, &holds, &ended); err != nil {
		return err
	}
	c.due = world.Within(c.due.UTC())
	switch c.kind {
	case readyRun, mailedRun:
		c.lacks, c.limited = holds != nil && !*holds, holds != nil
		l.runs = append(l.runs, c)
	case readyTask:
		c.partition.step, c.partition.workflow, c.workflow = textOf(step), textOf(workflow), textOf(workflow)
		c.task = taskSeen{key: c.key, step: textOf(id), attempt: *attempt, failures: *failures, abandoned: *abandoned, history: textOf(history)}
		l.tasks = append(l.tasks, c)
	case peer:
		*peers = append(*peers, peerRow{c.key, c.due, *holds, ended != nil})
	case clockRow:
		l.now = c.due
	case limitNews:
		l.limits = true
	case rateDue:
		l.rates = c.due
	}
	return nil
}

// judge finds the workers that are dead, and when the next of those that hold something might be.
func (l *looked) judge(peers []peerRow, me int64) {
	l.unlisted = true
	for _, p := range peers {
		switch {
		case p.key == me:
			l.gone, l.unlisted = p.ended, false
		case p.ended, p.until.Before(l.now) && (p.holds || p.until.Before(l.now.Add(-idleGrace))):
			l.dead = append(l.dead, p.key)
		case p.holds && (l.peers.IsZero() || p.until.Before(l.peers)):
			l.peers = p.until
		}
	}
}

// nameWorkflows says which workflows runs are of: what is given is to be fair to them.
func (w *World) nameWorkflows(ctx context.Context, runs []candidate) error {
	for i := range runs {
		class, err := w.classes.name(ctx, runs[i].partition.class)
		if err != nil && !errors.Is(err, world.ErrCorrupt) { // one that is not there is that of a run which is to be cancelled
			return err
		}
		runs[i].workflow = class.Workflow
	}
	return nil
}
