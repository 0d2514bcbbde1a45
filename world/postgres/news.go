package postgres

// Telling what is news: to the listeners of this World, to its next look for work, and to other processes.

import (
	"slices"

	"github.com/stepwell/stepwell/world"
)

// telling tells what is news.
//
//   - What is told is durable before.
//   - The next look for work here knows of it before the listeners do, who may ask at once.
type telling struct {
	opt       *Options
	crew      *crew
	queue     *queueing
	listeners world.Listeners
}

func (t *telling) init(db *database, c *crew, q *queueing) { t.opt, t.crew, t.queue = &db.opt, c, q }

// here tells the listeners alone.
func (t *telling) here(notices []world.Notice) { t.listeners.Tell(notices) }

// heard reports whether anybody listens.
func (t *telling) heard() bool { return t.listeners.Any() }

func (t *telling) add(fn func(world.Notice)) (stop func()) { return t.listeners.Add(fn) }

// tell gives notices to the listeners here and to other processes, after the change that they are about is durable.
func (t *telling) tell(notices ...world.Notice) {
	notices = t.late(notices)
	t.nameWork(notices)
	t.spread(notices)
}

// spread is [telling.tell] of what the next look knows already.
func (t *telling) spread(notices []world.Notice) {
	if len(notices) == 0 {
		return
	}
	if !t.opt.NoNotify {
		t.queue.news.add(notices)
	}
	t.listeners.Tell(forListeners(notices))
}

// late makes news of work of mail to runs that were given up here meanwhile.
func (t *telling) late(notices []world.Notice) []world.Notice {
	if !slices.ContainsFunc(notices, func(n world.Notice) bool { return n.Kind == world.NoticeMail }) {
		return notices
	}
	out := slices.Clone(notices)
	for i, n := range out {
		if n.Kind == world.NoticeMail && t.gaveUp(n.Run) {
			out[i].Kind = noticePost
		}
	}
	return out
}

// tellHere gives notices to the listeners here alone: other processes know.
func (t *telling) tellHere(notices ...world.Notice) {
	notices = t.late(notices)
	t.nameWork(notices)
	t.listeners.Tell(forListeners(notices))
}

// forListeners are notices as package world knows them.
func forListeners(notices []world.Notice) []world.Notice {
	if !slices.ContainsFunc(notices, func(n world.Notice) bool { return n.Kind == noticePost }) {
		return notices
	}
	out := slices.Clone(notices)
	for i := range out {
		if out[i].Kind == noticePost {
			out[i].Kind = world.NoticeWork
		}
	}
	return out
}

// nameWork tells the next look which runs there is news of.
func (t *telling) nameWork(notices []world.Notice) {
	for _, n := range notices {
		if n.Kind == world.NoticeWork || n.Kind == noticePost {
			t.queue.looks.name(n.Run, n.Kind == noticePost)
		}
	}
}
