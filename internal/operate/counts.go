package operate

// How many runs there are: as they stand, each counted once, and by version.

import (
	"context"
	"slices"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// mostStopped is how many runs of a workflow are looked at to tell pending ones that are blocked or paused from running ones.
const mostStopped = 200

// Counts are the runs of each workflow, each counted once: one that is blocked or paused as that, and not as pending or running; one that is both, as
// blocked. Worlds count them in both places. Where their numbers alone do not say which are which, it looks at some of these runs; of more than 200 of a
// workflow the rest is taken for running.
func Counts(ctx context.Context, app *stepwell.App, stats *world.Stats) ([]world.WorkflowStats, error) {
	all := slices.Clone(stats.Workflows)
	for i := range all {
		n := &all[i]
		var blocked, paused [2]int // of the pending, and of the running
		if n.Blocked > 0 && n.Paused > 0 || n.Blocked+n.Paused > 0 && n.Pending > 0 && n.Running > 0 {
			page, err := app.Page(ctx, stepwell.ListFilter{Workflow: n.Workflow, Status: []world.Status{world.StandsBlocked, world.StandsPaused}}, "", mostStopped)
			if err != nil {
				return nil, err
			}
			for j := range page.Runs {
				r := &page.Runs[j]
				of := 0
				if r.Status == world.Running {
					of = 1
				}
				switch {
				case r.Queue == nil:
				case r.Queue.Blocked != nil:
					if blocked[of]++; r.Queue.Paused {
						n.Paused--
					}
				case r.Queue.Paused:
					paused[of]++
				}
			}
		}
		n.Paused = max(n.Paused, 0)
		rest := max(n.Blocked+n.Paused-blocked[0]-blocked[1]-paused[0]-paused[1], 0)
		pending := min(blocked[0]+paused[0], n.Pending)
		running := min(blocked[1]+paused[1]+rest, n.Running)
		pending = min(pending+max(rest-(running-blocked[1]-paused[1]), 0), n.Pending)
		n.Pending, n.Running = n.Pending-pending, n.Running-running
	}
	return all, nil
}

// Version is the runs of one version of a workflow that are not over, and who has its code.
type Version struct {
	Version int `json:"version"` // 0: not decided yet, as no worker has begun them
	Runs    int `json:"runs"`    // that are not over
	Blocked int `json:"blocked"` // of these
	Workers int `json:"workers"` // that are alive and have it
}

// Versions are all versions of a workflow that runs still need, or workers have, in order.
type Versions struct {
	Workflow string    `json:"workflow"`
	Versions []Version `json:"versions"`
	More     bool      `json:"more"` // there are more runs than were counted: the oldest are left out
}

// Bounds of what is counted by version, a page at a time.
const (
	mostVersioned = 20_000
	versionedPage = 1000
)

// VersionsOf counts the runs of a workflow that are not over by version: which code they still need. It looks at the newest 20,000.
func VersionsOf(ctx context.Context, app *stepwell.App, stats *world.Stats, workflow string) (Versions, error) {
	out := Versions{Workflow: workflow, Versions: []Version{}}
	if err := world.CheckWorkflowName(workflow); err != nil {
		return out, err
	}
	at := map[int]int{}
	of := func(version int) *Version {
		i, ok := at[version]
		if !ok {
			i = len(out.Versions)
			at[version] = i
			out.Versions = append(out.Versions, Version{Version: version})
		}
		return &out.Versions[i]
	}
	f := stepwell.ListFilter{Workflow: workflow, Status: []world.Status{world.Pending, world.Running}}
	for cursor, n := "", 0; ; {
		page, err := app.Page(ctx, f, cursor, versionedPage)
		if err != nil {
			return out, err
		}
		for i := range page.Runs {
			v := of(page.Runs[i].Version)
			if v.Runs++; page.Runs[i].Queue != nil && page.Runs[i].Queue.Blocked != nil {
				v.Blocked++
			}
		}
		if n, cursor = n+len(page.Runs), page.Cursor; cursor == "" {
			break
		}
		if n >= mostVersioned {
			out.More = true
			break
		}
	}
	for i := range stats.Workers {
		w := &stats.Workers[i]
		if !w.Until.After(stats.Now) {
			continue
		}
		for _, c := range w.Classes {
			if c.Workflow == workflow && c.Version > 0 {
				of(c.Version).Workers++
			}
		}
	}
	slices.SortFunc(out.Versions, func(a, b Version) int { return a.Version - b.Version })
	return out, nil
}
