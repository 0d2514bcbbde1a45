package stepwell_test

// This file holds the programs of the simulation: generated from a seed, run as a workflow by an interpreter, and evaluated plainly by the
// oracle.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// simNode is one statement of a generated program. Its value is a number.
type simNode struct {
	Op       string        `json:"op"`   // seq, step, task, sleep, event, map, all, race
	Name     string        `json:"name"` // unique in the program
	Value    int           `json:"value,omitempty"`
	Fails    int           `json:"fails,omitempty"`    // step, task: attempts that fail first; below 0: all do
	Attempts int           `json:"attempts,omitempty"` // step, task: the budget
	Takes    time.Duration `json:"takes,omitempty"`    // step, task: of one attempt; sleep: how long
	Timeout  time.Duration `json:"timeout,omitempty"`  // event; 0: none
	Limit    int           `json:"limit,omitempty"`    // map
	Kids     []simNode     `json:"kids,omitempty"`
}

// simFailed is the value of a step that fails for good: what its code makes of the error.
const simFailed = -7

// simGen makes programs.
type simGen struct {
	*rand.Rand
	n int
}

func (g *simGen) name(op string) string {
	g.n++
	return fmt.Sprintf("%s-%d", op, g.n)
}

// program is a sequence, so that there is a log to speak of.
func (g *simGen) program() simNode {
	p := simNode{Op: "seq", Name: g.name("seq")}
	for range 2 + g.IntN(5) {
		p.Kids = append(p.Kids, g.node(2))
	}
	return p
}

func (g *simGen) node(depth int) simNode {
	ops := []string{"step", "step", "task", "sleep", "event", "map", "all", "race", "seq"}
	if depth == 0 {
		ops = ops[:5]
	}
	n := simNode{Op: ops[g.IntN(len(ops))]}
	n.Name = g.name(n.Op)
	switch n.Op {
	case "step", "task":
		g.work(&n)
	case "sleep":
		n.Takes = time.Duration(g.IntN(30_000)) * time.Millisecond
	case "event":
		n.Value = 1 + g.IntN(1000)
		if g.IntN(2) == 0 {
			n.Timeout = time.Duration(1+g.IntN(20_000)) * time.Millisecond
		}
	case "race":
		for range 2 + g.IntN(3) {
			k := simNode{Op: []string{"step", "task"}[g.IntN(2)]}
			k.Name = g.name(k.Op)
			g.work(&k)
			n.Kids = append(n.Kids, k)
		}
	default:
		n.Limit = g.IntN(3)
		for range 1 + g.IntN(4) {
			n.Kids = append(n.Kids, g.node(depth-1))
		}
	}
	return n
}

func (g *simGen) work(n *simNode) {
	n.Value, n.Attempts = 1+g.IntN(1000), 1+g.IntN(4)
	switch g.IntN(6) {
	case 0:
		n.Fails = -1
	case 1:
		n.Fails = g.IntN(n.Attempts)
	}
	if g.IntN(3) == 0 {
		n.Takes = time.Duration(g.IntN(3000)) * time.Millisecond
	}
}

// walk visits a node and all below it.
func (n *simNode) walk(f func(*simNode)) {
	f(n)
	for i := range n.Kids {
		n.Kids[i].walk(f)
	}
}

// mix combines the values of a sequence.
func mix(values []int) int {
	sum := 17
	for _, v := range values {
		sum = (sum*31 + v) % 1_000_003
	}
	return sum
}

// simWorkflow is the interpreter: the program is the run's input. work is the body of every step.
func simWorkflow(work func(context.Context, simNode) (int, error)) []stepwell.Definition {
	task := stepwell.DefineStep("task", work, stepwell.Retry{Base: 20 * time.Millisecond})
	wf := stepwell.Define("sim", func(ctx stepwell.Context, p simNode) (int, error) {
		return simRun(ctx, p, task, work)
	})
	return []stepwell.Definition{wf, task}
}

type simTask = stepwell.RegisteredStep[simNode, int]

func simRun(ctx stepwell.Context, n simNode, task *simTask, work func(context.Context, simNode) (int, error)) (int, error) {
	retry := stepwell.Retry{Attempts: n.Attempts, Base: 20 * time.Millisecond}
	switch n.Op {
	case "step":
		return simOutcome(stepwell.Step(ctx, n.Name, func(c context.Context) (int, error) { return work(c, n) }, retry))
	case "task":
		return simOutcome(task.Run(ctx, n, retry))
	case "sleep":
		return 1, stepwell.Sleep(ctx, n.Name, n.Takes)
	case "event":
		var opts []stepwell.WaitOption
		if n.Timeout > 0 {
			opts = append(opts, stepwell.Timeout(n.Timeout))
		}
		v, ok, err := stepwell.Event[int](n.Name).Wait(ctx, opts...)
		if !ok {
			v = simFailed
		}
		return v, err
	case "map":
		vs, err := stepwell.Map(ctx, n.Kids, n.Limit, func(ctx stepwell.Context, k simNode) (int, error) { return simRun(ctx, k, task, work) })
		return mix(vs), err
	case "all", "race":
		var fs []*stepwell.Future[int]
		for _, k := range n.Kids {
			fs = append(fs, stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return simRun(ctx, k, task, work) }))
		}
		if n.Op == "race" {
			return stepwell.Race(ctx, fs...)
		}
		vs, err := stepwell.All(ctx, fs...)
		return mix(vs), err
	}
	var vs []int
	for _, k := range n.Kids {
		v, err := simRun(ctx, k, task, work)
		if err != nil {
			return 0, err
		}
		vs = append(vs, v)
	}
	return mix(vs), nil
}

// simOutcome makes a value of a step that failed for good.
func simOutcome(v int, err error) (int, error) {
	var failed *stepwell.StepError
	if errors.As(err, &failed) && failed.Code == "" {
		return simFailed, nil
	}
	return v, err
}

// simOracle evaluates a program plainly, one statement after the other. What depends on time (which of a race came first,
// whether an event came in time) it reads in the log.
type simOracle struct {
	ended map[string]int64         // by name of the step: the number of its end
	waits map[string]world.Outcome // by name of the wait
}

func (o *simOracle) eval(n *simNode) int {
	switch n.Op {
	case "step", "task":
		if n.Fails < 0 {
			return simFailed
		}
		return n.Value
	case "sleep":
		return 1
	case "event":
		if o.waits[n.Name] == world.OutcomeDue {
			return simFailed
		}
		return n.Value
	case "race":
		first := &n.Kids[0]
		for i := range n.Kids {
			if k := &n.Kids[i]; o.end(k) < o.end(first) {
				first = k
			}
		}
		return o.eval(first)
	}
	var vs []int
	for i := range n.Kids {
		vs = append(vs, o.eval(&n.Kids[i]))
	}
	return mix(vs)
}

func (o *simOracle) end(n *simNode) int64 {
	if seq := o.ended[n.Name]; seq > 0 {
		return seq
	}
	return 1 << 60
}
