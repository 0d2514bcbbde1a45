package behaviour_test

// This file holds a run that is three years old: it has lived through deploys with versions and patches, through two wrong ones that were rolled
// back, and through forty continuations.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

const (
	manyTerms = 41                  // segments
	aSeason   = 85 * 24 * time.Hour // of which thirteen are three years
	aQuarter  = 90 * 24 * time.Hour
	never     = 100 * 365 * 24 * time.Hour
)

// sleeps is how long the run sleeps in a segment: in each third one it is most of a season.
func sleeps(term int) time.Duration {
	if term%3 == 2 {
		return aSeason
	}
	return 100 * time.Millisecond
}

// subscription is what a segment of the old run hands to the next.
type subscription struct {
	Term  int           `json:"term"`
	Did   []string      `json:"did"`   // its steps
	Paid  []int         `json:"paid"`  // payloads
	Since time.Time     `json:"since"` // its first Now
	Slept time.Duration `json:"slept"` // by its own clock
	Until time.Time     `json:"until"` // its last Now
	Moved string        `json:"moved"` // a payload of its hook
}

// change is a step whose name changed, guarded by a patch; now is "" before that.
type change struct{ was, now string }

func (c change) name(ctx stepwell.Context) string {
	if c.now != "" && stepwell.Patched(ctx, c.was+" to "+c.now) {
		return c.now
	}
	return c.was
}

// settled is the name that code which comes by for the first time uses.
func (c change) settled() string {
	if c.now != "" {
		return c.now
	}
	return c.was
}

// edition is what one deploy has of the workflow: of each version its steps before and after the sleep.
type edition struct {
	build    string
	term     int // it is deployed while the run sleeps in that one
	versions map[int][2]change
	sleep    string // another name of the sleep
}

var (
	firstVersion  = [2]change{{"bill", "bill-with-tax"}, {"book", "enter"}}
	secondVersion = [2]change{{"invoice", "e-invoice"}, {"settle", "settle-online"}}
	thirdVersion  = [2]change{{"plan", "plan-yearly"}, {was: "renew"}}
)

// editions are the first deploy and the six that followed it.
var editions = []edition{
	{build: "first", versions: map[int][2]change{1: {{was: "bill"}, {was: "book"}}}},
	{build: "patch-1", term: 5, versions: map[int][2]change{1: firstVersion}},
	{build: "version-2", term: 11, versions: map[int][2]change{1: firstVersion, 2: {{was: "invoice"}, {was: "settle"}}}},
	{build: "patch-2", term: 14, versions: map[int][2]change{2: secondVersion}},
	{build: "version-3", term: 20, versions: map[int][2]change{2: secondVersion, 3: {{was: "plan"}, {was: "renew"}}}},
	{build: "patch-3", term: 26, versions: map[int][2]change{3: thirdVersion}},
	{build: "version-4", term: 32, versions: map[int][2]change{3: thirdVersion, 4: {{was: "plan-yearly"}, {was: "renew-by-mail"}}}},
}

// wrongDeploys change what the run that sleeps has recorded, without a guard. They are rolled back.
var wrongDeploys = []struct {
	edition
	asks string
}{
	{edition{build: "wrong-1", term: 17, versions: map[int][2]change{2: {{was: "invoice-pdf"}, {was: "settle"}}}}, `step "invoice-pdf"`},
	{edition{build: "wrong-2", term: 29, versions: map[int][2]change{3: thirdVersion}, sleep: "quarter"}, `sleep "quarter"`},
}

// TestARunThatIsThreeYearsOld: it ends right, with each step done once and each payload taken once; its clock is right, and it is kept while it lives and
// as long after its end as it was created to be. On SQLite no worker is there while it sleeps; in memory one always is.
func TestARunThatIsThreeYearsOld(t *testing.T) {
	for _, k := range kinds {
		for i, m := range modes[:2] {
			if i > 0 && k.name != "memory" {
				continue // a process that comes back each season has no cache then: both ways are in the one life
			}
			t.Run(k.name+"/"+m.name, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "runs.db")
				open := k.open
				if k.name == "sqlite" {
					open = func(t testing.TB) world.World { return openFile(t, path) }
				}
				bubble(t, open, m.set, func(r *rig) {
					r.ctx = r.Context() // years
					y := &years{rig: r, path: path, leaves: k.name == "sqlite", bodies: map[string]int{}}
					y.live()
				})
			})
		}
	}
}

// years is what happens to the run.
type years struct {
	*rig
	path   string // of the file
	leaves bool   // the worker's process is there only when there is something to do
	wk     *worker
	file   world.World // the worker's
	run    *stepwell.Run[subscription]

	mu     sync.Mutex
	bodies map[string]int // by term and step; guarded by mu
}

var payment = stepwell.Event[int]("payment")

// code is the workflow as an edition has it. Only the first says for how long runs are kept: what it said when the run was created counts.
func (y *years) code(ed edition) (all []*stepwell.Workflow[subscription, subscription]) {
	for v, steps := range ed.versions {
		kept := stepwell.Retention(time.Hour)
		if v == 1 {
			kept = stepwell.Retention(aQuarter)
		}
		all = append(all, stepwell.Define("subscription", func(ctx stepwell.Context, in subscription) (subscription, error) {
			return y.term(ctx, in, steps, ed.sleep)
		}, stepwell.Version(v), kept))
	}
	return all
}

// definitions are those of a worker.
func (y *years) definitions(ed edition) (defs []stepwell.Definition) {
	for _, wf := range y.code(ed) {
		defs = append(defs, wf)
	}
	return defs
}

// term is one segment.
func (y *years) term(ctx stepwell.Context, in subscription, steps [2]change, sleep string) (subscription, error) {
	if in.Since.IsZero() {
		in.Since = ctx.Now()
	}
	if sleep == "" {
		sleep = "season"
	}
	if err := stepwell.SetAttribute(ctx, "term", in.Term); err != nil {
		return in, err
	}
	door, err := stepwell.NewHook[string](ctx, stepwell.Token("subscriber"))
	if err != nil {
		return in, err
	}
	if err := y.step(ctx, &in, steps[0].name(ctx)); err != nil {
		return in, err
	}
	evening := ctx.Now()
	if err := stepwell.Sleep(ctx, sleep, sleeps(in.Term)); err != nil {
		return in, err
	}
	slept := ctx.Now().Sub(evening)
	if in.Slept += slept; slept < sleeps(in.Term) {
		return in, fmt.Errorf("term %d: it slept %s by its own clock, want %s at least", in.Term, slept, sleeps(in.Term))
	}
	if err := y.step(ctx, &in, steps[1].name(ctx)); err != nil {
		return in, err
	}
	sum, paid, err := payment.Wait(ctx, stepwell.Timeout(200*time.Millisecond))
	if err != nil {
		return in, err
	}
	if paid {
		in.Paid = append(in.Paid, sum)
	}
	if in.Term++; in.Term < manyTerms {
		return in, stepwell.ContinueAsNew(ctx, in)
	}
	in.Moved, _, err = door.Wait(ctx)
	in.Until = ctx.Now()
	return in, err
}

// step is a step that counts its bodies and holds the run's clock against the real one: nothing was in between.
func (y *years) step(ctx stepwell.Context, in *subscription, name string) error {
	in.Did = append(in.Did, name)
	term, now := in.Term, ctx.Now()
	return stepwell.Do(ctx, name, func(context.Context) error {
		if lag := time.Since(now); lag < 0 || lag > time.Second {
			return stepwell.Fatal(fmt.Errorf("term %d: Now is %s, %s behind the clock", term, now, lag))
		}
		y.mu.Lock()
		defer y.mu.Unlock()
		y.bodies[fmt.Sprint(term, " ", name)]++
		return nil
	})
}

// hire lets a worker with the code of an edition work, and no other.
func (y *years) hire(ed edition) {
	y.Helper()
	y.employ(ed.build, y.definitions(ed)...)
}

// employ begins a worker, on SQLite in a process of its own as far as the file can tell: what has the file open as a worker looks at it all the time.
// Nothing else that it does from time to time is done in years of virtual time.
func (y *years) employ(build string, defs ...stepwell.Definition) {
	y.Helper()
	y.dismiss()
	y.file = y.world
	if y.leaves {
		y.file = openFile(y, y.path)
	}
	cfg := stepwell.Config{Definitions: defs, Build: build, Lease: never, Poll: never, SweepInterval: -1}
	kit.Set(&cfg, kit.Overrides{Stall: never})
	y.mode(&cfg)
	y.wk = begin(y.T, y.file, cfg)
	synctest.Wait()
}

// dismiss ends the worker's process.
func (y *years) dismiss() {
	y.Helper()
	if y.wk == nil {
		return
	}
	y.wk.stop(y.T)
	if y.leaves {
		if err := y.file.Close(); err != nil {
			y.Error(err)
		}
	}
	y.wk = nil
}

// editionAt is what is deployed when a segment begins.
func editionAt(term int) (ed edition) {
	for _, e := range editions {
		if e.term < term || e.term == 0 {
			ed = e
		}
	}
	return ed
}

func (y *years) live() {
	client, err := stepwell.New(y.world, stepwell.Config{Name: "client", Build: "client"})
	if err != nil {
		y.Fatal(err)
	}
	y.brief()
	y.hire(editions[0])
	if y.run, err = y.code(editions[0])[0].Start(y.ctx, client, subscription{}, stepwell.RunID("old")); err != nil {
		y.Fatal(err)
	}
	for term := range manyTerms {
		if sleeps(term) == aSeason {
			y.asleep(term)
			y.passSeason(client, term)
		}
	}
	until(y, "its end", func() bool { return y.get("old").Status.Terminal() })
	y.ended()
	y.kept()
}

// brief is a run whose retention ends while the old one lives: the sweeper works.
func (y *years) brief() {
	y.Helper()
	wf := stepwell.Define("brief", func(stepwell.Context, int) (int, error) { return 1, nil })
	y.employ("brief", wf)
	want(y.rig, start(y.rig, y.wk, wf, 0, stepwell.Retention(time.Hour)), 1)
}

// asleep waits until the run sleeps for a season, and nobody has it.
func (y *years) asleep(term int) {
	y.Helper()
	until(y, fmt.Sprint("the sleep of term ", term), func() bool {
		info := y.get("old")
		q := info.Queue
		if q == nil || q.Blocked != nil {
			y.dump("old")
			y.Fatalf("term %d: the run is %s: %+v", term, info.Status, q)
		}
		return string(info.Attributes["term"]) == fmt.Sprint(term) && q.Owner == "" && time.Until(q.WakeAt) > aSeason/2
	})
}

// passSeason lets a season pass, with what happens in it.
func (y *years) passSeason(client *stepwell.App, term int) {
	y.Helper()
	next, deployed := editionAt(term+1), editionAt(term)
	crew, asks := next, ""
	for _, w := range wrongDeploys {
		if w.term == term {
			crew, asks = w.edition, w.asks
		}
	}
	if y.leaves {
		y.dismiss()
	}
	y.pass(aSeason - time.Hour)
	if !y.leaves && crew.build != deployed.build {
		y.hire(crew)
	}
	if term%12 == 5 { // one for this segment, one for the next
		for i := range 2 {
			if err := payment.Send(y.ctx, client, "old", 10*term+i); err != nil {
				y.Fatal(err)
			}
		}
	}
	if term == 8 {
		if err := client.SendHook(y.ctx, "subscriber", []byte(`"to Oslo"`)); err != nil {
			y.Fatal(err)
		}
	}
	if n, err := y.world.Sweep(y.ctx, 100); err != nil || n > 0 != (term == 2) {
		y.Errorf("term %d: %d runs are swept, %v; want the brief one, in the first season", term, n, err)
	}
	y.pass(time.Hour + time.Minute)
	if y.leaves {
		y.hire(crew)
	}
	if asks != "" {
		y.rollBack(next, crew, asks)
	}
}

// rollBack finds the run blocked by a wrong deploy, and deploys again what was there before.
func (y *years) rollBack(right, wrong edition, asks string) {
	y.Helper()
	b := y.blocked("old")
	for _, part := range []string{asks, "recorded by build " + right.build} {
		if b.Code != world.CodeDiverged || !strings.Contains(b.Message, part) || b.Build != wrong.build {
			y.Errorf("%s blocked it as %s by %s:\n%s\nwant %s by itself, with %q", wrong.build, b.Code, b.Build, b.Message, world.CodeDiverged, part)
		}
	}
	if !y.leaves {
		y.pass(time.Hour)
		if again := y.blocked("old"); again.Tries <= b.Tries || !again.Since.Equal(b.Since) {
			y.Errorf("an hour later it is blocked as %+v, want more tries than %d since %s", again, b.Tries, b.Since)
		}
	}
	y.hire(right)
	until(y, "the run to heal", func() bool { return y.get("old").Queue.Blocked == nil })
}

// wantedSteps is what the run must have done: in a segment with a deploy the old code before the sleep and the new one after it, in the version with
// which it began.
func wantedSteps() (did []string) {
	for term := range manyTerms {
		before, after := editionAt(term), editionAt(term+1)
		v := slices.Max(slices.Collect(maps.Keys(before.versions)))
		did = append(did, before.versions[v][0].settled(), after.versions[v][1].settled())
	}
	return did
}

// ended holds the run against all that happened.
func (y *years) ended() {
	y.Helper()
	got, err := y.run.Result(y.ctx)
	if err != nil {
		y.dump("old")
		y.Fatal(err)
	}
	var paid []int
	for term := 5; term < manyTerms; term += 12 {
		paid = append(paid, 10*term, 10*term+1)
	}
	if diff := cmp.Diff(wantedSteps(), got.Did); diff != "" {
		y.Errorf("its steps (want -, got +):\n%s", diff)
	}
	if diff := cmp.Diff(paid, got.Paid); diff != "" || got.Moved != "to Oslo" {
		y.Errorf("it got %q, and payments (want -, got +):\n%s", got.Moved, diff)
	}
	y.mu.Lock()
	for what, n := range y.bodies {
		if n != 1 {
			y.Errorf("body %s ran %d times, want once", what, n)
		}
	}
	if len(y.bodies) != 2*manyTerms {
		y.Errorf("%d bodies ran, want %d", len(y.bodies), 2*manyTerms)
	}
	y.mu.Unlock()
	y.clock(got)
	if n := y.count("old", world.RunContinued, ""); n != 40 {
		y.Errorf("%d continuations, want 40", n)
	}
	if v := y.get("old").Version; v != 4 {
		y.Errorf("it is version %d at its end, want 4", v)
	}
	var builds []string // that wrote its log
	for _, e := range y.events("old") {
		if e.Build != "" && !slices.Contains(builds, e.Build) {
			builds = append(builds, e.Build)
		}
	}
	right := []string{"client"}
	for _, ed := range editions {
		right = append(right, ed.build)
	}
	if diff := cmp.Diff(right, builds); diff != "" {
		y.Errorf("builds that wrote its log (want -, got +):\n%s", diff)
	}
	y.dismiss()
	y.replays("old", y.definitions(editions[len(editions)-1])...)
}

// clock holds the run's time against that of its log.
func (y *years) clock(got subscription) {
	y.Helper()
	var first, last time.Time // of what its code has seen
	for _, e := range y.events("old") {
		switch e.Type {
		case world.RunStarted:
			first = e.Time
		case world.RunContinued, world.StepCompleted, world.WaitCompleted, world.HookReceived, world.SignalReceived:
			last = e.Time
		}
	}
	if !got.Since.Equal(first) || !got.Until.Equal(last) {
		y.Errorf("Now went from %s to %s, want %s to %s", got.Since, got.Until, first, last)
	}
	if age := got.Until.Sub(got.Since); age < 3*365*24*time.Hour || got.Slept > age || age-got.Slept > time.Hour {
		y.Errorf("it is %s old and slept %s of that, want three years, most of them asleep", age, got.Slept)
	}
	if end := y.get("old").EndedAt; end.Before(got.Until) || end.Sub(got.Until) > time.Second {
		y.Errorf("it ended at %s, and its Now was %s then", end, got.Until)
	}
}

// kept: retention counts from the end, as it was when the run was created.
func (y *years) kept() {
	y.Helper()
	y.at(y.get("old").EndedAt, aQuarter-time.Minute)
	if n, err := y.world.Sweep(y.ctx, 100); n != 0 || err != nil {
		y.Errorf("a minute before its retention is over %d runs are swept, %v; want none", n, err)
	}
	y.pass(2 * time.Minute)
	if n, err := y.world.Sweep(y.ctx, 100); n != 1 || err != nil {
		y.Errorf("a minute after its retention is over %d runs are swept, %v; want one", n, err)
	}
	if _, err := y.client().Get(y.ctx, "old"); !errors.Is(err, stepwell.ErrNotFound) {
		y.Errorf("then it is %v, want it to be unknown", err)
	}
}
