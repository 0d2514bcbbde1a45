package behaviour_test

// This file has clients of some simulations start runs that are merged, by a debounce and by batches. Half of these
// simulations have nothing else to do, and there the host's clock steps.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// The workflows whose starts are merged.
const simBatch, simDebounce = "sim-batch", "sim-debounce"

// simGather is what is merged in a simulation.
type simGather struct {
	Number  int           `json:"number"` // of a batch
	Wait    time.Duration `json:"wait"`   // of a batch
	Quiet   time.Duration `json:"quiet"`
	Longest time.Duration `json:"longest"`
	TTL     time.Duration `json:"ttl,omitempty"` // in which such a run is to begin; 0: none
	Feeds   [][]simFeed   `json:"feeds"`         // of one client each, who waits for each answer
	Holds   []simHold     `json:"holds,omitempty"`
	Steps   []simClockSet `json:"steps,omitempty"` // of the host's clock
}

// simFeed is one start. With an idempotency key it is made until it is answered, else once.
type simFeed struct {
	After    time.Duration `json:"after"` // the answer to the one before
	Workflow string        `json:"workflow"`
	Items    []simItem     `json:"items"` // of a batch; else one
	Idem     string        `json:"idem,omitempty"`
}

// simHold is a workflow that is held for some time.
type simHold struct {
	Workflow string        `json:"workflow"`
	At       time.Duration `json:"at"`
	For      time.Duration `json:"for"`
}

// simClockSet is when the host's clock steps, and by how much.
type simClockSet struct{ At, By time.Duration }

// simItem is an input of a start.
type simItem struct {
	N     int           `json:"n"` // no other has it
	Key   string        `json:"key"`
	Lasts time.Duration `json:"lasts,omitempty"` // of its work
	Fails int           `json:"fails,omitempty"` // attempts that fail first; below 0: its run fails
}

// simGathers reports whether starts are merged in a simulation, and whether nothing else happens.
func simGathers(seed uint64) (is, alone bool) { return seed%4 == 0, seed%8 == 0 }

// gathers makes the plan of that. It draws from numbers of its own, so that the rest of the plan is as it was.
func (p *simPlan) gathers(seed uint64) {
	is, alone := simGathers(seed)
	if !is {
		return
	}
	rnd := rand.New(rand.NewPCG(seed, 20))
	g := &simGen{Rand: rnd, seed: seed}
	of := &simGather{Number: 2 + rnd.IntN(4), Wait: time.Second + g.upTo(8*time.Second), Quiet: time.Second/2 + g.upTo(3*time.Second)}
	of.Longest = of.Quiet + g.upTo(8*time.Second)
	if rnd.IntN(3) == 0 {
		of.TTL = time.Second + g.upTo(10*time.Second)
	}
	for range 2 + rnd.IntN(3) {
		var feeds []simFeed
		for range 4 + rnd.IntN(8) {
			feeds = append(feeds, g.feed(of))
		}
		of.Feeds = append(of.Feeds, feeds)
	}
	p.Gather = of
	if !alone {
		return
	}
	p.Runs, p.Deploy = nil, 0
	for range rnd.IntN(3) {
		of.Holds = append(of.Holds, simHold{[]string{simBatch, simDebounce}[rnd.IntN(2)], g.upTo(30 * time.Second), g.upTo(10 * time.Second)})
	}
	for range rnd.IntN(4) {
		by := time.Duration(1+rnd.IntN(60)) * time.Second
		if rnd.IntN(2) == 0 {
			by = -by
		}
		of.Steps = append(of.Steps, simClockSet{g.upTo(30 * time.Second), by})
	}
}

func (g *simGen) feed(of *simGather) simFeed {
	f := simFeed{After: g.upTo(4 * time.Second), Workflow: []string{simBatch, simDebounce}[g.IntN(2)]}
	if g.IntN(3) == 0 {
		f.After = 0
	}
	n, key := 1, fmt.Sprintf("key-%d", g.IntN(2))
	if f.Workflow == simBatch && g.IntN(3) == 0 {
		n = 1 + g.IntN(of.Number)
	}
	for range n {
		g.n++
		item := simItem{N: g.n, Key: key}
		if g.IntN(4) == 0 {
			item.Lasts = g.upTo(time.Second)
		}
		if g.IntN(8) == 0 {
			item.Fails = 1 - 2*g.IntN(2)
		}
		f.Items = append(f.Items, item)
	}
	if g.IntN(3) > 0 {
		f.Idem = fmt.Sprintf("start-%d", g.n)
	}
	return f
}

func (g *simGather) hasten(by time.Duration) {
	if g == nil {
		return
	}
	g.Wait, g.Quiet, g.Longest, g.TTL = g.Wait/by, g.Quiet/by, g.Longest/by, g.TTL/by
	for _, feeds := range g.Feeds {
		for i := range feeds {
			feeds[i].After /= by
			for j := range feeds[i].Items {
				feeds[i].Items[j].Lasts /= by
			}
		}
	}
	for i := range g.Holds {
		g.Holds[i].At, g.Holds[i].For = g.Holds[i].At/by, g.Holds[i].For/by
	}
}

// most is how long after its first input a run of a workflow begins at the latest.
func (g *simGather) most(workflow string) time.Duration {
	if workflow == simBatch {
		return g.Wait
	}
	return g.Longest
}

// gathered is the program of a run that has these inputs.
func gathered(items ...simItem) simNode {
	var ns []int
	n := simNode{Op: "step", Name: "gathered", Attempts: 3, Base: time.Second}
	p := simNode{Op: "seq", Name: "gathers"}
	for _, i := range items {
		ns, n.Lasts, n.Fails = append(ns, i.N), max(n.Lasts, i.Lasts), max(n.Fails, i.Fails)
		p.Fails = min(p.Fails, i.Fails)
	}
	if n.Value = mix(ns...); n.Value%3 == 0 {
		n.Op = "task"
	}
	p.Kids = []simNode{n}
	return p
}

// simGatherCode are the workflows whose starts are merged.
type simGatherCode struct {
	batch    *stepwell.Workflow[[]simItem, int]
	debounce *stepwell.Workflow[simItem, int]
}

func newSimGatherCode(c *simCode, g *simGather) simGatherCode {
	var all []stepwell.WorkflowOption
	if g.TTL > 0 {
		all = append(all, stepwell.StartTTL(g.TTL))
	}
	batch := func(ctx stepwell.Context, items []simItem) (int, error) { return c.main(ctx, gathered(items...)) }
	debounce := func(ctx stepwell.Context, i simItem) (int, error) { return c.main(ctx, gathered(i)) }
	return simGatherCode{
		stepwell.Define(simBatch, batch, append(all, stepwell.Batch{Key: stepwell.KeyOf(func(i simItem) string { return i.Key }), Size: g.Number, Wait: g.Wait})...),
		stepwell.Define(simDebounce, debounce, append(all, stepwell.Debounce{By: "key", Quiet: g.Quiet, Longest: g.Longest})...),
	}
}

// merging are the definitions of these, as who only starts has them.
func (s *simulation) merging(c *simCode) []stepwell.Definition {
	if s.plan.Gather == nil {
		return nil
	}
	code := newSimGatherCode(c, s.plan.Gather)
	return []stepwell.Definition{code.batch, code.debounce}
}

// simFed is a start, and its answer.
type simFed struct {
	*simFeed
	asked, answered int64 // the simulation's ticks, so that it is known what came before what
	tries           int
	run             string // "": it was not answered, and may have been done
	existed, merged bool
}

// feed makes the starts of the plan, holds workflows, and sets the clock.
func (s *simulation) feed(ctx context.Context) {
	g := s.plan.Gather
	if g == nil {
		return
	}
	for i, feeds := range g.Feeds {
		s.creating.Add(1)
		rnd := rand.New(rand.NewPCG(s.seed, uint64(30+i)))
		s.others.Go(func() {
			defer s.creating.Add(-1)
			for i := range feeds {
				if !s.pass(ctx, feeds[i].After) {
					return
				}
				s.feedOne(ctx, &feeds[i], rnd)
			}
		})
	}
	for _, h := range g.Holds {
		s.creating.Add(1)
		s.others.Go(func() { defer s.creating.Add(-1); s.hold(ctx, h) })
	}
	if s.clock == nil {
		return
	}
	for _, c := range g.Steps {
		s.others.Go(func() {
			if s.pass(ctx, c.At) {
				s.acts.step(s, c.By)
			}
		})
	}
}

func (s *simulation) feedOne(ctx context.Context, f *simFeed, rnd *rand.Rand) {
	fed := &simFed{simFeed: f, asked: s.acts.tick()}
	typed := rnd.IntN(2) == 0
	code := newSimGatherCode(newSimCode(noBody, false), s.plan.Gather)
	do := func(app *stepwell.App) error {
		fed.tries++
		opts := []stepwell.StartOption{stepwell.Version(1)}
		if f.Idem != "" {
			opts = append(opts, stepwell.Key(f.Idem))
		}
		var input any = f.Items
		if f.Workflow == simDebounce {
			input = f.Items[0]
		}
		if !typed {
			text, err := json.Marshal(input)
			if err != nil {
				return err
			}
			return fed.told(app.Start(ctx, f.Workflow, text, opts...))
		}
		if f.Workflow == simDebounce {
			return fed.is(code.debounce.Start(ctx, app, f.Items[0], opts...))
		}
		if len(f.Items) == 1 {
			return fed.is(code.batch.Start(ctx, app, []simItem{f.Items[0]}, opts...))
		}
		return fed.is(code.batch.Start(ctx, app, f.Items, opts...))
	}
	if f.Idem != "" {
		_ = s.insist(ctx, rnd, do)
	} else {
		s.once(rnd, do)
	}
	fed.answered = s.acts.tick()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fed = append(s.fed, fed)
}

// once makes a start without a key: who does not know what became of it does not make it again.
func (s *simulation) once(rnd *rand.Rand, do func(*stepwell.App) error) {
	by := s.client(rnd)
	err := do(by)
	switch {
	case err == nil, errors.Is(err, world.ErrStorage), errors.Is(err, world.ErrUnknownOutcome), errors.Is(err, world.ErrClosed):
	case errors.Is(err, context.Canceled) && s.died(by):
	default:
		s.problem("a start got %v", err)
	}
}

func (f *simFed) told(r *stepwell.Run[json.RawMessage], err error) error {
	if err == nil {
		f.run, f.existed, f.merged = r.ID(), r.Existed(), r.Merged()
	}
	return err
}

func (f *simFed) is(r *stepwell.Run[int], err error) error {
	if err == nil {
		f.run, f.existed, f.merged = r.ID(), r.Existed(), r.Merged()
	}
	return err
}

// hold holds a workflow for some time. That it begins and ends is in the acts.
func (s *simulation) hold(ctx context.Context, h simHold) {
	if !s.pass(ctx, h.At) {
		return
	}
	app := s.outside()
	from := s.now()
	if err := app.Hold(ctx, h.Workflow, "a test"); err != nil {
		s.problem("hold: %v", err)
	}
	s.pass(ctx, h.For)
	if err := app.Release(context.WithoutCancel(ctx), h.Workflow); err != nil {
		s.problem("release: %v", err)
	}
	s.acts.hold(h.Workflow, simSpan{from, s.now()})
}

// now is the world's time.
func (s *simulation) now() time.Time {
	if s.haste == 1 {
		return s.below.Abilities().Timekeeper.Time()
	}
	return world.Now()
}

// attendGather has operators act on a run that gathers, while it does and behind that.
func (s *simulation) attendGather(ctx context.Context, r *world.Run) {
	items, err := itemsOf(r.Workflow, s.value(r.ID, r.Input, r.InputApart))
	if err != nil {
		s.problem("input of run %s: %v", r.ID, err)
		return
	}
	rnd := rand.New(rand.NewPCG(s.seed, uint64(1000+items[0].N)))
	s.operate(ctx, r.ID, rnd, r.Origin == nil, true, 2*s.plan.Gather.most(r.Workflow))
}

// itemsOf are the items in an input.
func itemsOf(workflow string, input []byte) (items []simItem, err error) {
	if workflow == simDebounce {
		items = make([]simItem, 1)
		return items, json.Unmarshal(input, &items[0])
	}
	if err := json.Unmarshal(input, &items); err != nil || len(items) == 0 {
		return nil, cmp.Or(err, errors.New("no items"))
	}
	return items, nil
}

// withDefinitions gives a client what it needs to start what is merged.
func (s *simulation) withDefinitions(cfg stepwell.Config) stepwell.Config {
	cfg.Definitions = s.merging(newSimCode(noBody, false))
	kit.Set(&cfg, kit.Overrides{Apart: s.apart()})
	return cfg
}

func jsonOf(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
