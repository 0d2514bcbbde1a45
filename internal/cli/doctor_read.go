package cli

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
	mend bool
}

const (
	someRead    = 1000 // runs, unless all are
	readOnce    = 100
	mostDamaged = 20
	mostAside   = 5
)

// verifyWorld reads runs, compares them with their checksums, and what lies beside their logs with these. Where it is interrupted it says how to go on.
func verifyWorld(ctx context.Context, c *cli, w world.World, q reading, show func(world.Finding)) {
	f := world.Finding{Check: "checksums", Health: world.HealthGood}
	var all world.Verified
	var err error
	at := q.from
	p := c.progress("read", "run")
	for {
		var some world.Verified
		if some, err = world.Verify(ctx, w, world.VerifyQuery{Cursor: at, Runs: readOnce, Mend: q.mend}); err != nil {
			break
		}
		for range some.Runs {
			p.step()
		}
		all.Runs += some.Runs
		all.Events += some.Events
		all.Damaged = append(all.Damaged, some.Damaged...)
		all.Mended = append(all.Mended, some.Mended...)
		all.Aside = append(all.Aside, some.Aside...)
		if at = some.Cursor; at == "" || !q.full && all.Runs >= someRead {
			break
		}
	}
	f.Found = fmt.Sprintf("%d runs with %d events read", all.Runs, all.Events)
	switch {
	case err != nil:
		f.Health, f.Advice = world.HealthWarning, "continue:  stepwell doctor --full --from '"+at+"'"
		f.Found += "; then: " + err.Error()
	case at != "":
		f.Found += ", the newest; all: --full"
	}
	if n := len(all.Damaged); n > 0 {
		f.Health = world.HealthBad
		mends := 0
		for _, d := range all.Damaged {
			if d.Mends {
				mends++
			}
		}
		again := "stepwell doctor --mend"
		if q.full {
			again += " --full"
		}
		switch {
		case mends == n:
			f.Advice = "the logs are whole; to repair the rows beside them:  " + again
		case mends > 0:
			f.Advice = fmt.Sprintf("other runs continue; `%[2]s` repairs %[1]d; for the rest, restore a backup, or end them and continue in forks: see docs/operating.md", mends, again)
		default:
			f.Advice = "other runs continue; restore a backup, or end the run and continue in a fork from before the damage: see docs/operating.md"
		}
		var texts []string
		for _, d := range all.Damaged[:min(n, mostDamaged)] {
			texts = append(texts, d.Run+" ("+human.Cut(d.What, 200)+")")
		}
		f.Found += fmt.Sprintf("; %d damaged: %s", n, strings.Join(texts, "; "))
	}
	show(f)
	if q.mend {
		show(mendedRuns(all.Mended))
	}
	show(asideFinding(c, &all))
}

// mendedRuns tells what was put right beside logs.
func mendedRuns(all []world.Damage) world.Finding {
	texts := []string{"repair the rows beside the logs of " + human.Count(len(all), "run")}
	for _, d := range all[:min(len(all), mostDamaged)] {
		texts = append(texts, d.Run+" ("+human.Cut(d.What, 200)+")")
	}
	return world.Finding{Check: "mended: runs", Health: world.HealthGood, Found: strings.Join(texts, "; ")}
}

// asideFinding tells of payloads that came from outside, did not fit, and were set aside. A run that is not over may wait for the right one.
func asideFinding(c *cli, all *world.Verified) world.Finding {
	f := world.Finding{Check: "payloads", Health: world.HealthGood, Found: "none of these runs has a payload set aside"}
	open := slices.DeleteFunc(slices.Clone(all.Aside), func(r world.AsideRun) bool { return r.Over })
	if len(all.Aside) == 0 {
		return f
	}
	f.Found = human.Count(len(all.Aside), "run") + " have payloads that did not fit and were set aside"
	if len(open) == 0 {
		f.Found += "; all are over"
		open = all.Aside
	} else {
		f.Health = world.HealthWarning
		f.Found += fmt.Sprintf("; %d not over, and may still wait for the right payload", len(open))
	}
	var texts []string
	for _, r := range open[:min(len(open), mostAside)] {
		texts = append(texts, fmt.Sprintf("%s (%d)", r.Run, r.Payloads))
	}
	f.Found += ": " + strings.Join(texts, ", ")
	if n := len(open) - mostAside; n > 0 {
		f.Found += fmt.Sprintf(" and %d more", n)
	}
	f.Advice = "see what arrived, and why it does not fit:  " + c.command("runs show "+shellWord(open[0].Run))
	return f
}
