package sqlite

import "github.com/stepwell/stepwell/world"

// Notify calls fn after changes; see [world.Notifier].
func (w *World) Notify(fn func(world.Notice)) (stop func()) { return w.listeners.Add(fn) }
