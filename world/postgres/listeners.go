package postgres

import "github.com/stepwell/stepwell/world"

// Notify calls fn after changes, also those of other processes; see [world.Notifier].
func (w *World) Notify(fn func(world.Notice)) (stop func()) {
	stop = w.telling.add(fn)
	w.queue.session.nudge()
	return stop
}
