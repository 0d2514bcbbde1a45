package rules_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var at = time.UnixMicro(1)

func event(t world.EventType, id string, with ...func(*world.Event)) world.Event {
	e := world.Event{Type: t, ID: id, Time: at}
	for _, f := range with {
		f(&e)
	}
	return e
}

func hook(id, token string) world.Event {
	return event(world.HookCreated, id, func(e *world.Event) {
		e.Name, e.Path, e.Occurrence, e.Token, e.Payload = "h", "p", 2, token, []byte(`1`)
	})
}

func step(kind world.Kind, id, peer string) world.Event {
	return event(world.StepCreated, id, func(e *world.Event) { e.Kind, e.Peer = kind, peer })
}

func conflict(id, token, holder string) world.Event {
	return event(world.HookConflict, id, func(e *world.Event) { e.Name, e.Path, e.Occurrence, e.Token, e.Peer = "h", "p", 2, token, holder })
}

func failed(id, code, message string) world.Event {
	return event(world.StepFailed, id, func(e *world.Event) { e.Error = &world.Error{Code: code, Message: message, Permanent: true} })
}

func birth(id, workflow, key string) *world.Commit {
	return &world.Commit{Run: id, Events: []world.Event{event(world.RunCreated, "", func(e *world.Event) {
		e.Birth = &world.Birth{Workflow: workflow, Key: key}
	})}}
}

func TestTokens(t *testing.T) {
	disposed := event(world.HookDisposed, "h1")
	segment := func(kept ...string) world.Event {
		return event(world.RunContinued, "", func(e *world.Event) { e.Next = &world.Continuation{Hooks: kept} })
	}
	mine, others := rules.Holder{Run: "r", Hook: "h1"}, rules.Holder{Run: "o", Hook: "h1"}
	for name, test := range map[string]struct {
		events  []world.Event
		holder  rules.Holder // of "t"; zero: nobody
		without bool         // a condition about the last event
		want    world.Event  // in the place of the last
		err     error
	}{
		"free":                                 {events: []world.Event{hook("h2", "t")}, want: hook("h2", "t")},
		"another has it":                       {events: []world.Event{hook("h2", "t")}, holder: others, want: conflict("h2", "t", "o")},
		"another has it, and no condition":     {events: []world.Event{hook("h2", "t")}, holder: others, without: true, err: world.ErrConflict},
		"the run has it":                       {events: []world.Event{hook("h2", "t")}, holder: mine, want: conflict("h2", "t", "r")},
		"the run gives it up":                  {events: []world.Event{disposed, hook("h2", "t")}, holder: mine, want: hook("h2", "t")},
		"the run gives up another's ID":        {events: []world.Event{disposed, hook("h2", "t")}, holder: others, want: conflict("h2", "t", "o")},
		"a segment without it":                 {events: []world.Event{segment(), hook("h2", "t")}, holder: mine, want: hook("h2", "t")},
		"a segment that keeps it":              {events: []world.Event{segment("h1"), hook("h2", "t")}, holder: mine, want: conflict("h2", "t", "r")},
		"taken in the commit":                  {events: []world.Event{hook("h1", "t"), hook("h2", "t")}, want: conflict("h2", "t", "r")},
		"taken and given up in the commit":     {events: []world.Event{hook("h1", "t"), disposed, hook("h2", "t")}, want: hook("h2", "t")},
		"taken and over with the segment":      {events: []world.Event{hook("h1", "t"), segment(), hook("h2", "t")}, want: hook("h2", "t")},
		"given up, and taken again":            {events: []world.Event{disposed, hook("h3", "t"), hook("h2", "t")}, holder: mine, want: conflict("h2", "t", "r")},
		"another token is another's":           {events: []world.Event{hook("h2", "u")}, holder: others, want: hook("h2", "u")},
		"given up only behind the new hook":    {events: []world.Event{disposed, hook("h0", "u"), hook("h2", "t")}, holder: mine, want: hook("h2", "t")},
		"refused at a birth, where one has it": {events: []world.Event{event(world.RunCreated, ""), hook("h2", "t")}, holder: others, want: conflict("h2", "t", "o")},
	} {
		t.Run(name, func(t *testing.T) {
			last := len(test.events) - 1
			c := &world.Commit{Run: "r", Events: test.events}
			if !test.without {
				c.Conditions = []world.Condition{{Event: last}}
			}
			sent := cmp.Diff(nil, test.events)
			f := &rules.Facts{Holders: map[string]rules.Holder{}}
			if test.holder.Run != "" {
				f.Holders["t"] = test.holder
			}
			p, err := rules.Settle(c, f)
			if !errors.Is(err, test.err) || test.err == nil && err != nil {
				t.Fatalf("got %v, want %v", err, test.err)
			}
			if got := cmp.Diff(nil, c.Events); got != sent {
				t.Errorf("the commit's own events were changed: %s", got)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(test.want, p.Events[last]); diff != "" {
				t.Error(diff)
			}
			if changed := test.want.Type == world.HookConflict; p.Changed != changed || len(p.Events) != last+1 {
				t.Errorf("changed: %t, %d events; want %t, %d", p.Changed, len(p.Events), changed, last+1)
			}
		})
	}
}

func TestBirths(t *testing.T) {
	for name, test := range map[string]struct {
		births   []*world.Commit
		conflict []rules.Conflict
		without  bool     // conditions
		want     []string // IDs of those that are created
		failed   []string // steps
		err      error
	}{
		"free":                         {births: []*world.Commit{birth("a", "w", "k")}, conflict: []rules.Conflict{rules.Free}, want: []string{"a"}},
		"the ID is taken":              {births: []*world.Commit{birth("a", "w", "")}, conflict: []rules.Conflict{rules.SameID}, failed: []string{"s0"}},
		"the key is taken":             {births: []*world.Commit{birth("a", "w", "k")}, conflict: []rules.Conflict{rules.SameKey}, failed: []string{"s0"}},
		"taken, and no condition":      {births: []*world.Commit{birth("a", "w", "")}, conflict: []rules.Conflict{rules.SameID}, without: true, err: world.ErrRunExists},
		"the key, and no condition":    {births: []*world.Commit{birth("a", "w", "k")}, conflict: []rules.Conflict{rules.SameKey}, without: true, err: world.ErrRunExists},
		"its parent's ID":              {births: []*world.Commit{birth("r", "w", "")}, conflict: []rules.Conflict{rules.Free}, failed: []string{"s0"}},
		"a sibling's ID":               {births: []*world.Commit{birth("a", "w", ""), birth("a", "v", "")}, conflict: make([]rules.Conflict, 2), want: []string{"a"}, failed: []string{"s1"}},
		"a sibling's key":              {births: []*world.Commit{birth("a", "w", "k"), birth("b", "w", "k")}, conflict: make([]rules.Conflict, 2), want: []string{"a"}, failed: []string{"s1"}},
		"no keys are not alike":        {births: []*world.Commit{birth("a", "w", ""), birth("b", "w", "")}, conflict: make([]rules.Conflict, 2), want: []string{"a", "b"}},
		"a key of another workflow's":  {births: []*world.Commit{birth("a", "w", "k"), birth("b", "v", "k")}, conflict: make([]rules.Conflict, 2), want: []string{"a", "b"}},
		"the first of two is left out": {births: []*world.Commit{birth("a", "w", ""), birth("b", "w", "")}, conflict: []rules.Conflict{rules.SameID, rules.Free}, want: []string{"b"}, failed: []string{"s0"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &world.Commit{Run: "r", Births: test.births}
			for i, b := range test.births {
				c.Events = append(c.Events, step(world.KindChild, "s"+string(rune('0'+i)), b.Run))
				if !test.without {
					c.Conditions = append(c.Conditions, world.Condition{Event: i, Birth: i})
				}
			}
			p, err := rules.Settle(c, &rules.Facts{Births: test.conflict})
			if !errors.Is(err, test.err) || test.err == nil && err != nil {
				t.Fatalf("got %v, want %v", err, test.err)
			}
			if err != nil {
				return
			}
			var created, answered []string
			for _, b := range p.Births {
				created = append(created, b.Run)
			}
			for _, e := range p.Events[len(c.Events):] {
				if e.Type != world.StepFailed || e.Error.Code != world.CodeRunExists || !e.Error.Permanent || !e.Time.Equal(at) {
					t.Errorf("got %+v, want step_failed with %s", e, world.CodeRunExists)
				}
				answered = append(answered, e.ID)
			}
			if diff := cmp.Diff([][]string{test.want, test.failed}, [][]string{created, answered}); diff != "" || p.Changed != (len(answered) > 0) {
				t.Errorf("changed: %t\n%s", p.Changed, diff)
			}
		})
	}
}

func TestAwaits(t *testing.T) {
	ended := func(e world.Event) rules.Target { return rules.Target{End: &e} }
	damage := errors.Join(errors.New("row 3"), world.ErrCorrupt)
	for name, test := range map[string]struct {
		target rules.Target
		live   bool
		want   world.Event
	}{
		"live":      {target: rules.Target{Live: true}, live: true},
		"unknown":   {want: failed("s", world.CodeNotFound, "run o is unknown")},
		"damaged":   {target: rules.Target{Damage: damage}, want: failed("s", world.CodeCorrupt, damage.Error())},
		"completed": {target: ended(event(world.RunCompleted, "", func(e *world.Event) { e.Payload = []byte(`7`) })), want: event(world.StepCompleted, "s", func(e *world.Event) { e.Payload = []byte(`7`) })},
		"cancelled": {target: ended(event(world.RunCancelled, "")), want: failed("s", world.CodeCancelled, "the run was cancelled")},
	} {
		t.Run(name, func(t *testing.T) {
			c := &world.Commit{Run: "r", Events: []world.Event{step(world.KindAwait, "s", "o")}, Conditions: []world.Condition{{}}}
			if q, asks := rules.Ask(c); !asks || !cmp.Equal(q, rules.Questions{Runs: []string{"o"}}) {
				t.Errorf("got %+v, want a question about run o", q)
			}
			p, err := rules.Settle(c, &rules.Facts{Targets: map[string]rules.Target{"o": test.target}})
			if err != nil {
				t.Fatal(err)
			}
			want := rules.Plan{Events: append(c.Events, test.want), Changed: true}
			if test.live {
				want = rules.Plan{Events: c.Events, Awaits: []world.Await{{Step: "s", Run: "o"}}}
			}
			if diff := cmp.Diff(want, p); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSends: a step that sends is told whether that arrives at the very run, and not what took its place.
func TestSends(t *testing.T) {
	end := event(world.RunCompleted, "")
	for name, test := range map[string]struct {
		target rules.Target
		want   world.Event
	}{
		"live":      {rules.Target{Live: true}, event(world.StepCompleted, "s")},
		"unknown":   {rules.Target{}, failed("s", world.CodeNotFound, "run o is unknown")},
		"over":      {rules.Target{End: &end}, failed("s", world.CodeRunOver, "run o is over")},
		"damaged":   {rules.Target{Damage: world.ErrCorrupt}, failed("s", world.CodeRunOver, "run o is over")},
		"succeeded": {rules.Target{Run: "o2", Live: true}, failed("s", world.CodeRunOver, "run o is over")},
	} {
		t.Run(name, func(t *testing.T) {
			c := &world.Commit{Run: "r", Events: []world.Event{step(world.KindSend, "s", "o")}, Conditions: []world.Condition{{}}}
			if q, asks := rules.Ask(c); !asks || !cmp.Equal(q, rules.Questions{Runs: []string{"o"}}) {
				t.Errorf("got %+v, want a question about run o", q)
			}
			p, err := rules.Settle(c, &rules.Facts{Targets: map[string]rules.Target{"o": test.target}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(rules.Plan{Events: append(c.Events, test.want), Changed: true}, p); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAnswersInOrder: answers come behind all events, in the order of what asked, whatever the order of conditions.
func TestAnswersInOrder(t *testing.T) {
	c := &world.Commit{
		Run: "r", Events: []world.Event{step(world.KindAwait, "s0", "o"), step(world.KindChild, "s1", "a")}, Births: []*world.Commit{birth("a", "w", "")},
		Conditions: []world.Condition{{Event: 1}, {Event: 0}},
	}
	p, err := rules.Settle(c, &rules.Facts{Births: []rules.Conflict{rules.SameID}})
	if err != nil || len(p.Events) != 4 || p.Events[2].ID != "s0" || p.Events[3].ID != "s1" || len(c.Events) != 2 {
		t.Errorf("got %v, %+v", err, p.Events)
	}
}

func TestEnded(t *testing.T) {
	end := event(world.RunCompleted, "")
	for _, err := range []error{nil, world.ErrCorrupt, world.ErrFormat, world.ErrClosed} {
		got, failed := rules.Ended(end, err)
		damaged := err != nil && err != world.ErrClosed
		if got.Live || (got.Damage != nil) != damaged || !damaged && !errors.Is(failed, err) || damaged && failed != nil {
			t.Errorf("%v: got %+v, %v", err, got, failed)
		}
	}
}

// TestAskNothing: a commit that depends on nobody costs nothing.
func TestAskNothing(t *testing.T) {
	c := &world.Commit{Run: "r", Events: []world.Event{step(world.KindClosure, "s", ""), event(world.StepCompleted, "s")}}
	if n := testing.AllocsPerRun(10, func() {
		if _, asks := rules.Ask(c); asks {
			t.Error("asks")
		}
	}); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}
