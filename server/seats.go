package server

// This file shares out the places of those who wait: no key of a reader, no webhook and no address has all of them.

import "sync"

// seat is somebody's part of the places, by name.
type seat struct {
	name string
	most int
}

// seats counts who has how many places.
type seats struct {
	mu      sync.Mutex
	claimed map[string]int
}

// occupy takes a place of each part, or none.
func (s *seats) occupy(parts []seat) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range parts {
		if s.claimed[p.name] >= p.most {
			return false
		}
	}
	for _, p := range parts {
		if s.claimed == nil {
			s.claimed = map[string]int{}
		}
		s.claimed[p.name]++
	}
	return true
}

func (s *seats) leave(parts []seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range parts {
		if s.claimed[p.name]--; s.claimed[p.name] == 0 {
			delete(s.claimed, p.name)
		}
	}
}

// places are those of who waits for a result or follows events.
//
//   - All who wait have one, and give it back; nobody waits for one.
//   - Who has a part in them has no more than that: see seats.
type places struct {
	waiting chan struct{} // a token each for who waits; its capacity is how many there are
	seats   seats
}

// seat is a part of the places, one of so many.
func (p *places) seat(name string, of int) seat {
	return seat{name, max(1, cap(p.waiting)/of)}
}

// keyed is the part of who has a key: one that may not work on runs has half of the places.
func (p *places) keyed(r *request) []seat {
	if r.key == nil || r.sees(Worker) {
		return nil
	}
	return []seat{p.seat("key "+r.key.Name, 2)}
}

// strangers are the parts of who has no key: all have half of the places together, an address a quarter, a webhook a tenth.
func (p *places) strangers(r *request, webhook string) []seat {
	return []seat{p.seat("strangers", 2), p.seat("address "+hostOf(r.RemoteAddr), 4), p.seat("webhook "+webhook, 10)}
}

// wait takes one of the places of those who wait, if all who have a part in it have one left; done gives it back.
func (p *places) wait(parts ...seat) (done func(), err error) {
	if !p.seats.occupy(parts) {
		return nil, errBusy
	}
	select {
	case p.waiting <- struct{}{}:
		return func() { <-p.waiting; p.seats.leave(parts) }, nil
	default:
		p.seats.leave(parts)
		return nil, errBusy
	}
}
