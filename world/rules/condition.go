package rules

// Conditions: the parts of a commit whose content depends on what others have done, and the rest that only a world can check: tokens and
// the IDs of children.

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Questions are facts about others that [Settle] needs, besides whether the commit's births are
// possible.
type Questions struct {
	Tokens []string // tokens of new hooks
	Runs   []string // runs whose end a step awaits, or that a step sends to
}

// Ask returns the questions of a commit. asks is false if there are none and no births: then use
// [Unasked].
func Ask(c *world.Commit) (q Questions, asks bool) {
	for i := range c.Events {
		if e := &c.Events[i]; e.Type == world.HookCreated && !slices.Contains(q.Tokens, e.Token) {
			q.Tokens = append(q.Tokens, e.Token)
		}
	}
	for _, cond := range c.Conditions {
		if e := &c.Events[cond.Event]; (of(e, world.KindAwait) || of(e, world.KindSend)) && !slices.Contains(q.Runs, e.Peer) {
			q.Runs = append(q.Runs, e.Peer)
		}
	}
	for _, a := range c.Anew {
		if !slices.Contains(q.Runs, a.Run) {
			q.Runs = append(q.Runs, a.Run)
		}
	}
	return q, len(q.Tokens)+len(c.Births)+len(c.Conditions)+len(c.Anew) > 0
}

func of(e *world.Event, kind world.Kind) bool { return e.Type == world.StepCreated && e.Kind == kind }

// Facts are the answers to [Questions].
type Facts struct {
	Holders map[string]Holder // by token: active hooks
	Births  []Conflict        // one for each birth of the commit
	// Live: by index of a birth: the live run with its singleton's key that prevents it.
	Live    map[int]string
	Targets map[string]Target // by run ID: known runs
}

// Kept records the live run that prevents a birth.
func (f *Facts) Kept(birth int, live string) Conflict {
	if f.Live == nil {
		f.Live = make(map[int]string)
	}
	f.Live[birth] = live
	return OneLive
}

// Holder is the active hook that has a token.
type Holder struct{ Run, Hook string }

// Conflict says why a run cannot be created.
type Conflict int

// Conflicts with other runs. A commit's own runs do not count.
const (
	Free    Conflict = iota
	SameID           // a run has the ID
	SameKey          // a run has the idempotency key
	OneLive          // a live run has the singleton's key: see [Singles]
)

// Target is a run that a step awaits or sends to. The zero value means unknown.
type Target struct {
	Run    string       // the run that replaced the requested one, see [world.RetryKey]; "": none
	Live   bool         // it is not over
	End    *world.Event // of a run that is over: its last event
	Damage error        // or why that is unreadable
}

// Ended returns the target for a run that is over, from the result of reading its last event. A
// damaged log is not an error of the waiting run.
func Ended(last world.Event, err error) (Target, error) {
	if Unreadable(err) {
		return Target{Damage: err}, nil
	}
	return Target{End: &last}, err
}

// Result returns the event for a step that waits for a run that is not live.
func (t Target) Result(a world.Await) world.Event {
	switch {
	case t.Damage != nil:
		return stepFailed(a.Step, world.CodeCorrupt, t.Damage.Error())
	case t.End == nil:
		return stepFailed(a.Step, world.CodeNotFound, "run "+a.Run+" is unknown")
	}
	return world.ResultFor(t.End, a.Step)
}

// sent is what a step is told that sends to the run: to the very one, not to what took its place. Worlds drop what is for one that is not live.
func (t Target) sent(e *world.Event) world.Event {
	switch {
	case t.Run != "", t.End != nil, t.Damage != nil:
		return stepFailed(e.ID, world.CodeRunOver, "run "+e.Peer+" is over")
	case !t.Live:
		return stepFailed(e.ID, world.CodeNotFound, "run "+e.Peer+" is unknown")
	}
	return world.Event{Type: world.StepCompleted, ID: e.ID}
}

func stepFailed(id, code, message string) world.Event {
	return world.Event{Type: world.StepFailed, ID: id, Error: &world.Error{Message: message, Code: code, Permanent: true}}
}

// Plan is what a commit writes after its conditions were decided. Do not change its slices.
type Plan struct {
	Events  []world.Event // the commit's events, or what replaces them
	Changed bool          // they differ from those sent
	Births  []*world.Commit
	Awaits  []world.Await // steps to be told of the end of a live run
	Told    []Told        // values in results of ended runs
}

// Told are values, stored apart, in the result of another run. The run that gets the result then
// holds them too.
type Told struct{ Of, Apart string }

// Unasked returns the plan of a commit that depends on no other run.
func Unasked(c *world.Commit) Plan { return Plan{Events: c.Events, Births: c.Births} }

// Settle decides what a commit writes: see [world.Condition]. It refuses a commit with a conflict
// for which it has no condition.
func Settle(c *world.Commit, f *Facts) (Plan, error) {
	p := Unasked(c)
	if err := p.tokens(c, f.Holders); err != nil {
		return Plan{}, err
	}
	left, err := p.create(c, f)
	if err != nil {
		return Plan{}, err
	}
	p.answer(c, left, f.Targets)
	return p, nil
}

// tokens gives each new hook its token, or puts the conflict in its place. A token that the commit itself gives up is free for its later
// events.
func (p *Plan) tokens(c *world.Commit, holders map[string]Holder) error {
	conflict := make(map[string]string) // tokens that the commit takes, with the hook's ID
	for i := range c.Events {
		e := &c.Events[i]
		if e.Type != world.HookCreated {
			continue
		}
		holder := Holder{Run: c.Run, Hook: conflict[e.Token]}
		if holder.Hook == "" || world.Frees(c.Events[:i], holder.Hook) {
			holder = holders[e.Token]
		}
		if holder.Run == "" || holder.Run == c.Run && world.Frees(c.Events[:i], holder.Hook) {
			conflict[e.Token] = e.ID
			continue
		}
		if !slices.ContainsFunc(c.Conditions, func(cond world.Condition) bool { return cond.Event == i }) {
			return fmt.Errorf("run %s: hook %s: token is held by run %s: %w", c.Run, e.ID, holder.Run, world.ErrConflict)
		}
		p.change()[i] = world.Event{
			Type: world.HookConflict, Time: e.Time, ID: e.ID, Name: e.Name, Path: e.Path, Occurrence: e.Occurrence, Token: e.Token,
			Peer: holder.Run,
		}
	}
	return nil
}

// change returns events of the plan's own.
func (p *Plan) change() []world.Event {
	if !p.Changed {
		p.Events, p.Changed = slices.Clone(p.Events), true
	}
	return p.Events
}

// create leaves births out that cannot be, and tells which, and why.
func (p *Plan) create(c *world.Commit, f *Facts) (left map[int]string, err error) {
	for i, b := range c.Births {
		err := notCreated(c, i, f)
		if err == nil {
			continue
		}
		if !slices.ContainsFunc(c.Conditions, func(cond world.Condition) bool {
			return cond.Birth == i && of(&c.Events[cond.Event], world.KindChild)
		}) {
			return nil, fmt.Errorf("run %s: child %s: %w", c.Run, b.Run, err)
		}
		if left == nil {
			left = make(map[int]string)
		}
		if left[i] = "run " + b.Run + " exists"; f.Births[i] == OneLive {
			left[i] = err.Error()
		}
	}
	if left == nil {
		return nil, nil
	}
	p.Births = nil
	for i, b := range c.Births {
		if left[i] == "" {
			p.Births = append(p.Births, b)
		}
	}
	return left, nil
}

// notCreated says why a child cannot be created: its ID or its idempotency key is taken, by a run or by a sibling
// before it.
func notCreated(c *world.Commit, i int, f *Facts) error {
	switch conflict := f.Births[i]; {
	case conflict == SameID, c.Births[i].Run == c.Run, Twin(c, i):
		return world.ErrRunExists
	case conflict == SameKey:
		return fmt.Errorf("idempotency key %q: %w", c.Births[i].Events[0].Birth.Key, world.ErrRunExists)
	case conflict == OneLive:
		return world.SingleLive(c.Births[i].Run, f.Live[i], &SingleOf(c.Births[i]).Place)
	}
	return nil
}

// Twin reports whether birth i of a commit has the ID or the idempotency key of an earlier one.
func Twin(c *world.Commit, i int) bool {
	birth := c.Births[i].Events[0].Birth
	return slices.ContainsFunc(c.Births[:i], func(s *world.Commit) bool {
		sibling := s.Events[0].Birth
		return s.Run == c.Births[i].Run || birth.Key != "" && birth.Key == sibling.Key && birth.Workflow == sibling.Workflow
	})
}

// answer settles children, awaits, and what is sent. What has its answer already gets it behind all events.
func (p *Plan) answer(c *world.Commit, left map[int]string, targets map[string]Target) {
	conditions := slices.SortedStableFunc(slices.Values(c.Conditions), func(a, b world.Condition) int { return a.Event - b.Event })
	for _, cond := range conditions {
		e := &c.Events[cond.Event]
		target := targets[e.Peer]
		if slices.ContainsFunc(p.Births, func(c *world.Commit) bool { return c.Run == e.Peer }) {
			target = Target{Live: true} // born with this commit, it is there when its end is awaited, or something sent to it
		}
		switch {
		case of(e, world.KindChild) && left[cond.Birth] != "":
			p.after(stepFailed(e.ID, world.CodeRunExists, left[cond.Birth]))
		case of(e, world.KindAwait):
			a := world.Await{Step: e.ID, Run: e.Peer}
			if target.Run != "" {
				a.Run = target.Run
				p.change()[cond.Event].Peer = a.Run
			}
			p.await(a, &target, time.Time{})
		case of(e, world.KindSend):
			p.after(target.sent(e))
		}
	}
	for _, anew := range c.Anew {
		target := targets[anew.Run]
		p.await(world.Await{Step: anew.Step, Run: cmp.Or(target.Run, anew.Run)}, &target, anew.At)
	}
}

// await has a step be told of the end of a run, or tells it: at a time, where the commit has no events.
func (p *Plan) await(a world.Await, target *Target, at time.Time) {
	if target.Live {
		p.Awaits = append(p.Awaits, a)
		return
	}
	result := target.Result(a)
	if result.Apart != "" {
		p.Told = append(p.Told, Told{Of: a.Run, Apart: result.Apart})
	}
	result.Time = at
	p.after(result)
}

// after appends an answer behind the events of the commit, at the time of the last one if there is one.
func (p *Plan) after(e world.Event) {
	if len(p.Events) > 0 {
		e.Time = p.Events[len(p.Events)-1].Time
	}
	p.Events, p.Changed = append(slices.Clip(p.Events), e), true
}
