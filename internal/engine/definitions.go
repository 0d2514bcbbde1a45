package engine

// This file knows what the definitions of workflows say, also of those that are registered elsewhere.

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// How old what is known may be.
const (
	freshDefined = time.Second
	freshLimit   = 10 * time.Second // of the limit alone, where nothing else is asked for
	askedLately  = time.Minute      // workflows that nobody asked for since then are left out
	mostAsked    = 1000             // workflows that are asked for together, unless one who asks names more
)

// DefaultLimit is how long ended runs are kept at most, where nobody says it.
const DefaultLimit = 365 * 24 * time.Hour

// Book knows what a world says of workflows, and how long runs are kept at most. It asks once a second at most while somebody wants to know, for all at once;
// for a workflow that nobody has asked for lately, at once.
type Book struct {
	of  world.Definer
	own time.Duration // the limit that this program says; 0: none, below 0: for ever

	gate chan struct{} // held by who asks

	mu    sync.Mutex
	read  time.Time                  // when the world was asked; zero: not yet; guarded by mu, as what follows
	round int                        // grows when what is known is not to be told any more
	told  int                        // the round of what is known
	asked map[string]time.Time       // workflows, and when somebody wanted to know last
	known world.Defined              // of those
	left  map[world.Class]world.Said // what workers said that are gone
}

// NewBook makes a book of a world, for a program that says how long runs are kept at most; 0: it does not say.
func NewBook(of world.Definer, own time.Duration) *Book {
	return &Book{of: of, own: own, gate: make(chan struct{}, 1), asked: map[string]time.Time{}}
}

// Known is what is known of one workflow.
type Known struct {
	Live int                // the highest version that a live worker has; 0: none
	All  []int              // versions that live workers have
	Says []world.Definition // of its versions, in order
}

// Version finds what a version says; of version 0, what the highest does. ok is false where nothing is known of it.
func (k *Known) Version(version int) (d world.Definition, ok bool) {
	for _, d := range slices.Backward(k.Says) {
		if version == 0 || d.Version == version {
			return d, true
		}
	}
	return d, false
}

// Workflow tells of a workflow.
func (b *Book) Workflow(ctx context.Context, name string) (Known, error) {
	all, err := b.look(ctx, freshDefined, name)
	k := Known{}
	for _, d := range all.Definitions {
		if d.Workflow == name {
			k.Says = append(k.Says, d)
		}
	}
	for _, c := range all.Live {
		if c.Workflow == name {
			k.Live, k.All = max(k.Live, c.Version), append(k.All, c.Version)
		}
	}
	return k, err
}

// Limit is how long ended runs are kept at most; below 0: for ever. Where the world cannot be asked, what it said before holds.
func (b *Book) Limit(ctx context.Context) (time.Duration, error) {
	_, err := b.look(ctx, freshLimit)
	if _, heard := b.state(); heard && ctx.Err() == nil {
		err = nil
	}
	return b.Most(), err
}

// Most is the same, as it is known here.
func (b *Book) Most() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return cmp.Or(world.LowerRetention(b.own, b.known.Retention), DefaultLimit)
}

// Known is the same, and whether the world has said it.
func (b *Book) Known() (most time.Duration, known bool) {
	_, known = b.state()
	return b.Most(), known
}

// keep lowers a retention to the limit, as logs have it: 0 is for ever.
func (b *Book) keep(ctx context.Context, d time.Duration) time.Duration {
	if most, _ := b.Limit(ctx); most > 0 && (d == 0 || d > most) {
		return most
	}
	return d
}

// Forget has the world be asked again before anything is told.
func (b *Book) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.round++
}

// state is the round, and whether the world has been heard.
func (b *Book) state() (round int, heard bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.round, !b.read.IsZero()
}

// look tells what is known of some workflows, and of those that were asked for before: as it was no longer than fresh before the call. So all who
// wait for one answer take it, however long the world needed for it.
func (b *Book) look(ctx context.Context, fresh time.Duration, names ...string) (world.Defined, error) {
	since := time.Now().Add(-fresh)
	if known, ok := b.current(since, names); ok {
		return known, nil
	}
	select {
	case b.gate <- struct{}{}:
	case <-ctx.Done():
		return world.Defined{}, context.Cause(ctx)
	}
	defer func() { <-b.gate }()
	if known, ok := b.current(since, names); ok { // who held the gate has asked
		return known, nil
	}
	all, began := b.lately(names), time.Now()
	round, _ := b.state()
	known, err := b.of.Defined(ctx, all)
	if err != nil {
		return world.Defined{}, err
	}
	b.note(began, round, all, known)
	return known, nil
}

// current is what is known, where the world was asked after a time.
func (b *Book) current(since time.Time, names []string) (known world.Defined, ok bool) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.read.IsZero() || b.told != b.round || !b.read.After(since) {
		return known, false
	}
	for _, name := range names {
		if _, ok := b.asked[name]; !ok {
			return known, false
		}
		b.asked[name] = now
	}
	return b.known, true
}

// remembered is for how long who asks at a time is told what was known before; 0: the world is asked.
func (b *Book) remembered(at time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.read.IsZero() || !b.read.Before(at) {
		return 0
	}
	return max(freshDefined-at.Sub(b.read), 0)
}

// lately are these workflows, and those that somebody asked for a short while ago.
func (b *Book) lately(names []string) []string {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.asked, func(_ string, at time.Time) bool { return now.Sub(at) > askedLately })
	if len(b.asked)+len(names) > mostAsked {
		clear(b.asked)
	}
	return slices.Compact(slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(b.asked)), names...))))
}

// note keeps what the world said.
func (b *Book) note(at time.Time, round int, names []string, known world.Defined) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read, b.told, b.known, b.left = at, round, known, nil
	for i := range known.Definitions {
		if d := &known.Definitions[i]; d.Gone {
			if b.left == nil {
				b.left = map[world.Class]world.Said{}
			}
			b.left[d.Class] = d.Said
		}
	}
	for _, name := range names {
		if _, ok := b.asked[name]; !ok {
			b.asked[name] = at
		}
	}
}

// orphaned is what workers said that are gone.
func (b *Book) orphaned() map[world.Class]world.Said {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left
}

// said is the limit as the world has it; 0: nobody has said it.
func (b *Book) said(ctx context.Context) (limit time.Duration, err error) {
	limit, _, err = b.of.LimitRetention(ctx, 0, false)
	return limit, err
}

// Schemas are those that a definition has; nil: none, or they are not what it says.
func (b *Book) Schemas(ctx context.Context, d *world.Definition) (json.RawMessage, error) {
	if d.Print == "" {
		return nil, nil
	}
	text, err := b.of.Schemas(ctx, d.Class)
	if world.PrintOf(text) != d.Print { // damaged, or a worker says others since then
		return nil, err
	}
	return text, err
}

// leftTo leaves out of what a worker could claim the runs without a version of workflows of which a live worker has a higher version than this one: they are
// that one's. next is how soon to look again, as it may go; 0: nothing is left out.
func (b *Book) leftTo(ctx context.Context, classes []world.Class) (claims []world.Class, next time.Duration) {
	var names []string
	for _, c := range classes {
		if c.Version == 0 {
			names = append(names, c.Workflow)
		}
	}
	if len(names) == 0 {
		return classes, 0
	}
	known, err := b.look(ctx, freshDefined, names...)
	if err != nil || len(known.Live) == 0 {
		return classes, 0
	}
	newest, own := map[string]int{}, map[string]int{}
	for _, c := range known.Live {
		newest[c.Workflow] = max(newest[c.Workflow], c.Version)
	}
	for _, c := range classes {
		own[c.Workflow] = max(own[c.Workflow], c.Version)
	}
	for i, c := range classes {
		left := c.Version == 0 && newest[c.Workflow] > own[c.Workflow]
		switch {
		case left && next == 0:
			claims, next = slices.Clone(classes[:i]), defaultPoll
		case !left && next != 0:
			claims = append(claims, c)
		}
	}
	if next == 0 {
		return classes, 0
	}
	return claims, next
}
