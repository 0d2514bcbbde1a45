package postgres

// Telling what is news: to the listeners of this World, to its next look for work, and to other processes.

import (
	"slices"

	"github.com/stepwell/stepwell/world"
)

// tell gives notices to the listeners here and to other processes, after the change that they are about is durable.
func (w *World) tell(notices ...world.Notice) {
	notices = w.late(notices)
	w.nameWork(notices)
	w.spread(notices)
}

// spread is [World.tell] of what the next look knows already.
func (w *World) spread(notices []world.Notice) {
	if len(notices) == 0 {
		return
	}
	if !w.opt.NoNotify {
		w.queue.news.add(notices)
	}
	w.listeners.Tell(forListeners(notices))
}

// late makes news of work of mail to runs that were given up here meanwhile.
func (w *World) late(notices []world.Notice) []world.Notice {
	if !slices.ContainsFunc(notices, func(n world.Notice) bool { return n.Kind == world.NoticeMail }) {
		return notices
	}
	out := slices.Clone(notices)
	for i, n := range out {
		if n.Kind == world.NoticeMail && w.gaveUp(n.Run) {
			out[i].Kind = noticePost
		}
	}
	return out
}

// tellHere gives notices to the listeners here alone: other processes know.
func (w *World) tellHere(notices ...world.Notice) {
	notices = w.late(notices)
	w.nameWork(notices)
	w.listeners.Tell(forListeners(notices))
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
func (w *World) nameWork(notices []world.Notice) {
	for _, n := range notices {
		if n.Kind == world.NoticeWork || n.Kind == noticePost {
			w.queue.looks.name(n.Run, n.Kind == noticePost)
		}
	}
}
