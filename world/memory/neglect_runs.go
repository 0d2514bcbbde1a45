// Runs that were let in, and whose workflow and version no live worker has.

package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

// neglectedRuns has the runs of classes that no live worker has had for a while give back their places, and leave
// their lines. It tells when to look again; 0: nothing is known.
func (l *limits) neglectedRuns(n *notices) time.Duration {
	if len(l.keys) == 0 {
		return 0
	}
	now := l.w.now()
	l.w.expire(now, n)
	classes := make(map[string]bool)
	for _, r := range l.w.runs {
		if c := r.class(); r.placed != nil && r.owner == nil && r.end == nil && !l.w.known(c) {
			classes[classText(c)] = true
		}
	}
	due, next := l.lonely.Look(slices.Sorted(maps.Keys(classes)), now, world.NeglectAfter)
	if len(due) == 0 {
		return next
	}
	var runs []*run
	for _, r := range l.w.runs {
		keep := 0
		if r.placed == nil || r.owner != nil || r.end != nil {
			continue
		}
		if l.Begun(&r.entry) {
			keep = r.placed.Keeps
		}
		if (r.placed.Has > keep || r.placed.Parked) && slices.Contains(due, classText(r.class())) {
			runs = append(runs, r)
		}
	}
	slices.SortFunc(runs, func(a, b *run) int { // those in line first: they are not to be let in by the others
		return cmp.Or(b.placed.parks()-a.placed.parks(), cmp.Compare(a.key, b.key))
	})
	for _, r := range runs {
		l.rest(r, false, n)
		partition, at := l.w.standing(r)
		if partition != nil && r.entry.move(partition, at.UnixMicro()) {
			n.add(world.NoticeWork, r.id)
		}
		if next == 0 || world.NeglectAfter < next {
			next = world.NeglectAfter // more of them may be started
		}
	}
	return next
}

func classText(c world.Class) string { return fmt.Sprintf("%s %d", c.Workflow, c.Version) }
