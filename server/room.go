package server

// This file bounds what answers take of memory, however slowly they are read: who asks for more waits a little, and is then told to come again.

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Bounds of answers. Small ones are the connection's: the system takes them at once.
const (
	smallAnswer = 64 << 10
	wideAnswer  = 8 << 20 // what a page may take while it is put together
	roomTime    = 5 * time.Second
	mostAsking  = 64 // who wait for room, of one name
)

// room is the memory of answers that are put together or sent.
type room struct {
	most int64 // for all together
	part int64 // for one who asks

	mu     sync.Mutex
	used   int64
	by     map[string]int64 // by who asks
	asking map[string]int
	freed  chan struct{} // closed when some is free again; nil: nobody waits
}

func newRoom(most int64) *room {
	return &room{most: most, part: most / 2, by: map[string]int64{}, asking: map[string]int{}}
}

// reserve waits for so many bytes. Who has none may have as many as he needs, where there is room at all.
func (r *room) reserve(ctx context.Context, who string, n int64) (*portion, error) {
	over := time.NewTimer(roomTime)
	defer over.Stop()
	for waits := false; ; waits = true {
		r.mu.Lock()
		if r.fits(who, n) {
			r.used += n
			r.by[who] += n
			r.mu.Unlock()
			return &portion{room: r, who: who, bytes: n}, nil
		}
		if !waits && r.asking[who] >= mostAsking {
			r.mu.Unlock()
			return nil, errCrowded
		}
		if r.freed == nil {
			r.freed = make(chan struct{})
		}
		freed := r.freed
		r.asking[who]++
		r.mu.Unlock()
		var err error
		select {
		case <-freed:
		case <-over.C:
			err = errCrowded
		case <-ctx.Done():
			err = ctx.Err()
		}
		r.mu.Lock()
		if r.asking[who]--; r.asking[who] == 0 {
			delete(r.asking, who)
		}
		r.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

// fits is called under mu.
func (r *room) fits(who string, n int64) bool {
	return (r.used == 0 || r.used+n <= r.most) && (r.by[who] == 0 || r.by[who]+n <= r.part)
}

func (r *room) add(who string, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used += n
	if r.by[who] += n; r.by[who] == 0 {
		delete(r.by, who)
	}
	if n < 0 && r.freed != nil {
		close(r.freed)
		r.freed = nil
	}
}

// portion is what one answer has of the room.
type portion struct {
	room  *room
	who   string
	bytes int64
}

// is says how large the answer came to be.
func (p *portion) is(n int64) {
	p.room.add(p.who, n-p.bytes)
	p.bytes = n
}

// crowd gives an answer its portion: wide ones before they are put together, others where they turn out large.
func (w *writer) crowd(n int64) error {
	switch {
	case w.room == nil:
		return nil
	case w.portion != nil && n <= w.portion.bytes:
		w.portion.is(n)
		return nil
	}
	w.leave()
	if n <= smallAnswer {
		return nil
	}
	p, err := w.room.reserve(w.ctx, w.who, n)
	w.portion = p
	return err
}

// leave gives it back.
func (w *writer) leave() {
	if w.portion != nil {
		w.portion.is(0)
		w.portion = nil
	}
}

// crowded sends a piece of an answer that is followed. A large one is counted, with what lies beside it, as long as it is not read.
func crowded(w http.ResponseWriter, n int, send func() error) error {
	if to, ok := w.(*writer); ok {
		if err := to.crowd(int64(n)); err != nil {
			return err
		}
		defer to.leave()
	}
	return send()
}
