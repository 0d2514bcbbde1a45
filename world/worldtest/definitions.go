// Definitions: what starters are told of workflows whose code they have not.

package worldtest

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// says is a definition.
func says(workflow string, version int, retention, timeout time.Duration) world.Definition {
	return world.Definition{Class: world.Class{Workflow: workflow, Version: version}, Said: world.Said{Retention: retention, Timeout: timeout}}
}

// defined is what the world tells of workflows.
func (r *rig) defined(workflows ...string) world.Defined {
	r.Helper()
	d, err := r.w.Defined(r.ctx, workflows)
	r.must(err, "defined")
	return d
}

var definitions = []check{
	{"what definitions say is kept", "a definition holds for every starter: what was published last counts, version by version", func(r *rig) {
		r.same(len(r.defined("greet").Definitions), 0, "definitions of what nobody has defined")
		define := func(all ...world.Definition) { r.must(r.w.Define(r.ctx, all), "define") }
		v1, v2, other := says("greet", 1, time.Hour, 0), says("greet", 2, -1, time.Second), says("order", 7, 0, 0)
		define()
		define(v2, other, v1)
		define(v2, v1)
		r.same(r.defined("greet").Definitions, []world.Definition{v1, v2}, "definitions of one workflow, in order")
		r.same(r.defined("order", "greet", "none").Definitions, []world.Definition{v1, v2, other}, "of three")
		r.same(len(r.defined().Definitions), 0, "of none")
		v2.Timeout = time.Minute
		define(v2)
		r.same(r.defined("greet").Definitions, []world.Definition{v1, v2}, "where one says something else by now")
		v2.Attributes = map[string]json.RawMessage{"tier": json.RawMessage(`1`), "team": json.RawMessage(`"a"`)}
		define(v2)
		r.same(r.defined("greet").Definitions, []world.Definition{v1, v2}, "with attributes")
		long := says("greet", 4, 0, 0)
		long.Attributes = map[string]json.RawMessage{"x": json.RawMessage(`"` + strings.Repeat("x", world.MaxAttributeBytes) + `"`)}
		r.refused(r.w.Define(r.ctx, []world.Definition{v1, long}), world.ErrTooLarge, "attributes that no run can have")
		for _, bad := range []world.Definition{says("", 1, 0, 0), says("a b", 1, 0, 0), says("greet", 0, 0, 0), says("greet", world.MaxVersion+1, 0, 0), says("greet", 3, 0, -1)} {
			r.refused(r.w.Define(r.ctx, []world.Definition{v1, bad}), world.ErrInvalid, "a bad definition")
		}
		r.same(r.defined("greet").Definitions, []world.Definition{v1, v2}, "behind what was refused")
	}},
	{"schemas are kept beside what definitions say", "doors hold what comes from outside against the schemas of a version that a live worker has", func(r *rig) {
		schemas := func(of world.Class) string {
			text, err := r.w.Schemas(r.ctx, of)
			r.must(err, "schemas")
			return string(text)
		}
		define := func(all ...world.Definition) { r.must(r.w.Define(r.ctx, all), "define") }
		v1, v2 := says("greet", 1, time.Hour, 0), says("greet", 2, 0, 0)
		r.same(schemas(v1.Class), "", "schemas of what nobody has defined")
		v1.Describe(jsonText(`{"input":{"properties":{"b":{},"a":{}}}}`))
		define(v1, v2)
		r.same(schemas(v1.Class), string(v1.Schemas), "schemas, with their order")
		r.same(schemas(v2.Class), "", "schemas of a version that has none")
		told := r.defined("greet").Definitions
		r.same(len(told), 2, "definitions")
		r.same(told[0].Print, world.PrintOf(v1.Schemas), "the print of schemas")
		r.same(told[1].Print, "", "the print where there are none")
		r.same(string(told[0].Schemas), "", "schemas among definitions")
		v1.Describe(jsonText(`{"input":{"type":"string"}}`))
		v2.Describe(jsonText(`{"output":{}}`))
		define(v1, v2)
		r.same(schemas(v1.Class)+schemas(v2.Class), string(v1.Schemas)+string(v2.Schemas), "schemas where versions say others by now")
		large, other, broken := v1, v1, v1
		large.Describe(jsonText(`"` + strings.Repeat("x", world.MaxSchemas) + `"`))
		other.Print = v2.Print
		broken.Describe(jsonText(`{`))
		for _, bad := range []world.Definition{large, other, broken} {
			r.refused(r.w.Define(r.ctx, []world.Definition{bad}), world.ErrInvalid, "bad schemas")
		}
		v1.Describe(nil)
		define(v1)
		r.same(schemas(v1.Class), "", "schemas where a version says none any more")
	}},
	{"a worker says what its definitions say with its registration, or nothing", "no starter sees a worker without what its versions say; one that is refused does not hold", func(r *rig) {
		v1, v2 := says("greet", 1, time.Hour, 0), says("greet", 2, -1, time.Second)
		v1.Describe(jsonText(`{"input":{"type":"string"}}`))
		wk := world.Worker{
			ID: world.NewID(world.PrefixWorker, world.Now()), Name: "a", Classes: []world.Class{v1.Class, v2.Class},
			Definitions: []world.Definition{v1, v2}, MaxRetention: 48 * time.Hour,
		}
		_, err := r.w.Join(r.ctx, wk)
		r.must(err, "join")
		told := r.defined("greet")
		r.same(len(told.Definitions), 2, "definitions")
		r.same([]world.Said{told.Definitions[0].Said, told.Definitions[1].Said}, []world.Said{v1.Said, v2.Said}, "what they say")
		r.same(told.Live, wk.Classes, "what it has")
		r.same(told.Retention, 48*time.Hour, "the limit")
		text, err := r.w.Schemas(r.ctx, v1.Class)
		r.must(err, "schemas")
		r.same(string(text), string(v1.Schemas), "schemas")
		other := wk
		other.Definitions, other.MaxRetention = []world.Definition{says("greet", 1, time.Minute, 0), says("order", 1, 0, 0)}, time.Hour
		_, err = r.w.Join(r.ctx, other)
		if !r.over || err != nil { // one that comes again through a server is answered as it was at first
			r.refused(err, world.ErrConflict, "a worker that has joined")
		}
		r.same(r.defined("greet", "order"), told, "behind one that was refused")
		other.ID = world.NewID(world.PrefixWorker, world.Now())
		other.Definitions = append(other.Definitions, says("greet", 0, 0, 0))
		_, err = r.w.Join(r.ctx, other)
		r.refused(err, world.ErrInvalid, "a worker with a bad definition")
		r.same(r.defined("greet", "order"), told, "behind a bad definition")
		other.Definitions, other.MaxRetention = other.Definitions[:2], 72*time.Hour
		_, err = r.w.Join(r.ctx, other)
		r.must(err, "join")
		r.same(r.defined("greet").Definitions[0].Said, other.Definitions[0].Said, "what who joined last says")
		r.same(r.defined().Retention, 48*time.Hour, "the limit, which nobody raises so")
		stats, err := r.w.Stats(r.ctx)
		r.must(err, "stats")
		for _, row := range stats.Workers {
			r.same(len(row.Definitions), 0, "definitions of listed workers")
		}
	}},
	{"who has said what definitions say is told, and whether it is gone", "a live worker says again what one that is gone has said otherwise", func(r *rig) {
		class := world.Class{Workflow: "greet", Version: 1}
		join := func(retention time.Duration) string {
			id := world.NewID(world.PrefixWorker, world.Now())
			_, err := r.w.Join(r.ctx, world.Worker{ID: id, Name: id, Classes: []world.Class{class}, Definitions: []world.Definition{says("greet", 1, retention, 0)}})
			r.must(err, "join")
			return id
		}
		is := func(retention time.Duration, by string, gone bool) {
			r.Helper()
			want := says("greet", 1, retention, 0)
			want.By, want.Gone = by, gone
			r.same(r.defined("greet").Definitions, []world.Definition{want}, "what is said, by whom, and whether that one is gone")
		}
		a := join(time.Hour)
		is(time.Hour, a, false)
		b := join(time.Hour)
		is(time.Hour, b, false)
		c := join(time.Minute)
		is(time.Minute, c, false)
		r.must(r.w.Leave(r.ctx, c), "leave")
		is(time.Minute, c, true)
		again := says("greet", 1, time.Hour, 0)
		again.By = a
		r.must(r.w.Define(r.ctx, []world.Definition{again}), "define")
		is(time.Hour, a, false)
		again.By = ""
		r.must(r.w.Define(r.ctx, []world.Definition{again}), "define what is said already, by nobody in particular")
		is(time.Hour, a, false)
		r.must(r.w.Leave(r.ctx, a), "leave")
		is(time.Hour, a, true)
	}},
	{"what live workers have is told", "a start by name gets the highest version that a live worker has", func(r *rig) {
		r.same(len(r.defined("greet").Live), 0, "versions where nobody is alive")
		join := func(lease time.Duration, classes ...world.Class) (string, time.Time) {
			id := world.NewID(world.PrefixWorker, world.Now())
			heartbeat, err := r.w.Join(r.ctx, world.Worker{ID: id, Name: id, Classes: classes, Lease: lease})
			r.must(err, "join")
			return id, heartbeat.Until
		}
		v1, v2 := world.Class{Workflow: "greet", Version: 1}, world.Class{Workflow: "greet", Version: 2}
		open, other := world.Class{Workflow: "greet"}, world.Class{Workflow: "order", Version: 3}
		join(time.Minute, v1, open)
		newer, _ := join(time.Minute, v2, v1, open, other)
		r.same(r.defined("greet").Live, []world.Class{v1, v2}, "versions that two workers have")
		r.same(r.defined("order", "greet").Live, []world.Class{v1, v2, other}, "of two workflows")
		r.must(r.w.Leave(r.ctx, newer), "leave")
		r.same(r.defined("greet").Live, []world.Class{v1}, "versions when one has left")
		died, _ := join(500*time.Millisecond, v2) // time for a claim over a network, on a busy machine
		r.createRun("greet", func(c *world.Birth) { c.Version = 2 })
		claimed, err := r.w.Claim(r.ctx, world.ClaimQuery{Worker: died, Classes: []world.Class{v2}, Runs: 1})
		r.must(err, "take")
		r.same(len(claimed.Runs), 1, "runs that a worker took that then died")
		r.until("the lease of a worker that died is over", func() bool { return len(r.defined("greet").Live) == 1 })
	}},
	{"who is alive for starters is alive for who lists workers", "a start by name gets the highest version that a live worker has, also when none had anything to do for hours", func(r *rig) {
		v1, v2 := world.Class{Workflow: "greet", Version: 1}, world.Class{Workflow: "greet", Version: 2}
		var over time.Time
		for _, class := range []world.Class{v1, v2} {
			id := world.NewID(world.PrefixWorker, world.Now())
			heartbeat, err := r.w.Join(r.ctx, world.Worker{ID: id, Name: id, Classes: []world.Class{class}, Lease: 50 * time.Millisecond})
			r.must(err, "join")
			over = heartbeat.Until
		}
		var stats world.Stats
		r.until("both leases are over", func() (is bool) {
			var err error
			stats, err = r.w.Stats(r.ctx)
			r.must(err, "stats")
			return stats.Now.After(over)
		})
		var alive []world.Class
		for _, wk := range stats.Workers {
			if wk.Until.After(stats.Now) {
				alive = append(alive, wk.Classes...)
			}
		}
		slices.SortFunc(alive, func(a, b world.Class) int { return a.Version - b.Version })
		r.same(r.defined("greet").Live, alive, "versions of those who are alive")
	}},
	{"the limit of retention is lowered, and raised on purpose", "the lowest limit holds for all, in whatever order programs say theirs", func(r *rig) {
		for _, c := range []struct {
			limit       time.Duration
			raise       bool
			before, now time.Duration
		}{
			{0, false, 0, 0},
			{-1, false, 0, -1},
			{48 * time.Hour, false, -1, 48 * time.Hour},
			{72 * time.Hour, false, 48 * time.Hour, 48 * time.Hour},
			{-1, false, 48 * time.Hour, 48 * time.Hour},
			{24 * time.Hour, false, 48 * time.Hour, 24 * time.Hour},
			{0, true, 24 * time.Hour, 24 * time.Hour},
			{72 * time.Hour, true, 24 * time.Hour, 72 * time.Hour},
			{time.Hour, true, 72 * time.Hour, time.Hour},
			{-7, true, time.Hour, -1},
		} {
			before, now, err := r.w.LimitRetention(r.ctx, c.limit, c.raise)
			r.must(err, "limit")
			r.same([]time.Duration{before, now}, []time.Duration{c.before, c.now}, "the limit before and behind "+c.limit.String())
			r.same(r.defined().Retention, c.now, "the limit as starters are told it")
		}
	}},
}
