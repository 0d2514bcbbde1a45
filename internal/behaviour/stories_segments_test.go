package behaviour_test

// Stories of runs that continue as new, and of runs that undo.

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

type pollState struct {
	Round int    `json:"round"`
	Got   string `json:"got"`
}

func init() { stories = append(stories, pollerStory, undoStory) }

var pollerStory = story{
	name: "poller",
	defs: func(d *diary) []stepwell.Definition {
		tick := stepwell.Event[string]("tick")
		poller := stepwell.Define("story-poller", func(ctx stepwell.Context, in pollState) (string, error) {
			how, err := noted(ctx, d, fmt.Sprintf("poll %d", in.Round), "p")
			if err != nil {
				return "", err
			}
			if err := stepwell.SetAttribute(ctx, "round", in.Round); err != nil {
				return "", err
			}
			got, _, err := tick.Wait(ctx)
			if err != nil {
				return "", err
			}
			in.Got += how + got
			if in.Round++; in.Round < 3 {
				return "", stepwell.ContinueAsNew(ctx, in)
			}
			return fmt.Sprint(in.Got, ctx.Rand().IntN(1000)), nil
		})
		return []stepwell.Definition{poller}
	},
	start: startStory("story-poller", `{"round":0}`),
	live: func(r *rig, app *worker, run string) { // faster than it reads
		had := "" // what the segments before have taken is not in a fork's log
		for _, e := range r.events(run, world.RunCreated, world.RunContinued) {
			had = string(e.Payload)
		}
		_, had, _ = strings.Cut(had, `"got":`)
		for _, letter := range []string{"a", "b", "c"} {
			if !strings.Contains(strings.ReplaceAll(had, "p", ""), letter) {
				send(r, app, run, "tick", strconv.Quote(letter))
			}
		}
	},
}

var undoStory = story{
	name: "undo",
	defs: func(d *diary) []stepwell.Definition {
		undo := stepwell.Define("story-undo", func(ctx stepwell.Context, _ string) (string, error) {
			for _, what := range []string{"flight", "hotel"} {
				if _, err := noted(ctx, d, what, 1); err != nil {
					return "", err
				}
				stepwell.AddUndo(ctx, "cancel-"+what, func(c context.Context, _ any) error { d.note(c, "cancel-"+what); return nil }, nil)
			}
			return "", stepwell.Do(ctx, "car", func(c context.Context) error {
				d.note(c, "car")
				return stepwell.Fatal(errors.New("no car"))
			})
		})
		return []stepwell.Definition{undo}
	},
	start: startStory("story-undo", `""`),
	live:  func(*rig, *worker, string) {},
}
