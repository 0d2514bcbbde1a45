// Package behaviour_test holds what authors and clients see of runs, on the stores that can follow virtual time: the answers
// at the edges (semantics_*), generated programs under generated faults (sim_*), killed processes (kill_*, poison_*), runs
// and their relatives (relatives_*), bad input (badinput_*), histories, and the rest of the API, by its topics.
package behaviour_test

// What these tests share: worlds, workers that end with the test, and what is asked of a run afterwards.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/crypt"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kind is one of the worlds that the tests run on.
type kind struct {
	name string
	open func(t testing.TB) world.World
}

// kinds are the worlds that the tests run on.
var kinds = []kind{
	{"memory", func(testing.TB) world.World { return memory.New() }},
	{"sqlite", func(t testing.TB) world.World { return openFile(t, filepath.Join(t.TempDir(), "runs.db")) }},
}

// encrypted is a world whose payloads are encrypted. No workflow may observe it.
var encrypted = kind{"encrypted", func(t testing.TB) world.World { return crypt.Wrap(memory.New(), keysOf(t, "k1")) }}

// keysOf has random keys of some names.
func keysOf(t testing.TB, ids ...string) *keyring.Ring {
	t.Helper()
	keys := make([]keyring.Key, len(ids))
	for i, id := range ids {
		var err error
		if keys[i], err = keyring.NewKey(id); err != nil {
			t.Fatal(err)
		}
	}
	ring, err := keyring.New(keys[0], keys[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func openFile(t testing.TB, path string, opts ...sqlite.Options) *sqlite.World {
	t.Helper()
	w, err := sqlite.Open(path, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return w
}

// mode is a way to work.
type mode struct {
	name string
	set  func(*stepwell.Config)
}

// modes are what a worker may do with the machine of a run that waits. No workflow may observe which it is.
var modes = []mode{
	{"cached", func(*stepwell.Config) {}},
	{"replayed", func(c *stepwell.Config) { c.CacheRuns = -1 }},
	{"strict", func(c *stepwell.Config) { c.Strict = true }},
}

// rig is one world, in a bubble where time is virtual: it passes when nobody has anything to do.
type rig struct {
	*testing.T
	world world.World
	mode  func(*stepwell.Config)
	ctx   context.Context // bounds all waiting
}

// cell is a kind of world and a mode in which a test runs there.
type cell struct {
	kind
	mode mode
}

// cells are each of some worlds in each of some modes.
func cells(on []kind, in []mode) (all []cell) {
	for _, k := range on {
		for _, m := range in {
			all = append(all, cell{k, m})
		}
	}
	return all
}

// everywhere runs a test in memory, in one of the modes, and on one of the other worlds: on a file, or encrypted. With -sample.all it is run in
// memory in each mode, and on all of the others.
func everywhere(t *testing.T, test func(r *rig)) {
	in(t, cells(kinds[:1], modes), test)
	in(t, append(cells(kinds[1:], modes[:1]), cell{encrypted, modes[2]}), test)
}

// everyWay is everywhere with the cache on and off on files, too: so the answers at the edges are held.
func everyWay(t *testing.T, test func(r *rig)) {
	in(t, cells(kinds[:1], modes), test)
	in(t, append(cells(kinds[1:], modes[:2]), cell{encrypted, modes[1]}), test)
}

// onWorlds runs a test on one kind of world, or each of them, in the default mode.
func onWorlds(t *testing.T, test func(r *rig)) {
	for _, k := range sample.One(t, kinds...) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, k.open, modes[0].set, test)
		})
	}
}

// across runs a test on one of some worlds in one of some modes, or in all of these.
func across(t *testing.T, on []kind, modes []mode, test func(r *rig)) { in(t, cells(on, modes), test) }

// in runs a test in one of some cells, or in each.
func in(t *testing.T, some []cell, test func(r *rig)) {
	for _, c := range sample.OneFor(t, some[0].name, some...) {
		t.Run(c.name+"/"+c.mode.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, c.open, c.mode.set, test)
		})
	}
}

func bubble(t *testing.T, open func(testing.TB) world.World, mode func(*stepwell.Config), test func(r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
		defer cancel()
		test(&rig{T: t, world: open(t), mode: mode, ctx: ctx})
	})
}

// worker is an App that works until it is stopped, or the test ends.
type worker struct {
	*stepwell.App
	cancel context.CancelFunc
	ended  chan struct{}
	err    error // of Run; after ended
	once   sync.Once
}

// begin makes an App that works on a world.
func begin(t testing.TB, w world.World, cfg stepwell.Config) *worker {
	t.Helper()
	app, err := stepwell.New(w, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	wk := &worker{App: app, cancel: cancel, ended: make(chan struct{})}
	before := workers(t, w)
	go func() {
		defer close(wk.ended)
		wk.err = app.Run(ctx)
	}()
	t.Cleanup(func() { wk.stop(t) })
	until(t, "the worker to join", func() bool { return workers(t, w) > before || wk.over() })
	return wk
}

// stop shuts the worker down and waits for that.
func (wk *worker) stop(t testing.TB) {
	t.Helper()
	wk.cancel()
	<-wk.ended
	wk.once.Do(func() {
		if wk.err != nil {
			t.Errorf("Run = %v", wk.err)
		}
	})
}

func (wk *worker) over() bool {
	select {
	case <-wk.ended:
		return true
	default:
		return false
	}
}

// work runs an App on a world until the test ends.
func work(t testing.TB, w world.World, cfg stepwell.Config) *stepwell.App {
	t.Helper()
	return begin(t, w, cfg).App
}

func workers(t testing.TB, w world.World) int {
	t.Helper()
	s, err := w.Stats(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return len(s.Workers)
}

// begin starts a worker with definitions, in the rig's mode.
func (r *rig) begin(defs ...stepwell.Definition) *worker {
	r.Helper()
	return r.beginWith(stepwell.Config{Definitions: defs})
}

func (r *rig) beginWith(cfg stepwell.Config) *worker {
	r.Helper()
	r.mode(&cfg)
	wk := begin(r.T, r.world, cfg)
	synctest.Wait() // until it claims runs: having joined is not enough for an eager start
	return wk
}

// mortal is a worker that dies at one of its commits.
type mortal struct {
	*faults.World
	died atomic.Bool
	stop func() // ends it, dead or not, and waits until all that it began has ended
}

// beginMortal starts a worker that dies before its k-th commit, or after it.
func (r *rig) beginMortal(cfg stepwell.Config, k int, after bool) *mortal {
	r.Helper()
	return r.beginMortalAt(cfg, faults.Commit, k, after)
}

// beginMortalAt starts a worker that dies before its k-th call of a kind, or after it.
func (r *rig) beginMortalAt(cfg stepwell.Config, op faults.Op, k int, after bool) *mortal {
	r.Helper()
	m := &mortal{}
	var w *faults.World
	fault := faults.Fault{Before: func() { m.died.Store(true); w.Kill() }}
	if after {
		fault.Before, fault.After = nil, fault.Before
	}
	w = faults.New(r.world, faults.At(op, k, fault))
	m.World = w
	app, err := stepwell.New(w, cfg)
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = app.Run(ctx) // its world may be dead
	}()
	m.stop = func() {
		cancel()
		<-ended
	}
	return m
}

// client is an App that does not work.
func (r *rig) client(defs ...stepwell.Definition) *stepwell.App {
	r.Helper()
	app, err := stepwell.New(r.world, stepwell.Config{Definitions: defs, Name: "client"})
	if err != nil {
		r.Fatal(err)
	}
	return app
}

// pass lets virtual time pass.
func (r *rig) pass(d time.Duration) { <-time.After(d) }

// away lets time pass while nobody has the rig's file open, and opens it again: who has it open looks at its bell twice
// a second, five million times in a month.
func (r *rig) away(w *sqlite.World, path string, d time.Duration) *sqlite.World {
	r.Helper()
	if err := w.Close(); err != nil {
		r.Fatal(err)
	}
	r.pass(d)
	w = openFile(r.T, path)
	r.world = w
	return w
}

// at lets time pass until so long after a moment.
func (r *rig) at(from time.Time, d time.Duration) { r.pass(d - time.Since(from)) }

// until polls for a condition that something else brings about.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	begun := time.Now()
	deadline, longest := begun.Add(2*time.Minute), 50*time.Millisecond
	if begun.Year() < 2020 { // the time of a bubble, where waiting costs nothing and each look does
		longest = time.Second
	}
	for d := time.Millisecond; !cond(); d = min(2*d, longest) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		<-time.After(d)
	}
}

// start starts a run.
func start[In, Out any](r *rig, app *worker, wf *stepwell.Workflow[In, Out], in In, opts ...stepwell.StartOption) *stepwell.Run[Out] {
	r.Helper()
	run, err := wf.Start(r.ctx, app.App, in, opts...)
	if err != nil {
		r.Fatal(err)
	}
	return run
}

// want waits for a run's result.
func want[Out any](r *rig, run *stepwell.Run[Out], want Out) {
	r.Helper()
	got, err := run.Result(r.ctx)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		r.dump(run.ID())
		r.Fatalf("result: %v, want -, got +:\n%s", err, diff)
	}
}

// wantErr waits for a run's end, which is not a success.
func wantErr[Out any](r *rig, run *stepwell.Run[Out], status world.Status) *stepwell.RunError {
	r.Helper()
	out, err := run.Result(r.ctx)
	e, ok := errors.AsType[*stepwell.RunError](err)
	if !ok || e.Cancelled != (status == world.Cancelled) {
		r.dump(run.ID())
		r.Fatalf("result = %v, %v, want a run that %s", out, err, status)
	}
	return e
}

func (r *rig) get(run string) stepwell.RunInfo {
	r.Helper()
	info, err := r.client().Get(r.ctx, run)
	if err != nil {
		r.Fatal(err)
	}
	return info
}

// blocked waits until a run is blocked and says why.
func (r *rig) blocked(run string) *world.Block {
	r.Helper()
	var b *world.Block
	until(r, "the run to be blocked", func() bool {
		row := r.get(run)
		if row.Queue == nil {
			r.dump(run)
			r.Fatalf("run is %s, want it to be blocked", row.Status)
		}
		b = row.Queue.Blocked
		return b != nil
	})
	return b
}

// events are a run's, all or of some types.
func (r *rig) events(run string, types ...world.EventType) []world.Event {
	r.Helper()
	return eventsOf(r.T, r.world, run, types...)
}

func eventsOf(t testing.TB, w world.World, run string, types ...world.EventType) (list []world.Event) {
	t.Helper()
	for cursor := ""; ; {
		page, err := w.Events(context.Background(), run, world.EventQuery{Cursor: cursor, Types: types})
		if err != nil {
			t.Fatal(err)
		}
		list, cursor = append(list, page.Events...), page.Cursor
		if !page.More {
			return list
		}
	}
}

// count is how many events of a type, about something of a name ("": anything), a run has.
func (r *rig) count(run string, typ world.EventType, name string) (n int) {
	r.Helper()
	named := map[string]bool{}
	for _, e := range r.events(run) {
		if e.Name == name {
			named[e.ID] = true
		}
		if e.Type == typ && (name == "" || e.Name == name || named[e.ID]) {
			n++
		}
	}
	return n
}

// commits counts the commits that wrote a run's log.
func commits(t testing.TB, w world.World, run string) int {
	t.Helper()
	j := journal.New(run, false)
	j.Add(eventsOf(t, w, run)...)
	return j.Commits
}

// dump shows a run's log.
func (r *rig) dump(run string) {
	r.Helper()
	for _, e := range r.events(run) {
		at := e.Time.Format("15:04:05.000")
		r.Log(e.Seq, e.Commit, at, e.Type, e.Name, e.Attempt, string(e.Payload), e.Error)
	}
	row := r.get(run)
	b, _ := json.Marshal(row.Queue)
	r.Log(row.Status, "claims", row.Claims, "queue", string(b))
}

// replays evaluates a run that is over again from its log, in another world and by another App: it must come to the same end with no step run.
func (r *rig) replays(run string, defs ...stepwell.Definition) {
	r.Helper()
	events := r.events(run)
	last := events[len(events)-1]
	if !last.Type.Terminal() {
		r.Fatalf("run %s is not over", run)
	}
	w := memory.New()
	forge(r, w, run, events[:len(events)-1])
	second := begin(r.T, w, stepwell.Config{Definitions: defs, CacheRuns: -1, Strict: true})
	synctest.Wait() // until it has taken the run and has nothing more to do
	second.stop(r.T)
	again := eventsOf(r.T, w, run)
	if n := len(again); n != len(events) {
		r.dump(run)
		for _, e := range again[min(len(events)-1, n):] {
			r.Log("replayed:", e.Seq, e.Type, e.Name, e.Error)
		}
		row, err := w.Run(r.ctx, run)
		if err == nil && row.Queue != nil {
			r.Log("replayed:", row.Status, row.Queue.Blocked)
		}
		r.Fatalf("replayed log has %d events, want %d", n, len(events))
	}
	end := again[len(again)-1]
	type outcome struct {
		Type    world.EventType
		Payload string
		Error   *world.Error
	}
	if diff := cmp.Diff(outcome{last.Type, string(last.Payload), last.Error}, outcome{end.Type, string(end.Payload), end.Error}); diff != "" {
		r.Errorf("replayed end (live -, replayed +):\n%s", diff)
	}
}

// forge writes a log into another world, as if its worker had ended there.
func forge(r *rig, w world.World, run string, events []world.Event) {
	r.Helper()
	id := world.NewID(world.PrefixWorker, time.Now())
	b, err := w.Join(r.ctx, world.Worker{ID: id, Name: "forge"})
	if err != nil {
		r.Fatal(err)
	}
	c := &world.Commit{ID: [16]byte{1}, Run: run, Worker: id, Claim: 1, First: 1, Release: &world.Release{WakeAt: b.Now}}
	for _, e := range events {
		e.Commit, e.Build = 0, ""
		c.Events = append(c.Events, e)
	}
	if _, err := w.Commit(r.ctx, c); err != nil {
		r.Fatal(fmt.Errorf("forge: %w", err))
	}
	if err := w.Leave(r.ctx, id); err != nil {
		r.Fatal(err)
	}
}

// defining are options of a step for its definition.
func defining(opts []stepwell.StepOption) (all []stepwell.StepDefinitionOption) {
	for _, o := range opts {
		all = append(all, o)
	}
	return all
}
