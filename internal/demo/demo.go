// Package demo plays workflows in a process that is killed, and that go on in the next one. It is apart from the command
// line, so that the program that README begins with links little and compiles fast.
package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/draw"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// The files of the demo, in its directory.
const (
	Database = "demo.db"
	Bodies   = "bodies.jsonl"
)

// Stage is the database that the demo plays on.
type Stage struct {
	URL   string
	What  string                      // it is, in words
	Limit time.Duration               // how long the demo may take
	Drop  func(context.Context) error // removes the database; nil: it goes with the directory
}

// Options are what the demo needs of its program.
type Options struct {
	Out     io.Writer
	Style   draw.Style
	JSON    *json.Encoder // each thing that happens is an object; nil: text for people
	Zone    *time.Location
	Who     string   // who starts the runs
	Worker  []string // with these arguments and a directory this program calls [Work]
	Stage   *Stage   // nil: a SQLite file
	Keep    bool     // the files and the database stay
	NextRun string   // the command that comes next
	// Look is the command line that lists the runs of a database.
	Look func(url string) string
}

// onFile is a SQLite file in the directory.
func onFile(dir string) *Stage {
	file := url.URL{Path: filepath.ToSlash(filepath.Join(dir, Database))}
	return &Stage{URL: "sqlite:" + file.EscapedPath(), What: "a fresh SQLite file", Limit: 18 * time.Second}
}

// Kept is what JSON says of what stays.
type Kept struct {
	Action    string `json:"action"`
	Result    string `json:"result"`
	Directory string `json:"directory"`
	Database  string `json:"database"`
}

// Run makes a directory and the database, plays, and removes them.
func Run(ctx context.Context, o Options) (err error) {
	dir, err := os.MkdirTemp("", "stepwell-demo-")
	if err != nil {
		return err
	}
	if o.Stage == nil {
		o.Stage = onFile(dir)
	}
	defer func() {
		if o.Keep {
			err = errors.Join(err, o.kept(dir))
			return
		}
		if o.Stage.Drop != nil {
			err = errors.Join(err, o.Stage.Drop(context.WithoutCancel(ctx)))
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	w, err := world.Open(ctx, o.Stage.URL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }() // before the files are removed
	app, err := stepwell.New(w, stepwell.Config{Name: o.Who, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, o.Stage.Limit)
	defer cancel()
	p := &play{
		Options: &o, dir: dir, world: w, app: app, began: time.Now(), finished: map[string]bool{},
		lines: &bodyReader{path: filepath.Join(dir, Bodies)},
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

func (o *Options) kept(dir string) error {
	if o.JSON != nil {
		return o.JSON.Encode(Kept{"keep", "kept", dir, o.Stage.URL})
	}
	_, err := fmt.Fprintf(o.Out, "\nThe files are in %s. Look around:\n  %s\n", dir, o.Look(o.Stage.URL))
	return err
}

// play is one demo.
type play struct {
	*Options
	dir      string
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
	if p.worker, err = startWorker(p); err != nil {
		return err
	}
	p.say(draw.Bold, fmt.Sprintf(says, p.worker.pid()))
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
	p.say(draw.Bad, fmt.Sprintf("kill -9 %d, in the middle of %s", p.killed, killedStep))
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
			p.say(draw.Tones[info.Status], fmt.Sprintf("%s %s: %s", a.name, info.Status, info.Output))
		}
		return all, nil
	})
}

// stuck says where a demo stands that took too long.
func (p *play) stuck(ctx context.Context) error {
	err := fmt.Errorf("demo: not done after %s", p.Stage.Limit)
	for _, a := range p.cast {
		why, whyErr := p.app.Why(ctx, a.run)
		if whyErr != nil {
			return errors.Join(err, whyErr)
		}
		err = fmt.Errorf("%w\n  %s, run %s: %s", err, a.name, a.run, why)
	}
	return err
}
