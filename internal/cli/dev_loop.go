package cli

// This file keeps the program of stepwell dev running: it builds, starts and stops it.

import (
	"context"
	"errors"
	"time"
)

// loop builds and starts the program, and again when it has changed, until ctx ends, or the program with --once.
func (d *dev) loop(ctx context.Context) (err error) {
	defer d.hint.Stop()
	defer func() { d.stop() }()
	if !d.flags.once {
		if d.watch, err = newDevWatch(d.c.databaseFiles()); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.watch.close()) }()
		if err := d.watch.also(d.flags.watch); err != nil {
			return usagef("give a file or folder that exists", "--watch: %w", err)
		}
	}
	if err := d.renew(ctx); err != nil && d.flags.once {
		return err
	}
	for {
		var ended <-chan struct{}
		if d.child != nil {
			ended = d.child.ended
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ended:
			child := d.child
			d.stop() // what it started, too
			if err := d.ended(child); d.flags.once {
				return err
			}
			d.out.say("the program ended with %s; it starts again when its files change", child.cmd.ProcessState)
		case what := <-d.watch.changed():
			d.out.say("%s changed", what)
			_ = d.renew(ctx) // it was told
		case <-d.hint.C:
			d.ask(ctx)
		}
	}
}

// renew builds the program, and puts it in the place of the one that runs.
func (d *dev) renew(ctx context.Context) error {
	if d.watch != nil {
		files, err := d.program.files(ctx)
		if err == nil {
			err = d.watch.follow(files)
		}
		if err != nil && ctx.Err() == nil {
			d.out.say("some files are not watched: %v", err)
		}
	}
	path, build, err := d.program.build(ctx, d.out.lines("go", bad, d.c.stderr))
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && d.child != nil:
		d.out.say("it does not build; the previous program keeps running")
		return err
	case err != nil:
		d.out.say("it does not build")
		return &fault{exitFailure, err, "the errors are above"}
	case build != "" && build == d.built && d.child != nil:
		d.out.say("that does not change the program")
		return nil
	}
	again := d.child != nil
	d.stop()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	d.child, err = startDev(d, path, build)
	if err != nil {
		d.out.say("%v", err)
		return usagef("name a program after --, or a package:  stepwell dev -- go run ./myapp", "%w", err)
	}
	d.built = build
	d.hint.Reset(devHint)
	word := "started"
	if again {
		word = "started again"
	}
	d.out.say("%s: process %d", word, d.child.cmd.Process.Pid)
	return nil
}

// stop ends the program and what it started, and waits for it.
func (d *dev) stop() {
	if d.child == nil {
		return
	}
	if !d.child.stop(d.grace()) {
		d.out.say("the program did not stop in time, and was killed; its runs continue")
	}
	d.child = nil
}

// ask asks which database the program has opened, where nobody works on this one.
func (d *dev) ask(ctx context.Context) {
	if d.child == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	stats, err := d.db.world.Stats(ctx)
	if err != nil {
		return
	}
	for _, w := range stats.Workers {
		if w.Until.After(stats.Now) {
			return
		}
	}
	d.out.say(`no worker has joined %s: does the program open it, with stepwell.Open(ctx, ""), and call Run? If it uses another database, name that with --db`, d.c.place())
}
