package postgres

// News across processes.

import "github.com/stepwell/stepwell/world"

// announce tells other processes, some time soon.
func (w *World) announce(notices []world.Notice) {}

// tell gives notices to the listeners here and to other processes, after the change that they are about is durable.
func (w *World) tell(notices ...world.Notice) {
	w.listeners.tell(notices)
	w.announce(notices)
}
