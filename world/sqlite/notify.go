package sqlite

import "github.com/stepwell/stepwell/world"

// Notify calls fn after changes; see [world.Notifier]. It hears of those of other processes, whether a worker is here or not.
func (w *World) Notify(fn func(world.Notice)) (stop func()) {
	w.ear.listen(w)
	return w.listeners.Add(fn)
}
