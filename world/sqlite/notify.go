package sqlite

import "github.com/stepwell/stepwell/world"

// Notify calls fn after changes, also those of other processes; see [world.Notifier].
func (w *World) Notify(fn func(world.Notice)) (stop func()) {
	w.ear.listen(w)
	return w.listeners.Add(fn)
}
