package behaviour_test

// This file holds the boundaries of a continuation: whatever comes, and whoever dies, before or after whichever commit, a payload is taken once.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/world"
)

// collector goes on after each two notes, until it has six and three payloads of its hook.
var collector = stepwell.Define("collector", func(ctx stepwell.Context, in tour) (string, error) {
	h, err := stepwell.NewHook[string](ctx, stepwell.Token("collector"))
	if err != nil {
		return "", err
	}
	p, _, err := h.Wait(ctx)
	if err != nil {
		return "", err
	}
	in.Got += p
	for range 2 {
		s, _, err := note.Wait(ctx)
		if err != nil {
			return "", err
		}
		in.Got += s
	}
	if in.Left--; in.Left > 0 {
		return "", stepwell.ContinueAsNew(ctx, in)
	}
	return in.Got, nil
}, stepwell.KeepSegments(1))

// TestSignalDuringContinuation sends at each commit boundary of a run that continues, with and without the death of its worker there. The segments
// before are trimmed at each.
func TestSignalDuringContinuation(t *testing.T) {
	for i, k := range kinds {
		for j, m := range modes[:2] {
			if i > 0 && j > 0 {
				continue
			}
			t.Run(k.name+"/"+m.name, func(t *testing.T) {
				t.Parallel()
				for n, reached := 1, true; reached; n++ {
					if n > 40 {
						t.Fatal("still at work at commit 40")
					}
					for _, at := range []boundary{{n, false, true}, {n, true, true}, {n, false, false}, {n, true, false}} {
						if i > 0 && !at.kill {
							continue
						}
						bubble(t, k.open, m.set, func(r *rig) { reached = at.walk(r) })
						if t.Failed() {
							t.Fatalf("at boundary %+v", at)
						}
					}
					if !reached && n < 8 {
						t.Fatalf("%d boundaries, want more: the walk does not reach the continuations", n-1)
					}
				}
			})
		}
	}
}

// boundary is a moment: before or after the n-th commit of a worker, which may die there.
type boundary struct {
	n    int
	late bool
	kill bool
}

// walk lets a run live that is sent something at the boundary, and holds what it got against what was sent. It reports whether there was such a commit.
func (b boundary) walk(r *rig) (reached bool) {
	s := sends{rig: r, app: r.client()}
	run, err := collector.Start(r.ctx, s.app, tour{Left: 3}, stepwell.RunID("collector"))
	if err != nil {
		r.Fatal(err)
	}
	died := make(chan struct{})
	var f *faults.World
	hit := func() {
		reached = true
		s.send("!")
		s.sweep()
		if b.kill {
			f.Kill()
			close(died)
		}
	}
	fault := faults.Fault{Before: hit}
	if b.late {
		fault = faults.Fault{After: hit}
	}
	f = faults.New(r.world, faults.At(faults.Commit, b.n, fault))
	first := s.work(f)
	go func() {
		for i := range 6 {
			s.send(fmt.Sprint(i))
			r.pass(300 * time.Millisecond)
		}
	}()
	second := func() {}
	if b.kill {
		select {
		case <-died:
			first()
			if err := r.world.Leave(r.ctx, f.Worker()); err != nil { // its lease ends
				r.Fatal(err)
			}
			s.sweep()
			second = s.work(r.world)
		case <-time.After(2 * time.Second):
		}
	}
	got, err := run.Result(r.ctx)
	if want := s.want(); err != nil || got != want {
		r.dump("collector")
		r.Errorf("got %q, %v, want %q: what was sent, in order, once", got, err, want)
	}
	r.pass(2 * time.Second)
	first()
	second()
	return reached
}

// sends are what was sent to the run, one at a time.
type sends struct {
	*rig
	app      *stepwell.App
	mu       sync.Mutex
	notes    []string // accepted; guarded by mu
	payloads []string // the same; guarded by mu
}

// send sends a note, and a payload to the hook if that is open.
func (s *sends) send(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := note.Send(s.ctx, s.app, "collector", "n"+text); err == nil {
		s.notes = append(s.notes, "n"+text)
	} else if !errors.Is(err, stepwell.ErrTerminal) {
		s.Error(err)
	}
	if err := s.app.SendHook(s.ctx, "collector", []byte(`"h`+text+`"`)); err == nil {
		s.payloads = append(s.payloads, "h"+text)
	} else if !errors.Is(err, stepwell.ErrNotFound) && !errors.Is(err, stepwell.ErrTerminal) {
		s.Error(err)
	}
}

// sweep deletes what the segments of the run do not want any more.
func (s *sends) sweep() {
	if _, err := s.world.Sweep(s.ctx, 1); err != nil {
		s.Error(err)
	}
}

// want is what three segments get, each one payload and two notes.
func (s *sends) want() (out string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range 3 {
		if i < len(s.payloads) && 2*i+1 < len(s.notes) {
			out += s.payloads[i] + s.notes[2*i] + s.notes[2*i+1]
		}
	}
	return out
}

// work runs a worker, which may die, until stop is called.
func (s *sends) work(w world.World) (stop func()) {
	cfg := stepwell.Config{Definitions: []stepwell.Definition{collector}, Drain: time.Second}
	s.mode(&cfg)
	app, err := stepwell.New(w, cfg)
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = app.Run(ctx) // an error where it died
	}()
	return func() {
		cancel()
		<-ended
	}
}

// A shutdown in the middle of code that continues for ever leaves it ready: the next worker goes on at once.
func TestShutdownOfCodeThatContinuesForEver(t *testing.T) {
	everywhere(t, func(r *rig) {
		ctx, stop := context.WithCancel(r.ctx)
		gone := false
		wf := stepwell.Define("forever", func(ctx stepwell.Context, in int) (int, error) {
			if gone {
				return in, nil
			}
			if in == 5 {
				stop() // time does not pass in such code
			}
			return 0, stepwell.ContinueAsNew(ctx, in+1)
		})
		run := created(r, wf, 0)
		cfg := stepwell.Config{Definitions: []stepwell.Definition{wf}}
		r.mode(&cfg)
		first, err := stepwell.New(r.world, cfg)
		if err != nil {
			r.Fatal(err)
		}
		if err := first.Run(ctx); err != nil {
			r.Fatalf("Run = %v", err)
		}
		gone = true
		r.begin(wf)
		if n, err := run.Result(r.ctx); err != nil || n < 5 {
			r.dump(run.ID())
			r.Fatalf("result = %d, %v", n, err)
		}
	})
}
