package replay

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
	"pgregory.net/rapid"
)

// node is a piece of a generated workflow.
type node struct {
	op   string
	name string
	n    int
	kids []node
}

var leaves = []string{"step", "task", "child", "sleep", "event", "match", "timed", "hook", "token", "bump", "await", "awaitFor", "attr", "rand", "race", "all", "patch"}

var branches = []string{"seq", "go", "map", "race", "scope", "clean", "patched"}

func drawProgram(t *rapid.T) node {
	budget := rapid.IntRange(2, 14).Draw(t, "nodes")
	return node{op: "seq", kids: drawNodes(t, &budget, 0)}
}

func drawNodes(t *rapid.T, budget *int, depth int) []node {
	var ns []node
	for n := rapid.IntRange(1, 4).Draw(t, "siblings"); n > 0 && *budget > 0; n-- {
		*budget--
		if depth < 3 && rapid.IntRange(0, 2).Draw(t, "branch") == 0 {
			op := rapid.SampledFrom(branches).Draw(t, "op")
			ns = append(ns, node{op: op, name: drawName(t), n: rapid.IntRange(0, 2).Draw(t, "n"), kids: drawNodes(t, budget, depth+1)})
			continue
		}
		ns = append(ns, node{op: rapid.SampledFrom(leaves).Draw(t, "op"), name: drawName(t), n: rapid.IntRange(0, 2).Draw(t, "n")})
	}
	return ns
}

func drawName(t *rapid.T) string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name") }

// play is one evaluation of a program: what its coroutines share.
type play struct {
	count int
	trace []string
}

func (p *play) note(format string, args ...any) {
	p.trace = append(p.trace, fmt.Sprintf(format, args...))
}

func (n node) body() Body {
	return func(x *Ctx) Outcome {
		p := &play{}
		p.run(x, n)
		out, _ := json.Marshal(p.trace)
		return Outcome{Output: out}
	}
}

func (p *play) future(f *Future) { p.note("%s %v %v", f.Payload(), f.Err(), f.Received()) }

func (p *play) seq(x *Ctx, ns []node) {
	for _, n := range ns {
		p.run(x, n)
	}
}

func (p *play) run(x *Ctx, n node) {
	switch n.op {
	case "seq", "go", "map", "scope", "clean", "patched":
		p.branch(x, n)
	case "race":
		if len(n.kids) > 0 {
			p.raceOf(x, n)
			return
		}
		fs := p.several(x, n)
		p.note("first %d", x.WaitAny(fs...))
	case "all":
		p.note("failed %d", x.WaitAll(p.several(x, n)...))
	case "hook", "token":
		p.hook(x, n)
	case "bump":
		p.count++
	case "await", "awaitFor":
		timeout := time.Duration(0)
		if n.op == "awaitFor" {
			timeout = time.Second
		}
		want := p.count + n.n
		ok, err := x.Await("until-"+n.name, func() bool { return p.count >= want }, timeout, nil)
		p.note("held %v %v", ok, err)
	case "attr":
		p.note("attr %v", x.SetAttribute(n.name, []byte(`1`)))
	case "rand":
		p.note("%d %s %s", x.Uint64(), x.NewID(), x.Now())
	case "patch":
		on, err := x.Patched(n.name)
		p.note("patched %v %v", on, err)
	default:
		f := p.leaf(x, n)
		x.Wait(f)
		p.future(f)
	}
}

// leaf asks for an operation that has a future.
func (p *play) leaf(x *Ctx, n node) *Future {
	switch n.op {
	case "task":
		return x.Step(world.KindTask, n.name, fmt.Appendf(nil, `"%d %s"`, x.Uint64()%10, x.Now().Format(time.RFC3339Nano)), nil)
	case "child":
		return x.Other(world.KindChild, n.name, "", []byte(`1`), nil)
	case "sleep":
		return x.Sleep(n.name, time.Second)
	case "event":
		return x.Event(n.name, nil, 0, false)
	case "match":
		return x.Event(n.name, fmt.Appendf(nil, `{"k":%d}`, n.n), 0, false)
	case "timed":
		return x.Event(n.name, nil, time.Second, true)
	}
	return x.Step(world.KindClosure, n.name, nil, nil)
}

func (p *play) several(x *Ctx, n node) []*Future {
	return []*Future{p.leaf(x, node{op: "step", name: n.name}), p.leaf(x, node{op: "sleep", name: n.name}), p.leaf(x, node{op: "step", name: n.name})}
}

func (p *play) branch(x *Ctx, n node) {
	switch n.op {
	case "seq":
		p.seq(x, n.kids)
	case "go":
		f := x.Go("", func(x *Ctx, _ *Future) error { p.seq(x, n.kids); return nil })
		if n.n > 0 {
			x.Wait(f)
		}
	case "map":
		i, err := x.Items(len(n.kids), n.n, func(x *Ctx, i int) error {
			p.run(x, n.kids[i])
			f := p.leaf(x, node{op: "step", name: n.name})
			x.Wait(f)
			return f.Err()
		})
		p.note("map %d %v", i, err)
	case "scope":
		inner := x.Scope()
		f := x.Go("", func(*Ctx, *Future) error { p.seq(inner, n.kids); return nil })
		p.run(x, node{op: "step", name: n.name})
		inner.Cancel()
		if n.n > 0 {
			x.Wait(f)
		}
	case "clean":
		p.seq(x.Uncancelled(), n.kids)
	case "patched":
		if on, _ := x.Patched(n.name); on {
			p.seq(x, n.kids)
		}
	}
}

func (p *play) raceOf(x *Ctx, n node) {
	var fs []*Future
	for _, kid := range n.kids {
		fs = append(fs, x.Go("", func(x *Ctx, _ *Future) error { p.run(x, kid); return nil }))
	}
	p.note("first %d", x.WaitAny(fs...))
}

func (p *play) hook(x *Ctx, n node) {
	token := ""
	if n.op == "token" {
		token = "token-" + n.name
	}
	h := x.Hook(n.name, token, nil)
	x.Wait(h)
	p.note("hook %v", h.Err())
	for range n.n {
		f := x.Receive(h)
		x.Wait(f)
		p.future(f)
	}
	if n.name == "a" {
		p.note("dispose %v", x.Dispose(h))
	}
}

// mutate changes one node of a program.
func mutate(t *rapid.T, n node) node {
	all := flatten(&n, nil)
	at := all[rapid.IntRange(0, len(all)-1).Draw(t, "mutated")]
	switch rapid.SampledFrom([]string{"rename", "drop", "add", "swap", "kind"}).Draw(t, "mutation") {
	case "rename":
		at.name = "other"
	case "drop":
		if len(at.kids) > 0 {
			at.kids = at.kids[1:]
		} else {
			at.op = "seq"
		}
	case "add":
		at.kids = append([]node{{op: "step", name: "added"}}, at.kids...)
	case "swap":
		if k := len(at.kids); k > 1 {
			at.kids[0], at.kids[k-1] = at.kids[k-1], at.kids[0]
		}
	case "kind":
		at.op = rapid.SampledFrom(leaves).Draw(t, "kind")
	}
	return n
}

// flatten copies the slices of a program on the way, so that a mutation leaves the original alone.
func flatten(n *node, all []*node) []*node {
	all = append(all, n)
	n.kids = append([]node(nil), n.kids...)
	for i := range n.kids {
		all = flatten(&n.kids[i], all)
	}
	return all
}
