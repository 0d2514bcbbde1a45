// Waiters is the worker process that the kill tests of internal/behaviour kill while its runs wait for hooks, children,
// other runs, pauses and cancels. It is built without the race detector, with which a process that dies a hundred times
// is ten times slower, and apart from the tests, which take half a minute to compile. It works on runs.db in a folder
// until it has killed itself, or standard input ends. It judges nothing.
//
//	waiters -dir DIR -n 3 -late -note last
//	waiters -dir DIR -body mid
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// victim says where the process kills itself.
type victim struct {
	dir  string
	n    int  // at its n-th commit; 0: never
	late bool // after it, not before
	body string
	note string // sends this to the gatherer as it dies
}

func main() {
	var v victim
	flag.StringVar(&v.dir, "dir", ".", "the `folder` of runs.db")
	flag.IntVar(&v.n, "n", 0, "die at this commit; 0: at none")
	flag.BoolVar(&v.late, "late", false, "after it, not before")
	flag.StringVar(&v.body, "body", "", "die in the first attempt of the step of this `name`")
	flag.StringVar(&v.note, "note", "", "send this `text` to the gatherer as it dies")
	flag.Parse()
	if err := v.work(); err != nil {
		fmt.Println(err)
	}
}

// work works until standard input ends.
func (v *victim) work() error {
	file, err := sqlite.Open(filepath.Join(v.dir, "runs.db"))
	if err != nil {
		return err
	}
	f := faults.Fault{Before: func() { v.lastWords(file) }}
	if v.late {
		f = faults.Fault{After: f.Before}
	}
	app, err := stepwell.New(faults.New(file, faults.At(faults.Commit, v.n, f)), stepwell.Config{Definitions: v.definitions(), Name: "waiting"})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	return errors.Join(app.Run(ctx), file.Close())
}

// lastWords sends a note from beside the worker, which dies then.
func (v *victim) lastWords(file world.World) {
	if v.note != "" {
		app, err := stepwell.New(file, stepwell.Config{Name: "last words"})
		if err == nil {
			err = note.Send(context.Background(), app, gatherer.Name(), v.note)
		}
		if err != nil {
			fmt.Println(err)
		}
	}
	die()
}

// die is kill -9 by one's own hand.
func die() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {}
}
