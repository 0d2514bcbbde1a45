package server

// This file bounds what answers and bodies take of memory, however slowly they are read or sent: who asks for more waits a little, and is then told to
// come again.

import (
	"context"
	"io"
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

// room is the memory of answers that are put together or sent, or of bodies that are read or worked on.
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
	p := &portion{room: r, who: who}
	if err := p.grow(ctx, n); err != nil {
		return nil, err
	}
	return p, nil
}

// grow waits until the portion has so many bytes in all. Where that fails it has what it had.
func (p *portion) grow(ctx context.Context, n int64) error {
	r, over := p.room, time.NewTimer(roomTime)
	defer over.Stop()
	for waits := false; ; waits = true {
		r.mu.Lock()
		if r.fits(p, n) {
			r.used += n - p.bytes
			r.by[p.who] += n - p.bytes
			p.bytes = n
			r.mu.Unlock()
			return nil
		}
		if !waits && r.asking[p.who] >= mostAsking {
			r.mu.Unlock()
			return errCrowded
		}
		if r.freed == nil {
			r.freed = make(chan struct{})
		}
		freed := r.freed
		r.asking[p.who]++
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
		if r.asking[p.who]--; r.asking[p.who] == 0 {
			delete(r.asking, p.who)
		}
		r.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// fits is called under mu.
func (r *room) fits(p *portion, n int64) bool {
	others, mine := r.used-p.bytes, r.by[p.who]-p.bytes
	return (others == 0 || others+n <= r.most) && (mine == 0 || mine+n <= r.part)
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

// portion is what one answer or body has of the room.
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

// smallBody is how much of a body counts nowhere: the connection has as much.
const smallBody = 16 << 10

// arrives is a body that is counted as it comes. It is read no further than it has room.
type arrives struct {
	from    io.ReadCloser
	ctx     context.Context // of the request: it ends a wait for room
	portion portion
	most    int64 // that the body has
	read    int64
}

// arrives counts the body of a request, of length bytes or at most so many; leave gives its room back.
func (r *room) arrives(ctx context.Context, who string, body io.ReadCloser, length, most int64) *arrives {
	if length >= 0 {
		most = min(most, length)
	}
	return &arrives{from: body, ctx: ctx, portion: portion{room: r, who: who}, most: most}
}

// Read reads as much as there is room for; the room doubles, as what it is read into does.
func (a *arrives) Read(b []byte) (int, error) {
	has := max(a.portion.bytes, smallBody)
	if a.read >= has && a.most > has {
		if err := a.portion.grow(a.ctx, min(2*has, a.most)); err != nil {
			return 0, err
		}
		has = a.portion.bytes
	}
	if left := has - a.read; left > 0 && int64(len(b)) > left {
		b = b[:left]
	}
	n, err := a.from.Read(b)
	a.read += int64(n)
	return n, err
}

// Close closes the body.
func (a *arrives) Close() error { return a.from.Close() }

func (a *arrives) leave() { a.portion.is(0) }
