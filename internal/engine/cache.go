package engine

import (
	"container/list"
	"sync"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// cached is a hibernating run that is still in memory: losing it costs a replay.
type cached struct {
	run       string
	wf        *Workflow
	state     *world.State
	m         *replay.Machine // nil in strict mode, where the run is replayed anew
	witnesses []*witness      // strict mode
	unsteady  error           // strict mode: the difference that was found; nil: none
	size      int
}

func (v *cached) estimate() (n int) {
	if v.m != nil {
		n = v.m.Size()
	}
	for _, w := range v.witnesses {
		n += w.m.Size()
	}
	return n
}

// cache keeps the machines of the runs that hibernated last, bounded by count and estimated bytes.
type cache struct {
	mu       sync.Mutex
	order    *list.List // of *cached, last used first; guarded by mu
	byRun    map[string]*list.Element
	bytes    int
	maxRuns  int
	maxBytes int
	drop     func(*cached) // unwinds its machines; must not block
}

func newCache(runs, bytes int, drop func(*cached)) *cache {
	return &cache{order: list.New(), byRun: map[string]*list.Element{}, maxRuns: runs, maxBytes: bytes, drop: drop}
}

// put keeps a machine; what is too much is dropped, the least recently used first. One for which there is no room even alone drops no other.
func (c *cache) put(v *cached) {
	v.size = v.estimate()
	if v.size > c.maxBytes {
		c.drop(v)
		return
	}
	c.mu.Lock()
	if old := c.byRun[v.run]; old != nil {
		c.removeLocked(old)
	}
	c.byRun[v.run] = c.order.PushFront(v)
	c.bytes += v.size
	var out []*cached
	for c.order.Len() > c.maxRuns || c.bytes > c.maxBytes {
		el := c.order.Back()
		if el == nil {
			break
		}
		out = append(out, el.Value.(*cached))
		c.removeLocked(el)
	}
	c.mu.Unlock()
	for _, v := range out {
		c.drop(v)
	}
}

// pop removes and returns the machine of a run, or nil.
func (c *cache) pop(run string) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.byRun[run]
	if el == nil {
		return nil
	}
	c.removeLocked(el)
	return el.Value.(*cached)
}

// clear drops everything.
func (c *cache) clear() {
	c.mu.Lock()
	var out []*cached
	for el := c.order.Front(); el != nil; el = el.Next() {
		out = append(out, el.Value.(*cached))
	}
	c.order.Init()
	clear(c.byRun)
	c.bytes = 0
	c.mu.Unlock()
	for _, v := range out {
		c.drop(v)
	}
}

func (c *cache) removeLocked(el *list.Element) {
	v := el.Value.(*cached)
	c.order.Remove(el)
	delete(c.byRun, v.run)
	c.bytes -= v.size
}
