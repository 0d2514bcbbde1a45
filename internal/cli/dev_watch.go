package cli

// This file watches files, and tells when some have changed and it has been quiet for a moment.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// devWatch watches what it is told to. It is safe for concurrent use.
type devWatch struct {
	events  *fsnotify.Watcher
	changes chan string // what has changed, in words; nobody is told twice
	ended   chan struct{}
	ours    []string // files of the database

	mu    sync.Mutex
	files *devFiles       // guarded by mu
	trees map[string]bool // folders of --watch; all files below them count; guarded by mu
	named map[string]bool // files of --watch; guarded by mu
}

const (
	devQuiet  = 100 * time.Millisecond // an editor's save is several changes
	devLate   = time.Second            // what never comes to rest is told of all the same
	mostDirs  = 5000                   // a watch costs the kernel memory
	mostNamed = 3                      // changed files are named
)

func newDevWatch(ours []string) (*devWatch, error) {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch files: %w", err)
	}
	w := &devWatch{
		events: events, changes: make(chan string, 1), ended: make(chan struct{}), ours: ours,
		files: &devFiles{}, trees: map[string]bool{}, named: map[string]bool{},
	}
	go w.run()
	return w, nil
}

func (w *devWatch) close() error {
	err := w.events.Close()
	<-w.ended
	return err
}

// changed tells what has changed. A nil watch tells nothing.
func (w *devWatch) changed() <-chan string {
	if w == nil {
		return nil
	}
	return w.changes
}

// also watches what --watch names.
func (w *devWatch) also(names []string) error {
	for _, name := range names {
		path, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		w.mu.Lock()
		if info.IsDir() {
			w.trees[path] = true
		} else {
			w.named[path] = true
		}
		w.mu.Unlock()
		if info.IsDir() {
			err = w.below(path)
		} else {
			err = w.events.Add(filepath.Dir(path))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// follow watches the files of a program from now on.
func (w *devWatch) follow(f *devFiles) error {
	w.mu.Lock()
	w.files = f
	w.mu.Unlock()
	if f.tree != "" {
		return w.below(f.tree)
	}
	var errs []error
	add := func(dir string) {
		if err := w.events.Add(dir); err != nil { // one that is watched stays so
			errs = append(errs, fmt.Errorf("%s: %w", dir, err))
		}
	}
	for dir := range f.packages {
		add(dir)
	}
	for dir := range f.modules {
		add(dir)
	}
	for dir := range f.embedded {
		add(dir)
	}
	return errors.Join(errs...)
}

// below watches a folder and all below it, but for those that hold nothing of the programmer's.
func (w *devWatch) below(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // it is gone
		case err != nil:
			return err
		case !e.IsDir():
			return nil
		case path != dir && skipped(e.Name()):
			return fs.SkipDir
		case len(w.events.WatchList()) >= mostDirs:
			return fmt.Errorf("%s has more than %d folders: name the ones to watch with --watch", dir, mostDirs)
		}
		return w.events.Add(path)
	})
}

// skipped reports whether a folder holds what others made.
func skipped(name string) bool {
	return name == "node_modules" || name == "vendor" || name == "testdata" || hiddenFile(name)
}

// hiddenFile reports whether a name is of no concern: hidden, or an editor's own.
func hiddenFile(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "#") || strings.HasSuffix(name, "~")
}

// matters reports whether a program may be another one when a file has changed.
func (w *devWatch) matters(path string) bool {
	dir, name := filepath.Dir(path), filepath.Base(path)
	if hiddenFile(name) || slices.Contains(w.ours, path) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	source := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
	module := name == "go.mod" || name == "go.sum" || name == "go.work"
	switch {
	case w.named[path]:
		return true
	case w.files.tree != "" && (source || module) && inside(w.files.tree, path):
		return true
	case source && w.files.packages[dir], module && w.files.modules[dir], w.files.embedded[dir][filepath.Ext(name)]:
		return true
	}
	for tree := range w.trees {
		if inside(tree, path) {
			return true
		}
	}
	return false
}

// inside reports whether a path is below a folder, and in none that is skipped.
func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && !slices.ContainsFunc(strings.Split(filepath.Dir(rel), string(filepath.Separator)), func(name string) bool {
		return name != "." && skipped(name)
	})
}

// run collects changes until the watch is closed.
func (w *devWatch) run() {
	defer close(w.ended)
	var names []string
	quiet := time.NewTimer(time.Hour)
	defer quiet.Stop()
	var first time.Time
	note := func(name string) {
		now := time.Now()
		if len(names) == 0 {
			first = now
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		quiet.Reset(min(devQuiet, devLate-now.Sub(first)))
	}
	for {
		select {
		case e, ok := <-w.events.Events:
			if !ok {
				return
			}
			if e.Op == fsnotify.Chmod {
				continue
			}
			w.grow(&e)
			if w.matters(e.Name) {
				note(filepath.Base(e.Name))
			}
		case err, ok := <-w.events.Errors:
			if !ok {
				return
			}
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				note("much")
			}
		case <-quiet.C:
			if len(names) == 0 {
				continue
			}
			select {
			case w.changes <- inWords(names):
			default: // that something has changed is known already
			}
			names = nil
		}
	}
}

// grow watches a folder that is new.
func (w *devWatch) grow(e *fsnotify.Event) {
	if !e.Has(fsnotify.Create) || skipped(filepath.Base(e.Name)) {
		return
	}
	if info, err := os.Stat(e.Name); err != nil || !info.IsDir() {
		return
	}
	w.mu.Lock()
	counts := w.files.tree != "" && inside(w.files.tree, e.Name)
	for tree := range w.trees {
		counts = counts || inside(tree, e.Name)
	}
	w.mu.Unlock()
	if counts {
		_ = w.below(e.Name) // it may be gone
	}
}

func inWords(names []string) string {
	if more := len(names) - mostNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}
