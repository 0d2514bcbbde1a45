package cli

// This file is the demo: workflows in a process that is killed, and that go on in the next one.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// demoLimit is how long the demo may take; longer where a death is seen by the end of a lease alone.
const (
	demoLimit       = 18 * time.Second
	demoServerLimit = 40 * time.Second
)

func demoCommand(c *cli) *cobra.Command {
	keep := false
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run workflows in a process, kill it in the middle of a step, and watch them continue",
		Long: `Run two workflows on a fresh SQLite file in a worker process, kill that process in the middle of a step (SIGKILL), start
it again, and watch the runs continue where they stopped. No finished step runs twice. It takes a few seconds.

With --db postgres://… it does the same on PostgreSQL, in a schema of its own that it drops at the end. It ignores
STEPWELL_DB.

Exit codes:
  0    everything worked
  1    something failed, and the message says what`,
		Example: `  stepwell demo
  stepwell demo --keep
  stepwell demo --db postgres://postgres@localhost/postgres`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), c, keep) },
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the files or the schema, and print where they are")
	c.jsonFlag(cmd, "write one JSON object for each thing that happens")
	return cmd
}

// runDemo makes the database and a directory, plays, and removes them.
func runDemo(ctx context.Context, c *cli, keep bool) (err error) {
	dir, err := os.MkdirTemp("", "stepwell-demo-")
	if err != nil {
		return err
	}
	stage, err := newStage(c, dir)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	defer func() {
		if keep {
			c.setDatabase(stage.url)
			err = errors.Join(err, c.tell(kept{acted{Action: "keep", Result: "kept"}, dir, stage.url},
				fmt.Sprintf("\nThe files are in %s. Look around:\n  %s", dir, c.command("runs list"))))
			return
		}
		err = errors.Join(err, stage.drop(context.WithoutCancel(ctx)), os.RemoveAll(dir))
	}()
	w, err := world.Open(ctx, stage.url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }() // before the files are removed
	app, err := stepwell.New(w, stepwell.Config{Name: c.who, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, stage.limit)
	defer cancel()
	p := &play{
		output: c.output, stage: stage, world: w, app: app, began: time.Now(), finished: map[string]bool{},
		lines: &bodyReader{path: filepath.Join(dir, demoBodies)},
	}
	err = p.perform(limited)
	p.worker.kill()
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil && limited.Err() != nil:
		return p.stuck(ctx)
	}
	return err
}

// kept is what --json says of what stays.
type kept struct {
	acted
	Directory string `json:"directory"`
	Database  string `json:"database"`
}

// play is one demo.
type play struct {
	*output
	stage    *stage
	world    world.World
	app      *stepwell.App
	began    time.Time
	worker   *worker
	killed   int // process ID of the first worker
	lines    *bodyReader
	cast     []actor
	finished map[string]bool // steps whose end was in the log when the worker was killed
}

// actor is one run of the demo.
type actor struct {
	name string
	run  string
	want string // its output
	over bool
}

// perform is the play, act by act.
func (p *play) perform(ctx context.Context) error {
	p.prologue()
	for _, act := range []func(context.Context) error{p.begin, p.start, p.kill, p.restart, p.signal, p.finish, p.check} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	if err := p.worker.stop(); err != nil {
		return err
	}
	return p.epilogue(ctx)
}

// begin starts the first worker process.
func (p *play) begin(ctx context.Context) error {
	if err := os.WriteFile(p.lines.path, nil, 0o600); err != nil {
		return err
	}
	return p.work(ctx, "worker process %d starts")
}

// work starts a worker process and waits until it works.
func (p *play) work(ctx context.Context, says string) error {
	before, err := p.workers(ctx)
	if err != nil {
		return err
	}
	if p.worker, err = startWorker(p.stage); err != nil {
		return err
	}
	p.say(bold, fmt.Sprintf(says, p.worker.pid()))
	return p.until(ctx, func() (bool, error) {
		now, err := p.workers(ctx)
		return slices.ContainsFunc(now, func(id string) bool { return !slices.Contains(before, id) }), err
	})
}

// workers lists the workers that have joined, and were not found dead yet.
func (p *play) workers(ctx context.Context) (ids []string, err error) {
	s, err := p.world.Stats(ctx)
	for _, row := range s.Workers {
		ids = append(ids, row.ID)
	}
	return ids, err
}

// start starts the three runs, from this process.
func (p *play) start(ctx context.Context) error {
	items := []string{"cup", "tea", "kettle"}
	for _, a := range []struct {
		name, workflow, want string
		input                any
	}{
		{"ada", "onboard-user", `"verified"`, signup{"ada@example.com"}},
		{"bob", "onboard-user", `"nudged"`, signup{"bob@example.com"}},
		{"order", "order", `"A-17 shipped, 3 items"`, order{"A-17", items}},
	} {
		input, err := json.Marshal(a.input)
		if err != nil {
			return err
		}
		run, err := p.app.Start(ctx, a.workflow, input)
		if err != nil {
			return err
		}
		p.cast = append(p.cast, actor{name: a.name, run: run.ID(), want: a.want})
	}
	p.say("", "three runs start: onboard-user for ada and for bob, and an order")
	return nil
}

// kill waits for the body of the chosen step, and kills the worker in the middle of it.
func (p *play) kill(ctx context.Context) error {
	inside := func() (time.Time, bool) {
		for _, l := range p.lines.all {
			if l.Name == killedStep {
				return l.At, l.What == bodyStarts
			}
		}
		return time.Time{}, false
	}
	if err := p.until(ctx, func() (bool, error) {
		at, in := inside()
		return in && time.Since(at) > chargeTime/4, nil
	}); err != nil {
		return err
	}
	p.killed = p.worker.pid()
	p.worker.kill()
	p.say(bad, fmt.Sprintf("kill -9 %d, in the middle of %s", p.killed, killedStep))
	if err := p.tell(); err != nil {
		return err
	}
	if n := p.tally()[killedStep].ends; n != 0 {
		return fmt.Errorf("demo: step %s ended before its process was killed; this machine was too slow to catch it, try again", killedStep)
	}
	if err := p.noteFinished(ctx); err != nil {
		return err
	}
	p.say("", fmt.Sprintf("the database holds %s that had finished; %s has started and has no result", human.Count(len(p.finished), "step"), killedStep))
	return nil
}

// noteFinished reads from the log which steps were finished when the worker died.
func (p *play) noteFinished(ctx context.Context) error {
	for _, a := range p.cast {
		s, err := p.app.Story(ctx, a.run, false)
		if err != nil {
			return err
		}
		for _, en := range s.Journal.Entries {
			if en.Class == "run" && en.Status == journal.EntryCompleted {
				p.finished[en.ID] = true
			}
		}
	}
	return nil
}

func (p *play) restart(ctx context.Context) error {
	return p.work(ctx, "worker process %d starts on the same database")
}

// signal sends the event to ada's run, as soon as it waits for it. Nobody sends one to bob's.
func (p *play) signal(ctx context.Context) error {
	ada := p.cast[0]
	if err := p.until(ctx, func() (bool, error) {
		why, err := p.app.Why(ctx, ada.run)
		return why.Kind == stepwell.WhyEvent, err
	}); err != nil {
		return err
	}
	if err := verify.Send(ctx, p.app, ada.run, verified{"usr_ada"}); err != nil {
		return err
	}
	p.say("", `event "verify" is sent to ada's run, from this process; none to bob's`)
	return nil
}

// finish waits until all runs are over.
func (p *play) finish(ctx context.Context) error {
	return p.until(ctx, func() (bool, error) {
		all := true
		for i := range p.cast {
			a := &p.cast[i]
			if a.over {
				continue
			}
			info, err := p.app.Get(ctx, a.run)
			if err != nil {
				return false, err
			}
			if a.over = info.Status.Terminal(); !a.over {
				all = false
				continue
			}
			if err := p.tell(); err != nil {
				return false, err
			}
			p.say(tones[info.Status], fmt.Sprintf("%s %s: %s", a.name, info.Status, info.Output))
		}
		return all, nil
	})
}

// stuck says where a demo stands that took too long.
func (p *play) stuck(ctx context.Context) error {
	err := fmt.Errorf("demo: not done after %s", p.stage.limit)
	for _, a := range p.cast {
		why, whyErr := p.app.Why(ctx, a.run)
		if whyErr != nil {
			return errors.Join(err, whyErr)
		}
		err = fmt.Errorf("%w\n  %s, run %s: %s", err, a.name, a.run, why)
	}
	return err
}
