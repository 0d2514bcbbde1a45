package behaviour_test

// This file is the oracle of starts that are merged: a model of what gathers, by which each accepted input is in one
// run, in order, and the run begins at its time.
//
//  1. An input whose start was answered is in one run; another is in one at most. The run is that which the start
//     named, or one in whose place that is, and the start said truly whether it was merged.
//  2. A start that was answered before another was asked for is before it: in a run, and of the runs of a key.
//  3. A run gathers inputs of one workflow and key. While one does, none is begun beside it, unless the inputs do not
//     fit, it was woken, or is to be cancelled. A batch has its number at most.
//  4. It begins when it has its number, its time is over, others took its place, or it was woken: never sooner, and not
//     later than a death costs.
//  5. Its code has the inputs of its log: all of a batch, the last of a debounce. So has what is made of it.
//  6. A run that has not begun within its TTL never does, and is ended.

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// simActs is what was done to runs that gather, and to what they depend on. All times are the world's.
type simActs struct {
	mu     sync.Mutex
	ticks  int64
	asked  map[string][]simAsked // of runs
	holds  map[string][]simSpan  // of workflows
	leaps  []simSpan             // of the world's clock
	downs  []time.Time           // of workers, which died or lost their lease
	opened map[string]simOpened  // runs: their log says when they were asked for
}

// simAsked is an act of an operator, which may have been done from when it was asked for.
type simAsked struct {
	what string
	at   time.Time
}

// simOpened is when a run began to gather.
type simOpened struct {
	at   time.Time
	tick int64
}

const simWake, simCancel = "wake", "cancel"

type simSpan struct{ from, to time.Time }

func (a *simActs) tick() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ticks++
	return a.ticks
}

func (a *simActs) ask(s *simulation, run, what string) {
	at := s.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked == nil {
		a.asked = map[string][]simAsked{}
	}
	a.asked[run] = append(a.asked[run], simAsked{what, at})
}

func (a *simActs) hold(workflow string, during simSpan) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.holds == nil {
		a.holds = map[string][]simSpan{}
	}
	a.holds[workflow] = append(a.holds[workflow], during)
}

func (a *simActs) opens(s *simulation, run string) {
	at := s.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.opened == nil {
		a.opened = map[string]simOpened{}
	}
	if _, again := a.opened[run]; !again {
		a.ticks++
		a.opened[run] = simOpened{at, a.ticks}
	}
}

func (a *simActs) down(s *simulation) {
	at := s.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.downs = append(a.downs, at)
}

// step sets the host's clock. The world's leaps forward, or goes on as it did.
func (a *simActs) step(s *simulation, by time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := s.now()
	s.clock.Step(by)
	a.leaps = append(a.leaps, simSpan{before, s.now()})
}

// first is when something was asked for first; zero: never.
func (a *simActs) first(run, what string) (at time.Time) {
	for _, x := range a.asked[run] {
		if x.what == what && (at.IsZero() || x.at.Before(at)) {
			at = x.at
		}
	}
	return at
}

// passed is how long it took from one time to another, without the leaps in between.
func (a *simActs) passed(from, to time.Time) time.Duration {
	d := to.Sub(from)
	for _, l := range a.leaps {
		if since, until := later(l.from, from), sooner(l.to, to); until.After(since) {
			d -= until.Sub(since)
		}
	}
	return d
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func sooner(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// merges reports whether starts of its workflow are merged.
func (r *simRun) merges() bool { return r.Workflow == simBatch || r.Workflow == simDebounce }

// simArrival is an input in the log of a run.
type simArrival struct {
	at    time.Time
	name  string // the idempotency key of an input that came
	items []simItem
}

// arrivals are the inputs of a run's log: the first is that of its birth.
func arrivals(r *simRun) (all []simArrival, err error) {
	for i := range r.events {
		e := &r.events[i]
		if e.Type != world.RunCreated && e.Type != world.InputReceived {
			continue
		}
		items, err := itemsOf(r.Workflow, e.Payload)
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", e.Seq, err)
		}
		all = append(all, simArrival{e.Time, e.Name, items})
	}
	return all, nil
}

// inputOf is the model of what code gets.
func inputOf(workflow string, all []simArrival) (items []simItem) {
	for _, a := range all {
		if workflow == simDebounce {
			items = nil
		}
		items = append(items, a.items...)
	}
	return items
}

func (r *simRun) programOfInputs() (simNode, error) {
	all, err := arrivals(r)
	return gathered(inputOf(r.Workflow, all)...), err
}

// replay evaluates some of a run's log by the machine alone.
func (r *simRun) replay(events []world.Event) (*replay.Outcome, error) {
	c := newSimCode(noBody, false)
	if !r.merges() {
		return replayStrictly(c.wf, r.ID, events)
	}
	all, err := arrivals(r)
	if err != nil {
		return nil, err
	}
	events = slices.Clone(events)
	code, items := newSimGatherCode(c, r.gather), inputOf(r.Workflow, all)
	if r.Workflow == simDebounce {
		events[0].Payload = jsonOf(items[0])
		return replayStrictly(code.debounce, r.ID, events)
	}
	events[0].Payload = jsonOf(items)
	return replayStrictly(code.batch, r.ID, events)
}

// simBucket is a run that gathered.
type simBucket struct {
	*simRun
	key      string
	all      []simArrival
	opened   time.Time
	tick     int64     // of then
	settled  time.Time // when it began, or ended without that
	began    bool
	instead  *simBucket // took its place, while it may have gathered
	whole    bool       // it had its number from the start on
	n        int        // of inputs
	lastTime time.Time
}

// due is when it begins by its own inputs, of which those before a time count.
func (g *simGather) due(b *simBucket, before time.Time) time.Time {
	n, at := 0, b.all[0].at
	latest := at.Add(g.most(b.Workflow))
	for _, a := range b.all {
		if a.at.Before(before) {
			n, at = n+len(a.items), a.at
		}
	}
	switch {
	case b.Workflow == simDebounce:
		return sooner(at.Add(g.Quiet), latest)
	case n >= g.Number:
		return at
	}
	return latest
}

// distant is behind all times of a simulation.
var distant = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

func (s *simulation) checkGathers(runs map[string]*simRun, seen *simCoverage) {
	if s.plan.Gather == nil {
		return
	}
	buckets := map[string]*simBucket{} // by run
	keys := map[string][]*simBucket{}
	for _, r := range runs {
		if !r.merges() || r.Origin != nil {
			continue
		}
		b := s.bucketOf(r)
		if b == nil {
			return
		}
		buckets[r.ID] = b
		keys[r.Workflow+" "+b.key] = append(keys[r.Workflow+" "+b.key], b)
	}
	for _, all := range keys {
		slices.SortFunc(all, func(a, b *simBucket) int { return cmp.Compare(a.tick, b.tick) })
		s.checkBuckets(all, seen)
	}
	s.checkFed(runs, buckets, seen)
	for _, r := range runs {
		if r.merges() && r.Origin != nil {
			s.checkMade(r, buckets[rootOf(runs, r).ID], seen)
		}
	}
	s.seeActs(seen)
}

// bucketOf reads a run that gathered; nil: its log is no such run's.
func (s *simulation) bucketOf(r *simRun) *simBucket {
	g, problem := s.plan.Gather, s.under(r)
	want := world.Gather{Quiet: g.Quiet, Most: g.Longest}
	if r.Workflow == simBatch {
		want = world.Gather{Number: g.Number, Most: g.Wait}
	}
	all, err := arrivals(r)
	if err != nil {
		problem("%v", err)
		return nil
	}
	want.Key = all[0].items[0].Key
	if is := r.events[0].Birth.Gather; is == nil || *is != want {
		problem("it gathers %+v, want %+v", is, want)
		return nil
	}
	opened := s.acts.opened[r.ID]
	if s.haste > 1 { // in real time, that its birth was done is heard of later
		opened.at = all[0].at
	}
	b := &simBucket{simRun: r, opened: opened.at, tick: opened.tick, key: want.Key, all: all}
	if b.whole = r.Workflow == simBatch && len(all[0].items) == g.Number; !b.whole { // that may begin with its birth
		all[0].at = opened.at
	}
	for _, a := range all {
		b.n, b.lastTime = b.n+len(a.items), a.at
		for _, i := range a.items {
			if i.Key != b.key {
				problem("it gathers for key %s, and has input %d of key %s", b.key, i.N, i.Key)
			}
		}
	}
	for i := range r.events {
		e := &r.events[i]
		switch {
		case e.Type == world.RunStarted && b.settled.IsZero():
			b.settled, b.began = e.Time, true
		case e.Type.Terminal() && b.settled.IsZero():
			b.settled = e.Time
		case e.Type == world.InputReceived && !b.settled.IsZero():
			problem("event %d: an input came when it had begun, or was over", e.Seq)
		}
	}
	return b
}

// checkBuckets holds the runs of a key, oldest first, against the model.
func (s *simulation) checkBuckets(all []*simBucket, seen *simCoverage) {
	g := s.plan.Gather
	for i, b := range all {
		problem := s.under(b.simRun)
		if b.Workflow == simBatch && b.n > g.Number {
			problem("a batch of %d inputs, want %d at most", b.n, g.Number)
		}
		for _, a := range b.all[1:] {
			if due := g.due(b, a.at); !a.at.Before(due.Add(s.late)) {
				problem("an input came at %s, when it was to begin: %s", a.at, due)
			}
		}
		for _, next := range all[i+1:] {
			if next.whole { // it opens nothing, and asks for nothing that is open
				continue
			}
			s.checkBeside(b, next)
			if b.instead == nil && !next.opened.After(b.settled) {
				b.instead = next
			}
		}
		s.checkBegin(b, seen)
	}
}

// checkBeside: a run that is begun while another gathers finds no room there.
func (s *simulation) checkBeside(b, next *simBucket) {
	at, g := next.opened, s.plan.Gather
	if s.haste > 1 || b.whole || b.instead != nil || !at.Before(b.settled) {
		return // in real time, what is in two logs has no order
	}
	cancel, wake := s.acts.first(b.ID, simCancel), s.acts.first(b.ID, simWake)
	if !cancel.IsZero() && !at.Before(cancel) || !wake.IsZero() && !at.Before(wake) {
		return
	}
	n := 0
	for _, a := range b.all {
		if !a.at.After(at) {
			n += len(a.items)
		}
	}
	fits := b.Workflow == simDebounce || n+len(next.all[0].items) <= g.Number
	if fits && g.due(b, at).After(at) && g.due(b, at.Add(1)).After(at) {
		s.under(next.simRun)("it was begun at %s, when run %s gathered, which has room and begins at %s", at, b.ID, g.due(b, at))
	}
}

// What a run that is due may take to begin: until somebody looks who was not told, finds room, and his answers come,
// late or at the second time; and so much more for each worker that dies or loses its lease just before or meanwhile,
// until its lease has run out and another is there.
const (
	simDueWithin = 30 * time.Second
	simDownCosts = 30 * time.Second
)

// checkBegin: a run begins at its time.
func (s *simulation) checkBegin(b *simBucket, seen *simCoverage) {
	g, problem := s.plan.Gather, s.under(b.simRun)
	due := g.due(b, distant)
	wake := s.acts.first(b.ID, simWake)
	soonest := due
	what := map[string]string{simBatch: "batch in time", simDebounce: "debounce: quiet"}[b.Workflow]
	switch {
	case b.Workflow == simBatch && b.n == g.Number:
		what = "batch full"
	case b.Workflow == simDebounce && due.Before(b.lastTime.Add(g.Quiet)):
		what = "debounce: longest"
	}
	if b.instead != nil && b.instead.opened.Before(soonest) {
		soonest, due, what = b.instead.opened, b.instead.opened, "batch: another does not fit"
	}
	if !wake.IsZero() && wake.Before(soonest) {
		soonest, what = wake, "gathers: woken"
	}
	if b.began && b.settled.Before(soonest) {
		problem("it began at %s, and was due at %s", b.settled, soonest)
	}
	if b.began {
		seen.note(what)
	}
	if !b.began && !b.lapsed() {
		seen.note("gathers: cancelled")
	}
	if s.haste > 1 {
		return
	}
	if _, alone := simGathers(s.seed); !alone {
		return
	}
	ready := s.ready(b, due)
	if lapses := b.events[0].Birth.StartBy(b.CreatedAt); !lapses.IsZero() {
		ready = sooner(ready, lapses)
	}
	if late, most := s.acts.passed(ready, b.settled), s.mayLast(ready, b.settled); late > most {
		problem("it began, or ended, at %s, %s after it was due: want %s at most", b.settled, late, most)
	}
}

// checkLapse: a run that has not begun within its TTL never does, and is ended then.
func (s *simulation) checkLapse(r *simRun, seen *simCoverage) {
	by := r.events[0].Birth.StartBy(r.CreatedAt)
	if by.IsZero() || r.Origin != nil || r.log.end == nil {
		if r.lapsed() && by.IsZero() {
			s.under(r)("it was ended as it had not begun, and may begin whenever")
		}
		return
	}
	settled, began := r.log.end.Time, false
	for i := range r.events {
		if e := &r.events[i]; e.Type == world.RunStarted && !began {
			settled, began = e.Time, true
		}
	}
	late := s.acts.passed(by, settled)
	switch {
	case r.lapsed() && (began || settled.Before(by)):
		s.under(r)("it was ended at %s as it had not begun, which it had at %s, or could until %s", r.log.end.Time, settled, by)
	case began && !settled.Before(by):
		s.under(r)("it began at %s, and was to be ended at %s", settled, by)
	case s.haste == 1 && late > s.mayLast(by, settled):
		s.under(r)("it had not begun by %s, and was ended %s later", by, late)
	case r.lapsed():
		seen.note(map[bool]string{true: "gathers: not begun in time", false: "run not begun in time"}[r.merges()])
	}
}

// ready is when a run that is due could begin: it is neither paused, nor is its workflow held.
func (s *simulation) ready(b *simBucket, due time.Time) time.Time {
	spans := slices.Clone(s.acts.holds[b.Workflow])
	var pause time.Time
	for i := range b.events {
		switch e := &b.events[i]; e.Type {
		case world.RunPaused:
			pause = e.Time
		case world.RunResumed:
			spans = append(spans, simSpan{pause, e.Time})
			pause = time.Time{}
		}
	}
	if !pause.IsZero() { // a cancel has ended it
		spans = append(spans, simSpan{pause, b.settled})
	}
	slices.SortFunc(spans, func(a, b simSpan) int { return a.from.Compare(b.from) })
	for _, x := range spans {
		if !due.Before(x.from) && due.Before(x.to) {
			due = x.to
		}
	}
	return due
}

func (s *simulation) mayLast(from, to time.Time) time.Duration {
	most := simDueWithin
	for _, at := range s.acts.downs {
		if !at.After(to) && s.acts.passed(at, from) < simDownCosts {
			most += simDownCosts
		}
	}
	return most
}

// simPlace is where an item is.
type simPlace struct {
	*simBucket
	arrival, at int
}

// checkFed holds what the clients were told against the runs.
func (s *simulation) checkFed(runs map[string]*simRun, buckets map[string]*simBucket, seen *simCoverage) {
	places := map[int]simPlace{}
	for _, b := range buckets {
		at := 0
		for i, a := range b.all {
			for _, item := range a.items {
				if was, twice := places[item.N]; twice {
					s.problem("input %d is in run %s, and in run %s", item.N, was.ID, b.ID)
				}
				places[item.N] = simPlace{b, i, at}
				at++
			}
		}
	}
	given := 0
	var answered []*simFed
	for _, f := range s.fed {
		given += len(f.Items)
		for i, item := range f.Items {
			p, is := places[item.N]
			switch {
			case !is && f.run != "":
				s.problem("input %d is in no run, and its start was told run %s", item.N, f.run)
				return
			case !is:
			case p.key != item.Key || p.Workflow != f.Workflow || p.arrival != places[f.Items[0].N].arrival || p.at != places[f.Items[0].N].at+i:
				s.problem("input %d of a start with %+v is at %d of run %s", item.N, f.Items, p.at, p.ID)
			case f.run == "":
				seen.note("merged or begun, and not answered")
			}
		}
		if f.run != "" {
			answered = append(answered, f)
			s.checkAnswer(runs, f, places[f.Items[0].N], seen)
		}
	}
	if len(places) > given {
		s.problem("runs have %d inputs, %d were given", len(places), given)
	}
	for _, a := range answered {
		for _, b := range answered {
			if a.answered < b.asked && a.Workflow == b.Workflow && a.Items[0].Key == b.Items[0].Key {
				s.checkOrder(a, b, places[a.Items[0].N], places[b.Items[0].N])
			}
		}
	}
}

// checkAnswer: a start names the run that has its input, or what stands in that one's place, and says how it came
// there.
func (s *simulation) checkAnswer(runs map[string]*simRun, f *simFed, p simPlace, seen *simCoverage) {
	named := runs[f.run]
	if named == nil || rootOf(runs, named).ID != p.ID {
		s.problem("a start with %+v was told run %s, and its input is in run %s", f.Items, f.run, p.ID)
		return
	}
	if p.arrival > 0 && p.all[p.arrival].name != f.Idem {
		s.under(p.simRun)("input %d has key %q, want %q", f.Items[0].N, p.all[p.arrival].name, f.Idem)
	}
	opens, again := p.arrival == 0, f.Idem != "" && f.tries > 1
	switch {
	case f.merged && opens, !f.existed && !opens, f.merged && !f.existed, !again && f.merged == opens, !again && f.existed == opens:
		s.under(p.simRun)("a start with %+v was told that it existed: %v, merged: %v; its birth has the input: %v, after %d tries",
			f.Items, f.existed, f.merged, opens, f.tries)
	case f.merged:
		seen.note("merged")
	case again && f.existed && !opens:
		seen.note("merged before it was answered")
	case again && f.existed:
		seen.note("gathers before it was answered")
	}
}

// checkOrder: of two starts of a key the first came first. A batch that is whole asks for no room.
func (s *simulation) checkOrder(a, b *simFed, at, then simPlace) {
	switch {
	case at.ID == then.ID && at.at < then.at, at.whole || then.whole:
	case at.ID == then.ID:
		s.under(at.simRun)("input %d is before input %d, whose start was answered before", b.Items[0].N, a.Items[0].N)
	case at.opened.After(then.opened.Add(s.late)):
		s.problem("input %d is in run %s, which was begun after run %s of input %d, whose start came later",
			a.Items[0].N, at.ID, then.ID, b.Items[0].N)
	}
}

// rootOf is the run of which others were made.
func rootOf(runs map[string]*simRun, r *simRun) *simRun {
	for r.Origin != nil {
		r = runs[r.Origin.Run]
	}
	return r
}

// checkMade: what is made of a run has its input.
func (s *simulation) checkMade(r *simRun, from *simBucket, seen *simCoverage) {
	all, err := arrivals(r)
	if got, want := inputOf(r.Workflow, all), inputOf(r.Workflow, from.all); err != nil || !slices.Equal(got, want) {
		s.under(r)("it has %+v, %v, and run %s, of which it was made, %+v", got, err, from.ID, want)
	}
	if len(from.all) > 1 {
		seen.note("gathers: made again")
	}
}

func (s *simulation) seeActs(seen *simCoverage) {
	for _, l := range s.acts.leaps {
		if l.to.After(l.from) {
			seen.note("clock leapt")
		} else {
			seen.note("clock set back")
		}
	}
	if len(s.acts.holds) > 0 {
		seen.note("gathers: held")
	}
}
