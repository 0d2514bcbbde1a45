package main

// This file has the doctor read runs, so that what is damaged, and what did not fit, is found.

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// reading says which runs the doctor reads.
type reading struct {
	full bool
	from string
}

const (
	someRead    = 1000 // runs, unless all are
	readOnce    = 100
	mostDamaged = 20
	mostAside   = 5
)

// verify reads runs and compares them with their checksums. Where it is interrupted it says how to go on.
func (c *cli) verify(ctx context.Context, w world.World, q reading) []world.Finding {
	f := world.Finding{Check: "checksums", Health: world.HealthGood}
	var all world.Verified
	var err error
	at := q.from
	for {
		var some world.Verified
		if some, err = world.Verify(ctx, w, world.VerifyQuery{Cursor: at, Runs: readOnce}); err != nil {
			break
		}
		all.Runs += some.Runs
		all.Events += some.Events
		all.Damaged = append(all.Damaged, some.Damaged...)
		all.Aside = append(all.Aside, some.Aside...)
		if at = some.Cursor; at == "" || !q.full && all.Runs >= someRead {
			break
		}
	}
	f.Found = fmt.Sprintf("%d runs with %d events read", all.Runs, all.Events)
	switch {
	case err != nil:
		f.Health, f.Advice = world.HealthWarning, "go on:  stepwell doctor --full --from '"+at+"'"
		f.Found += "; then: " + err.Error()
	case at != "":
		f.Found += ", the newest; all: --full"
	}
	if n := len(all.Damaged); n > 0 {
		f.Health = world.HealthBad
		f.Advice = "others go on; restore a backup, or end the run and go on in a fork of it from before the damage: see docs/operating.md"
		var texts []string
		for _, d := range all.Damaged[:min(n, mostDamaged)] {
			texts = append(texts, d.Run+" ("+human.Cut(d.What, 200)+")")
		}
		f.Found += fmt.Sprintf("; %d damaged: %s", n, strings.Join(texts, "; "))
	}
	return []world.Finding{f, c.aside(&all)}
}

// aside tells of payloads that came from outside, did not fit, and were set aside. A run that is not over may wait for the right one.
func (c *cli) aside(all *world.Verified) world.Finding {
	f := world.Finding{Check: "payloads", Health: world.HealthGood, Found: "none of these runs had one set aside"}
	open := slices.DeleteFunc(slices.Clone(all.Aside), func(r world.AsideRun) bool { return r.Over })
	if len(all.Aside) == 0 {
		return f
	}
	f.Found = human.Count(len(all.Aside), "run") + " had payloads set aside, as they did not fit"
	if len(open) == 0 {
		f.Found += "; all are over"
		open = all.Aside
	} else {
		f.Health = world.HealthWarning
		f.Found += fmt.Sprintf("; %d not over, and may wait for the right one", len(open))
	}
	var texts []string
	for _, r := range open[:min(len(open), mostAside)] {
		texts = append(texts, fmt.Sprintf("%s (%d)", r.Run, r.Payloads))
	}
	f.Found += ": " + strings.Join(texts, ", ")
	if n := len(open) - mostAside; n > 0 {
		f.Found += fmt.Sprintf(" and %d more", n)
	}
	f.Advice = "see what came, and what does not fit:  " + c.command("runs show "+shellWord(open[0].Run))
	return f
}
