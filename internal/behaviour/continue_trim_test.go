package behaviour_test

// This file holds what runs cost that go on for ever: who takes one reads its newest segment, and segments before it can be trimmed.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// countingReads counts the events that are read.
type countingReads struct {
	world.World
	events, pages atomic.Int64
}

func (w *countingReads) Events(ctx context.Context, run string, q world.EventQuery) (world.EventPage, error) {
	page, err := w.World.Events(ctx, run, q)
	w.events.Add(int64(len(page.Events)))
	w.pages.Add(1)
	return page, err
}

// TestTakeReadsTheNewestSegment claims a run of 40 segments, of about 100 events each, with payloads from its first: it reads those, the birth, and no
// more than one segment.
func TestTakeReadsTheNewestSegment(t *testing.T) {
	for name, on := range map[string]struct {
		kind kind
		ring *keyring.Ring
	}{"plain": {kinds[0], nil}, "encrypted": {kinds[0], keysOf(t, "k1")}, "decrypted": {encrypted, nil}} { // counted above and below the encryption
		t.Run(name, func(t *testing.T) { t.Parallel(); claimReadsTheNewestSegment(t, on.kind, on.ring) })
	}
}

func claimReadsTheNewestSegment(t *testing.T, on kind, ring *keyring.Ring) {
	bubble(t, on.open, modes[1].set, func(r *rig) {
		const segments, steps = 40, 33
		wf := stepwell.Define("long", func(ctx stepwell.Context, in tour) (string, error) {
			for range steps {
				if err := stepwell.Do(ctx, "s", func(context.Context) error { return nil }); err != nil {
					return "", err
				}
			}
			if in.Left > 1 {
				return "", stepwell.ContinueAsNew(ctx, tour{Left: in.Left - 1})
			}
			for range 3 {
				s, _, err := note.Wait(ctx)
				if err != nil {
					return "", err
				}
				in.Got += s
			}
			return in.Got, nil
		})
		first := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, Encryption: ring})
		run := start(r, first, wf, tour{Left: segments})
		for _, s := range []string{"a", "b"} {
			if err := note.Send(r.ctx, first.App, run.ID(), s); err != nil {
				r.Fatal(err)
			}
		}
		until(r, "the last wait", func() bool { return r.count(run.ID(), world.WaitCreated, "note") == 3 })
		if n := len(r.events(run.ID())); n < segments*3*steps {
			r.Fatalf("%d events, want at least %d", n, segments*3*steps)
		}
		r.enters(run.ID(), segments-1)
		first.stop(r)
		wanted, parts := r.newestSegment(run.ID())
		counted := &countingReads{World: r.world}
		second := begin(r.T, counted, stepwell.Config{Definitions: []stepwell.Definition{wf}, CacheRuns: -1, Encryption: ring})
		if err := note.Send(r.ctx, second.App, run.ID(), "c"); err != nil {
			r.Fatal(err)
		}
		want(r, run, "abc")
		if n, pages := counted.events.Load(), counted.pages.Load(); n != wanted || pages != parts {
			r.Errorf("a claim read %d events in %d pages, want %d in %d: the newest segment, the birth, and from the one payload to the other", n, pages, wanted, parts)
		}
	})
}

// newestSegment counts what a claim of a run with two unread payloads reads: its birth, its newest segment, and the payloads with all that lies between
// them, as that is one page: however far the run came between the two, which differs where sending takes longer.
func (r *rig) newestSegment(run string) (events, pages int64) {
	r.Helper()
	log := r.events(run)
	parts := [][2]int64{{1, 1}, {0, log[len(log)-1].Seq}}
	var stands []int64
	for i := range log {
		if e := &log[i]; e.Type == world.RunContinued {
			parts[1][0], stands = e.Seq, e.Next.Stands()
		}
	}
	if len(stands) > 0 { // none, where the payloads came that late
		parts = append(parts, [2]int64{stands[0], stands[len(stands)-1]})
	}
	for _, part := range parts {
		last := log[part[1]-1].Commit // pages end with commits
		for i := part[0] - 1; i < int64(len(log)) && log[i].Commit <= last; i++ {
			events++
		}
	}
	return events, int64(len(parts))
}

// enters holds that each segment of a run can be entered: with the birth and what it stands on, a fold is that of the whole log.
func (r *rig) enters(run string, segments int) {
	r.Helper()
	log := r.events(run)
	fold := func(s *world.State, events []world.Event) *world.State {
		for i := range events {
			if changed, err := s.Apply(&events[i], time.Time{}); err != nil || !changed {
				r.Fatalf("entering at event %d: event %d: changed %v, %v", s.EnterAt, events[i].Seq, changed, err)
			}
		}
		return s
	}
	whole := fold(&world.State{ID: run}, log)
	for i := range log {
		if log[i].Type != world.RunContinued {
			continue
		}
		segments--
		left := log[:1:1]
		for _, seq := range log[i].Next.Stands() {
			left = append(left, log[seq-1])
		}
		got := fold(&world.State{ID: run, EnterAt: log[i].Seq}, append(left, log[i:]...))
		if diff := cmp.Diff(whole, got, cmp.AllowUnexported(world.State{})); diff != "" {
			r.Errorf("entering at event %d, whole -, got +:\n%s", log[i].Seq, diff)
		}
	}
	if segments != 0 {
		r.Errorf("%d continuations too few", segments)
	}
}

// forgetful keeps two segments. It goes on every two minutes, and in the last segment takes what was sent since the first.
var forgetful = stepwell.Define("forgetful", func(ctx stepwell.Context, in tour) (string, error) {
	h, err := stepwell.NewHook[string](ctx, stepwell.Token("forgetful"))
	if err != nil {
		return "", err
	}
	if err := stepwell.Do(ctx, fmt.Sprint("work ", in.Left), func(context.Context) error { return nil }); err != nil {
		return "", err
	}
	if in.Left--; in.Left > 0 {
		if err := stepwell.Sleep(ctx, "rest", 2*time.Minute); err != nil {
			return "", err
		}
		return "", stepwell.ContinueAsNew(ctx, in)
	}
	if in.Got, _, err = h.Wait(ctx); err != nil {
		return "", err
	}
	for range 3 {
		s, _, err := note.Wait(ctx)
		if err != nil {
			return "", err
		}
		in.Got += s
	}
	return fmt.Sprint(in.Got, ctx.Rand().IntN(1000)), nil
}, stepwell.KeepSegments(2), stepwell.Timeout(30*24*time.Hour))

// TestKeepSegments: what was sent in the first segment is taken in the last, though all between was deleted; what reads logs says what is gone, and
// works with what is left.
func TestKeepSegments(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, kinds[0].open, m.set, keepsSegments) // what a store makes of it, worldtest holds
		})
	}
}

func keepsSegments(r *rig) {
	app := r.begin(forgetful)
	run := start(r, app, forgetful, tour{Left: 5})
	created := time.Now()
	for _, s := range []string{"a", "b"} {
		if err := note.Send(r.ctx, app.App, run.ID(), s); err != nil {
			r.Fatal(err)
		}
	}
	r.pass(3 * time.Minute)
	if err := app.SendHook(r.ctx, "forgetful", []byte(`"h"`)); err != nil {
		r.Fatal(err)
	}
	r.pass(11 * time.Minute) // and the sweeper comes every five
	app.stop(r)

	log := r.events(run.ID())
	var newest, kept int64 // where the segments begin that are kept
	for _, e := range log {
		if e.Type == world.RunContinued {
			kept, newest = newest, e.Seq
		}
	}
	for what, n := range map[world.EventType]int{world.RunContinued: 2, world.HookCreated: 1, world.HookReceived: 1, world.SignalReceived: 2} {
		if got := r.count(run.ID(), what, ""); got != n {
			r.dump(run.ID())
			r.Fatalf("%d %s in the log, want %d", got, what, n)
		}
	}
	for _, e := range log {
		if e.Type == world.StepCreated && strings.HasPrefix(e.Name, "work") && e.Name != "work 2" && e.Name != "work 1" && e.Seq > 5 {
			r.Errorf("event %d of step %s was not trimmed", e.Seq, e.Name)
		}
	}

	app = r.begin(forgetful)
	s, err := app.Story(r.ctx, run.ID(), true)
	if j := s.Journal; err != nil || s.Damage != "" || j.Trimmed != kept || j.Segment != 4 || j.StartedAt.Sub(created).Abs() > time.Second || j.Status != world.Running {
		r.Fatalf("story: %v, damage %q, trimmed to %d, segment %d, started %s, %s; want %d, 4, %s, running", err, s.Damage, j.Trimmed, j.Segment, j.StartedAt, j.Status, kept, created)
	}
	for i, title := range []string{"hook", "work 2", "rest", "work 1", "note"} {
		if got := s.Journal.Entries; len(got) <= i || !strings.Contains(got[i].Title(), title) {
			r.Errorf("entry %d of the journal is not %s", i, title)
		}
	}
	r.elsewhere(app, run.ID(), kept)
	if err := note.Send(r.ctx, app.App, run.ID(), "c"); err != nil {
		r.Fatal(err)
	}
	out, err := run.Result(r.ctx)
	if err != nil || !strings.HasPrefix(out, "habc") {
		r.Fatalf("result %q, %v; want habc and a number", out, err)
	}
	for _, at := range []int64{kept, newest, newest + 2} {
		forked, err := app.Fork(r.ctx, run.ID(), stepwell.ForkOptions{At: at})
		if err != nil {
			r.Fatal(err)
		}
		r.pass(3 * time.Minute)
		if !r.get(forked.ID()).Status.Terminal() {
			if err := note.Send(r.ctx, app.App, forked.ID(), "c"); err != nil {
				r.Fatal(err)
			}
		}
		until(r, "fork "+forked.ID(), func() bool { return r.get(forked.ID()).Status.Terminal() })
		if got := r.get(forked.ID()); string(got.Output) != fmt.Sprintf("%q", out) {
			r.dump(forked.ID())
			r.Errorf("forked at event %d: %s with %s, want %s", at, got.Status, got.Output, out)
		}
	}
}

// elsewhere takes a trimmed log to where logs are taken to: a file, a check, another world. A fork of what is gone is refused.
func (r *rig) elsewhere(app *worker, run string, kept int64) {
	r.Helper()
	if _, err := app.Fork(r.ctx, run, stepwell.ForkOptions{At: kept - 1}); !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), "trimmed") {
		r.Errorf("fork of what is gone: %v, want invalid", err)
	}
	var file bytes.Buffer
	if err := app.Export(r.ctx, run, &file); err != nil {
		r.Fatal(err)
	}
	for h, err := range stepwell.ReadHistories(&file) {
		if err != nil {
			r.Fatal(err)
		}
		if err := app.Check(r.ctx, h); err != nil {
			r.Errorf("check: %v", err)
		}
		there := &rig{T: r.T, world: memory.New(), mode: r.mode, ctx: r.ctx}
		second := there.begin(forgetful)
		if err := second.Import(r.ctx, h, stepwell.ImportOptions{Go: true}); err != nil {
			r.Fatal(err)
		}
		if err := note.Send(r.ctx, second.App, run, "c"); err != nil {
			r.Fatal(err)
		}
		until(r, "the imported run", func() bool { return there.get(run).Status.Terminal() })
		if got := there.get(run); !strings.HasPrefix(string(got.Output), `"habc`) {
			there.dump(run)
			r.Errorf("the imported run is %s with %s", got.Status, got.Output)
		}
		second.stop(r)
	}
}

// teller writes to a stream, in a step and in its code, in each of its segments.
var teller = stepwell.Define("teller", func(ctx stepwell.Context, in tour) (string, error) {
	if err := stepwell.WriteStream(ctx, "told", fmt.Sprint("code ", in.Left)); err != nil {
		return "", err
	}
	if err := stepwell.Do(ctx, "say", func(ctx context.Context) error {
		out := stepwell.Stream[string](ctx, "told")
		return errors.Join(out.Write(fmt.Sprint("step ", in.Left)), out.Flush())
	}); err != nil {
		return "", err
	}
	if err := stepwell.Sleep(ctx, "rest", 2*time.Minute); err != nil {
		return "", err
	}
	if in.Left--; in.Left > 0 {
		return "", stepwell.ContinueAsNew(ctx, in)
	}
	return "done", nil
}, stepwell.KeepSegments(2))

// TestKeepSegmentsOfStreams: what trimmed segments wrote to streams is gone. Who follows has all of it, each once; who comes later gets what the last two
// segments wrote, and is told.
func TestKeepSegmentsOfStreams(t *testing.T) {
	t.Parallel()
	bubble(t, kinds[0].open, modes[0].set, func(r *rig) {
		const segments = 9
		app := r.begin(teller)
		run := start(r, app, teller, tour{Left: segments})
		live := make(chan []string, 1)
		go func() {
			all, trimmed := heard(r, app.App, run.ID(), 0)
			if trimmed != nil {
				r.Errorf("the reader that follows is told of chunks that are gone: %v", trimmed)
			}
			live <- all
		}()
		want(r, run, "done")
		var all []string
		for i := range 2 * segments {
			all = append(all, fmt.Sprintf("%d:%s %d", i, []string{"code", "step"}[i%2], segments-i/2))
		}
		if d := cmp.Diff(all, <-live); d != "" {
			r.Errorf("who follows the stream has got (-want +got):\n%s", d)
		}
		r.pass(5 * time.Minute) // the sweeper comes
		for from, kept := range map[int64][]string{0: all[14:], 13: all[14:], 14: all[14:], 17: all[17:]} {
			got, trimmed := heard(r, app.App, run.ID(), from)
			if d := cmp.Diff(kept, got); d != "" {
				r.Errorf("from %d (-want +got):\n%s", from, d)
			}
			if gone := from < 14; gone != (len(trimmed) == 1 && trimmed[0] == 14) || !gone && trimmed != nil {
				r.Errorf("from %d: chunks that say that others are gone: %v", from, trimmed)
			}
		}
		app.stop(r)
	})
}

// heard reads the stream of a teller to its end: what it says, and the chunks before which others are gone.
func heard(r *rig, app *stepwell.App, run string, from int64) (all []string, trimmed []int64) {
	for c, err := range stepwell.ReadStream[string](r.ctx, app, run, "told", from) {
		if err != nil {
			r.Errorf("read from %d: %v", from, err)
			return all, trimmed
		}
		all = append(all, fmt.Sprintf("%d:%s", c.Index, c.Value))
		if c.Trimmed {
			trimmed = append(trimmed, c.Index)
		}
	}
	return all, trimmed
}
