package behaviour_test

// This file makes the programs of the simulation, from a seed.

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// simGen makes programs.
type simGen struct {
	*rand.Rand
	seed   uint64
	n      int             // names so far
	left   int             // statements that the plan may still get
	rank   int             // of the client's run whose tree is being made: it awaits runs of lower ranks only, so that nobody waits in a circle
	free   bool            // a run that waits for ever is ended by another: see never
	undo   bool            // what is made is to clean up
	tokens []string        // that the program may still choose
	awaits map[string]bool // runs that it awaits already
}

// simTokens and simChosen are how many tokens all runs, and how many IDs the children of one tree, choose from.
const simTokens, simChosen = 3, 3

func (g *simGen) name(op string) string {
	g.n++
	if g.undo {
		return fmt.Sprintf("undo-%s-%d", op, g.n)
	}
	return fmt.Sprintf("%s-%d", op, g.n)
}

// plan makes one to three runs that have to do with each other.
func (g *simGen) plan() simPlan {
	var p simPlan
	g.left = 20 + g.IntN(60)
	for i := range 1 + g.IntN(3) {
		g.rank = i
		at := time.Duration(0)
		if i > 0 {
			at = g.upTo(10 * time.Second)
		}
		r := simStart{ID: g.run(i), At: at, Program: g.program(3)}
		if g.IntN(6) == 0 {
			r.Timeout = 2*time.Second + g.upTo(40*time.Second)
		}
		if (g.seed+uint64(i))%4 == 0 {
			r.Delay = 20 * time.Second
		}
		if g.seed%8 == 1 || g.seed%16 == 3 { // where runs are in line for a rate, or a limit
			r.TTL = time.Duration(2+(g.seed/8+uint64(i))%8) * time.Second
		}
		p.Runs = append(p.Runs, r)
	}
	if simSingle(g.seed) {
		p.singles()
	}
	if g.IntN(4) == 0 {
		p.Deploy = time.Second + g.upTo(30*time.Second)
	}
	p.gathers(g.seed)
	return p
}

func (g *simGen) run(rank int) string { return fmt.Sprintf("sim-%d-%d", g.seed, rank) }

func (g *simGen) upTo(d time.Duration) time.Duration {
	return time.Duration(g.Int64N(int64(d/time.Millisecond))) * time.Millisecond
}

// program makes what one run evaluates: a sequence, so that there is a log to speak of, or several, each in a segment of its own.
func (g *simGen) program(depth int) simNode {
	outer := *g
	defer func() { g.tokens, g.undo, g.awaits = outer.tokens, outer.undo, outer.awaits }()
	g.tokens, g.undo, g.awaits = nil, false, map[string]bool{}
	for i := range simTokens {
		g.tokens = append(g.tokens, fmt.Sprintf("token-%d-%d", g.seed, i))
	}
	p := g.sequence(depth)
	last := &p
	for g.left > 0 && g.IntN(5) == 0 {
		next := g.sequence(min(depth, 2))
		last.Next = &next
		last = &next
	}
	if g.IntN(8) == 0 {
		last.Fails, last.Panics = -1, g.n%2 == 0
	}
	last.Undoes = g.n%3 == 0
	last.walkSegment(func(n *simNode) {
		if n.Op == "select" { // its losers may go on, and have something to undo yet
			last.Undoes = false
		}
	})
	return p
}

func (g *simGen) sequence(depth int) simNode {
	p := simNode{Op: "seq", Name: g.name("seq")}
	for range 1 + g.IntN(5) {
		p.Kids = append(p.Kids, g.node(depth))
	}
	return p
}

// simple are the statements without kids; nested those with.
var (
	simpleOps = []string{"step", "step", "task", "sleep", "event", "hook", "hook", "await", "attr", "comp"}
	nestedOps = []string{"map", "all", "race", "seq", "select", "select", "cond", "guard", "guard", "patch", "child", "child", "fan", "spawn"}
)

func (g *simGen) node(depth int) simNode {
	ops := simpleOps
	if depth > 0 && g.left > 0 && g.IntN(5) > 1 {
		ops = nestedOps
	}
	n := g.make(ops[g.IntN(len(ops))], depth)
	if n.Op == "step" && g.n%3 == 0 {
		n.Op = "blob"
	}
	return n
}

func (g *simGen) make(op string, depth int) simNode {
	g.left--
	n := simNode{Op: op, Name: g.name(op)}
	switch op {
	case "step", "task":
		g.work(&n)
	case "sleep":
		n.Lasts = g.upTo(30 * time.Second)
	case "attr":
		if n.Value = 1 + g.IntN(1000); g.rank > 0 && g.n%2 == 0 {
			n.Op, n.Name, n.ID = "send", fmt.Sprintf("send-%d", g.n), g.run(g.n%(g.rank+1))
			if g.n%(g.rank+1) == g.rank {
				n.ID = "nobody"
			}
		}
	case "comp":
		n.Early = g.n%2 == 0
		n.Kids = []simNode{g.make("step", 0), g.undoOf()}
	case "event":
		n.Value = 1 + g.IntN(1000)
		if g.IntN(2) == 0 {
			n.Timeout = time.Millisecond + g.upTo(20*time.Second)
		}
	case "hook":
		g.hook(&n)
	case "await":
		n.ID = g.awaited()
	case "race":
		for range 2 + g.IntN(3) {
			n.Kids = append(n.Kids, g.make([]string{"step", "task"}[g.IntN(2)], 0))
		}
	case "select":
		g.choices(&n, depth)
	case "cond":
		n.Timeout = time.Millisecond + g.upTo(5*time.Second)
		n.Kids = []simNode{g.make([]string{"step", "task", "event"}[g.IntN(3)], 0)}
	case "guard":
		n.Kids = []simNode{{Op: "step", Name: g.name("open"), Value: 1, Attempts: 1}, g.node(depth - 1), g.cleanUp()}
	case "patch":
		n.Kids = []simNode{g.make("step", 0), g.make([]string{"step", "task"}[g.IntN(2)], 0)}
	case "child", "spawn":
		g.child(&n, depth)
	case "fan":
		for range 1 + g.IntN(4) {
			n.Kids = append(n.Kids, g.make("child", min(depth, 1)))
		}
	default: // seq, map, all
		n.Limit = g.IntN(3)
		for range 1 + g.IntN(4) {
			n.Kids = append(n.Kids, g.node(depth-1))
		}
	}
	return n
}

func (g *simGen) work(n *simNode) {
	n.Value, n.Attempts, n.Says = 1+g.IntN(1000), 1+g.IntN(4), g.n%3 == 0
	switch g.IntN(6) {
	case 0:
		n.Fails = -1
	case 1:
		n.Fails = g.IntN(n.Attempts)
	}
	if g.n%5 == 0 && !g.undo {
		n.Queue = time.Duration(1+g.n%7) * 400 * time.Millisecond
	}
	if g.n%2 == 0 { // so long that an operator ends it
		n.Base = time.Duration(8+g.n%8) * time.Second
	}
	if g.IntN(3) == 0 {
		n.Lasts = g.upTo(3 * time.Second)
	}
	if g.IntN(10) == 0 {
		n.Stubborn, n.Lasts = true, g.upTo(15*time.Second)
	}
}

// hook makes a hook. One run uses a token in one place.
func (g *simGen) hook(n *simNode) {
	n.Payloads, n.Open, n.Again = 1+g.IntN(3), g.IntN(4) == 0, g.IntN(3) == 0
	if len(g.tokens) > 0 && g.IntN(3) > 0 {
		n.Token, g.tokens = g.tokens[0], g.tokens[1:]
	}
	if g.n%4 == 0 {
		n.Timeout, n.Payloads, n.Open, n.Again = 5*time.Second, 1, false, false
	}
}

// choices makes the kids of a select: of each a few, in any order.
func (g *simGen) choices(n *simNode, depth int) {
	n.Part = g.n%2 == 0
	if g.IntN(3) > 0 {
		n.Kids = append(n.Kids, g.make("sleep", 0))
		n.Kids[0].Lasts = g.upTo(4 * time.Second)
	}
	if g.IntN(2) == 0 {
		n.Kids = append(n.Kids, g.make("event", 0))
	}
	for range g.IntN(3) {
		n.Kids = append(n.Kids, g.make([]string{"step", "task"}[g.IntN(2)], 0))
	}
	if depth > 1 && g.IntN(2) == 0 {
		free := g.free
		g.free = len(n.Kids) > 0 // another kid ends the select; the child ends with its parent
		n.Kids = append(n.Kids, g.make("child", 1))
		g.free = free
	}
	if len(n.Kids) == 0 {
		n.Kids = append(n.Kids, g.make("task", 0))
	}
	g.Shuffle(len(n.Kids), func(i, j int) { n.Kids[i], n.Kids[j] = n.Kids[j], n.Kids[i] })
}

// cleanUp makes a statement that is evaluated whether the run is cancelled or not.
func (g *simGen) cleanUp() simNode {
	outer := g.undo
	g.undo = true
	defer func() { g.undo = outer }()
	n := simNode{Op: "seq", Name: g.name("seq")}
	for range 1 + g.IntN(2) {
		n.Kids = append(n.Kids, g.make([]string{"step", "task", "sleep"}[g.IntN(3)], 0))
	}
	return n
}

// undoOf makes a step that undoes another: it may fail at first, and holds in the end.
func (g *simGen) undoOf() simNode {
	outer := g.undo
	g.undo = true
	defer func() { g.undo = outer }()
	n := g.make("step", 0)
	n.Fails = max(n.Fails, 0)
	return n
}

// child makes a child run. One that nobody waits for may wait for ever, as it ends with its parent.
func (g *simGen) child(n *simNode, depth int) {
	if g.IntN(4) == 0 {
		n.ID = fmt.Sprintf("%s-c%d", g.run(g.rank), g.IntN(simChosen))
		if g.IntN(4) == 0 {
			n.ID = g.run(0) // it is there before any other
		}
	}
	n.Detached = g.IntN(4) == 0
	free := g.free
	g.free = !n.Detached && (n.Op == "spawn" || g.free)
	p := g.program(depth - 1)
	if g.free && g.IntN(2) == 0 {
		p.Kids = append(p.Kids, simNode{Op: "never", Name: g.name("never")})
	}
	g.free = free
	n.Kids = []simNode{p}
}

// awaited is the ID of a run of a lower rank, or of a child that one may have, or of nobody's. One program awaits it once.
func (g *simGen) awaited() string {
	if g.rank == 0 || g.IntN(8) == 0 {
		return "nobody"
	}
	id := g.run(g.IntN(g.rank))
	if g.IntN(3) == 0 {
		id = fmt.Sprintf("%s-c%d", id, g.IntN(simChosen))
	}
	if g.awaits[id] {
		return "nobody"
	}
	g.awaits[id] = true
	return id
}
