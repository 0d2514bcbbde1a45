package cli

// This file lists the workers, and what they can run.

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// employed is a worker as --json writes it.
type employed struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	Build     string        `json:"build,omitempty"`
	Lost      bool          `json:"lost"` // its lease has ended, and nobody has found it dead yet
	JoinedAt  time.Time     `json:"joinedAt"`
	Until     time.Time     `json:"until"` // the end of its lease
	Runs      int           `json:"runs"`  // that it has
	Tasks     int           `json:"tasks"` // the same
	Workflows []world.Class `json:"workflows"`
	Steps     []string      `json:"steps"`
}

func workersCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workers",
		Short: "List the workers, and which workflows, versions and steps they have",
		Long: `List the workers that are alive: their build, how long they have run, how many runs and queued steps they have now, and
which workflows, versions and registered steps they can run. A lost worker has not been heard of; its work goes to
others. If no worker can take a run, stepwell runs show says so.
With --json each worker is one line.

` + exitHelp,
		Example: `  stepwell workers
  stepwell workers --json | jq -r 'select(.lost | not) | .build' | sort -u`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd.Context(), func(db *database) error { return listWorkers(cmd.Context(), c, db) })
		},
	}
	c.jsonFlag(cmd, "write one JSON object per worker")
	return cmd
}

func listWorkers(ctx context.Context, c *cli, db *database) error {
	stats, err := db.world.Stats(ctx)
	if err != nil {
		return err
	}
	t := &table{Gap: "  ", Wrap: true}
	t.Add(cell{Text: "WORKER", Tone: dim}, cell{Text: "BUILD", Tone: dim}, cell{Text: "FOR", Tone: dim, Right: true}, cell{Text: "RUNS", Tone: dim, Right: true},
		cell{Text: "TASKS", Tone: dim, Right: true}, cell{Text: "WORKFLOWS AND STEPS", Tone: dim})
	for i := range stats.Workers {
		w := &stats.Workers[i]
		is := employed{
			ID: w.ID, Name: w.Name, Build: w.Build, Lost: !w.Until.After(stats.Now), JoinedAt: w.JoinedAt, Until: w.Until, Runs: w.Runs, Tasks: w.Tasks,
			Workflows: versions(w.Classes), Steps: append([]string{}, w.Steps...),
		}
		if c.json {
			if err := c.encoder().Encode(is); err != nil {
				return err
			}
			continue
		}
		has := cell{Text: can(&is)}
		if is.Lost {
			has = cell{Text: "lost: not heard of since its lease ended " + human.Relative(is.Until, stats.Now), Tone: bad}
		}
		t.Add(cell{Text: human.Visible(is.Name)}, cell{Text: human.Visible(is.Build)}, cell{Text: human.Age(stats.Now.Sub(is.JoinedAt)), Right: true},
			cell{Text: strconv.Itoa(is.Runs), Right: true}, cell{Text: strconv.Itoa(is.Tasks), Right: true}, has)
	}
	if c.json {
		return nil
	}
	if len(stats.Workers) > 0 {
		t.Write(c.stdout, c.style())
	}
	if !slices.ContainsFunc(stats.Workers, func(w world.WorkerRow) bool { return w.Until.After(stats.Now) }) {
		fmt.Fprintf(c.stderr, "no worker is running on %s: runs wait until one does\n", c.place())
	}
	return nil
}

// versions leaves out what stands for any version.
func versions(all []world.Class) []world.Class {
	out := []world.Class{}
	for _, class := range all {
		if class.Version > 0 {
			out = append(out, class)
		}
	}
	return out
}

// can is what a worker can run, in one line.
func can(w *employed) string {
	var has []string
	for _, class := range w.Workflows {
		has = append(has, fmt.Sprintf("%s v%d", class.Workflow, class.Version))
	}
	if len(w.Steps) > 0 {
		has = append(has, "steps "+strings.Join(w.Steps, ", "))
	}
	return human.Visible(strings.Join(has, ", "))
}
