// Notices: who listens, and what is told once the world is unlocked.

package memory

import "github.com/stepwell/stepwell/world"

// Notify calls fn after each change that others may wait for; see [world.Notifier]. fn runs on the
// goroutine that made the change, and may call the World.
func (w *World) Notify(fn func(world.Notice)) (stop func()) { return w.listeners.Add(fn) }

// notices are collected under the lock and told after it.
type notices struct {
	list []world.Notice
}

func (n *notices) add(kind world.NoticeKind, run string) {
	n.list = append(n.list, world.Notice{Kind: kind, Run: run})
}

// tell calls the listeners. The world is not locked.
func (w *World) tell(n *notices) { w.listeners.Tell(n.list) }
