package behaviour_test

// This file holds the programs of the simulation: what their statements are, and how they are walked.

import (
	"time"
)

// simNode is one statement of a generated program. Its value is a number.
//
//	seq                 its kids, one after the other
//	map, all, race      its kids side by side; a race is over with its first
//	select              the same over futures of different types; its losers are cancelled
//	step, task          a closure, a registered step
//	blob                a closure that makes a value which is a stream, and one that reads it
//	sleep               a wait for a time
//	event, never        a wait for an event; nobody sends what "never" waits for
//	cond                its kid, beside a wait with a timeout for the kid's end
//	hook                payloads under a token
//	child, fan, spawn   a child run (its kid is the child's program), children side by side, a child that nobody waits for
//	await, send         the result of another run; an event for another run, in the commit that records it
//	guard               opens with its first kid, goes on with its second, and cleans up with its third, whatever came of that
//	patch               its first kid where the code is new to the run, else its second
//	comp                its first kid, a step, which its second undoes where the run does not complete; early: also
//	                    where that has but begun
//	attr                an attribute
type simNode struct {
	Op       string        `json:"op"`
	Name     string        `json:"name"` // unique in the plan
	Value    int           `json:"value,omitempty"`
	Fails    int           `json:"fails,omitempty"`    // step, task: attempts that fail first; below 0: all do; a program: below 0, its run fails
	Attempts int           `json:"attempts,omitempty"` // step, task: the budget
	Base     time.Duration `json:"base,omitempty"`     // step, task: the first delay between attempts; 0: a short one
	Lasts    time.Duration `json:"takes,omitempty"`    // step, task: of one attempt; sleep: how long
	Stubborn bool          `json:"stubborn,omitempty"` // step, task: its body ignores that its context has ended
	Says     bool          `json:"says,omitempty"`     // step, task: its body reads and sends heartbeats
	Early    bool          `json:"early,omitempty"`    // comp
	Queue    time.Duration `json:"queue,omitempty"`    // step, task: in which it must have begun; 0: whenever
	Timeout  time.Duration `json:"timeout,omitempty"`  // event, cond; hook: of silence; 0: none
	Limit    int           `json:"limit,omitempty"`    // map
	Token    string        `json:"token,omitempty"`    // hook: the chosen one
	Payloads int           `json:"payloads,omitempty"` // hook: how many it takes
	Open     bool          `json:"open,omitempty"`     // hook: is left open
	Again    bool          `json:"again,omitempty"`    // hook: is bound to once more while it is open, and opened once more when it is disposed
	ID       string        `json:"id,omitempty"`       // child: the chosen one; await, send: the run
	Detached bool          `json:"detached,omitempty"` // child
	Part     bool          `json:"part,omitempty"`     // select: its kids are a part of the run, which is cancelled as one
	Panics   bool          `json:"panics,omitempty"`   // a program: it fails by a panic
	Undoes   bool          `json:"undoes,omitempty"`   // a program, in its last segment: it undoes all, and goes on
	Kids     []simNode     `json:"kids,omitempty"`
	Next     *simNode      `json:"next,omitempty"`   // a program: that of its next segment
	Carry    *int          `json:"carry,omitempty"`  // a program: what the segments before it came to
	Single   string        `json:"single,omitempty"` // a program: the key of its run's singleton
}

// What code makes of an outcome that is no value.
const (
	simFailed    = -7  // a step failed for good, an event did not come
	simConflict  = -8  // a token is held by another run
	simRunFailed = -11 // another run failed
	simCancelled = -12 // another run was cancelled
	simExists    = -13 // the chosen ID of a child is taken
	simUnknown   = -14 // there is no such run
	simTimedOut  = -15 // another run took longer than its timeout
	simOver      = -16 // the run that is sent to is over
	simLate      = -17 // no worker began a step in time
	simSilent    = -18 // nobody was heard of a hook
)

// simPlan is all that happens in one simulation, but for the faults.
type simPlan struct {
	Runs   []simStart    `json:"runs"`
	Deploy time.Duration `json:"deploy,omitempty"` // when the workers' code is replaced: before, it knows no patches; 0: it is new from the start
	Gather *simGather    `json:"gather,omitempty"` // what is merged; nil: nothing
}

// simStart is a run that a client starts.
type simStart struct {
	ID      string        `json:"id"`
	At      time.Duration `json:"at,omitempty"`
	Delay   time.Duration `json:"delay,omitempty"`   // of its start
	Timeout time.Duration `json:"timeout,omitempty"` // of the run; 0: none
	TTL     time.Duration `json:"ttl,omitempty"`     // in which it is to begin; 0: whenever
	Program simNode       `json:"program"`
}

// walk visits a node and all below it that the same run evaluates.
func (n *simNode) walk(f func(*simNode)) {
	f(n)
	if n.Op == "child" || n.Op == "spawn" {
		return
	}
	for i := range n.Kids {
		n.Kids[i].walk(f)
	}
	if n.Next != nil {
		n.Next.walk(f)
	}
}

// walkSegment visits a program and all below it that the same segment evaluates.
func (n *simNode) walkSegment(f func(*simNode)) {
	alone := *n
	alone.Next = nil
	alone.walk(f)
}

// hasten divides all times of a plan.
func (p *simPlan) hasten(by time.Duration) {
	p.Deploy /= by
	p.Gather.hasten(by)
	for i := range p.Runs {
		r := &p.Runs[i]
		r.At, r.Delay, r.Timeout, r.TTL = r.At/by, r.Delay/by, r.Timeout/by, r.TTL/by
		r.Program.hasten(by)
	}
}

func (n *simNode) hasten(by time.Duration) {
	n.Base, n.Lasts, n.Timeout, n.Queue = n.Base/by, n.Lasts/by, n.Timeout/by, n.Queue/by
	for i := range n.Kids {
		n.Kids[i].hasten(by)
	}
	if n.Next != nil {
		n.Next.hasten(by)
	}
}

// segment is the program of a run's n-th segment.
func (n *simNode) segment(i int) *simNode {
	for ; i > 0; i-- {
		n = n.Next
	}
	return n
}

// line visits the nodes of a program that are evaluated one after the other, and not beside others: what they ask for is there before the run ends.
func (n *simNode) line(f func(*simNode)) {
	f(n)
	if n.Op != "seq" && n.Op != "guard" {
		return
	}
	for i := range n.Kids {
		n.Kids[i].line(f)
	}
	if n.Next != nil {
		n.Next.line(f)
	}
}

// mix combines the values of a sequence.
func mix(values ...int) int {
	sum := 17
	for _, v := range values {
		sum = (sum*31 + v) % 1_000_003
	}
	return sum
}
