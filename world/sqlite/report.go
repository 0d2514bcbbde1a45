package sqlite

// What operators should know of the storage and no call's answer tells.

import (
	"log/slog"
	"slices"
	"sync"
)

// reports are the logs that are told.
type reports struct {
	mu   sync.Mutex
	logs []*slog.Logger // under mu
}

// Report sends to a log what operators should know; see [world.Reporter].
func (w *World) Report(log *slog.Logger) (stop func()) {
	r := &w.reports
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logs = append(r.logs, log)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if i := slices.Index(r.logs, log); i >= 0 {
			r.logs = slices.Delete(r.logs, i, i+1)
		}
	}
}

// complain tells of trouble.
func (w *World) complain(what string, args ...any) {
	for _, log := range w.reports.all() {
		log.Warn(what, append([]any{"database", w.path}, args...)...)
	}
}

// inform tells that a trouble is over: to whoever was told that it began, and so at the same level.
func (w *World) inform(what string, args ...any) {
	for _, log := range w.reports.all() {
		log.Warn(what, append([]any{"database", w.path}, args...)...)
	}
}

func (r *reports) all() []*slog.Logger {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.logs)
}
