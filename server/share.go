package server

// This file lets those who wait for the same run read it together: who comes while another reads what he wants to read, or just after, has that. A
// thousand followers of a run cost the database what one does.

import (
	"time"
)

// followed is a run that somebody waits for.
type followed struct {
	waiters map[chan struct{}]bool // each has capacity 1
	news    int64                  // how often the run was said to have changed
	reads   map[string]*reading    // by what is read
}

// mostReads bounds what is kept of a run.
const mostReads = 4

// reading is something that is read, or was.
type reading struct {
	news  int64 // of the run when it began
	began time.Time
	done  chan struct{} // closed when the rest is there
	value any
	err   error
}

// find returns a reading that will do for who asks now: one that began behind all news that there are, and not longer ago than some time, as not all news
// is told. Where there is none, it begins one, which is the caller's to carry out.
func (f *followed) find(what string, fresh time.Duration, now time.Time) (r *reading, mine bool) {
	if r := f.reads[what]; r != nil && r.news == f.news && now.Sub(r.began) <= fresh {
		return r, false
	}
	if _, there := f.reads[what]; !there && len(f.reads) >= mostReads {
		for other := range f.reads { // who reads it has it
			delete(f.reads, other)
			break
		}
	}
	r = &reading{news: f.news, began: now, done: make(chan struct{})}
	if f.reads == nil {
		f.reads = map[string]*reading{}
	}
	f.reads[what] = r
	return r, true
}

// share reads something of a run that is waited for, together with others. What it returns is shared: it is not to be changed. A reading that
// failed, perhaps as its reader went away, is nobody else's.
func share[T any](h *watchers, run, what string, fresh time.Duration, read func() (T, error)) (T, error) {
	h.mu.Lock()
	f := h.runs[run]
	if f == nil {
		h.mu.Unlock()
		return read()
	}
	r, mine := f.find(what, fresh, time.Now())
	h.mu.Unlock()
	if !mine {
		<-r.done
		if value, ok := r.value.(T); ok && r.err == nil {
			return value, nil
		}
		return read()
	}
	defer close(r.done) // also where reading panics: then there is no value
	value, err := read()
	if r.err = err; err == nil {
		r.value = value
	}
	return value, err
}
