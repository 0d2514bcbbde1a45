package vet

// Code held against what runs have recorded: the logs in testdata/histories of its package, and the shapes in
// testdata/shapes.json.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// records are what runs have recorded.
type records struct{ *code }

// ListShapes makes the analyzer of changes report the shapes of everything that is recorded. Set it
// once, before analyzers run.
var ListShapes bool

// ShapesFile is the path of a package's recorded shapes, in its folder.
const ShapesFile = "testdata/shapes.json"

// histories is where logs of runs are.
const histories = "testdata/histories"

// logged is an event of a log, as far as it matters here.
type logged struct {
	Seq       int64           `json:"seq"`
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Kind      string          `json:"kind"`
	Name      string          `json:"name"`
	Path      string          `json:"path"`
	Outcome   string          `json:"outcome"`
	Version   int             `json:"version"`
	Payload   json.RawMessage `json:"payload"`
	Encrypted string          `json:"sealed"`
	Apart     string          `json:"apart"`
	Birth     *struct {
		Workflow string `json:"workflow"`
		Version  int    `json:"version"`
	} `json:"birth"`
}

// history is the log of a run, in a file.
type history struct {
	file   string
	events []logged
}

// typed is a place where code names a type that is recorded, or more of them.
type typed struct {
	at    ast.Node
	types []types.Type
}

func (t *typed) add(at ast.Node, as types.Type) {
	if t.at == nil {
		t.at = at
	}
	t.types = append(t.types, as)
}

// changed holds the package against what was recorded.
func (c records) changed() {
	questions(c).leave()
	if len(c.pass.Files) == 0 {
		return
	}
	dir := filepath.Dir(c.pass.Fset.Position(c.pass.Files[0].Package).Filename)
	if ListShapes {
		c.listShapes()
		return
	}
	c.shapes(dir)
	if len(c.entries) == 0 {
		return
	}
	logs := c.logs(filepath.Join(dir, histories))
	if len(logs) == 0 {
		return
	}
	steps := c.recorded()
	for _, f := range c.order {
		e := c.entries[f]
		if e == nil || e.name == "" || e.version == 0 {
			continue
		}
		for _, h := range logs {
			if h.of(e) {
				if !c.inOrder(f, e, h) {
					c.gone(f, e, h)
				}
				c.values(e, h, steps)
			}
		}
	}
}

// logs reads those of a folder, which drivers do not know as files of the package, and reports files that are no logs.
func (c records) logs(dir string) (all []history) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".jsonl" {
			return nil //nolint:nilerr // a folder that is not there has no logs
		}
		rel, _ := filepath.Rel(filepath.Dir(filepath.Dir(dir)), path)
		file := filepath.ToSlash(rel)
		read, err := readLogs(path, file)
		if err != nil {
			c.report(ruleChanged, c.pass.Files[0].Name, fmt.Sprintf("%s is not a log that can be read (%v), so no workflow is checked against it; write it again with stepwell export, or remove it", file, err))
		}
		all = append(all, read...)
		return nil
	})
	return slices.DeleteFunc(all, func(h history) bool { return len(h.events) == 0 })
}

// readLogs reads a file of logs as far as it can be read.
func readLogs(path, file string) (all []history, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	n, begun := 0, 0 // begun: the line at which a log begins that has not ended
	cut := func() {
		if begun > 0 && err == nil {
			err = fmt.Errorf("the log that begins in line %d is cut off", begun)
		}
	}
	for line := range bytes.Lines(text) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e struct {
			History int  `json:"history"`
			End     *int `json:"end"`
			logged
		}
		if bad := json.Unmarshal(line, &e); bad != nil {
			if err == nil {
				err = fmt.Errorf("line %d: %w", n, bad)
			}
			continue
		}
		switch {
		case e.History > 0:
			cut()
			begun = n
			all = append(all, history{file: file})
		case e.Seq > 0 && len(all) > 0:
			h := &all[len(all)-1]
			h.events = append(h.events, e.logged)
		case e.End != nil:
			begun = 0
		}
	}
	cut()
	if len(all) == 0 && err == nil {
		err = errors.New("no log begins in it")
	}
	return all, err
}

// of reports whether a run is of a workflow. A birth that leaves the version open has it where the run begins.
func (h *history) of(e *entryPoint) bool {
	b := h.events[0].Birth
	if b == nil || b.Workflow != e.name {
		return false
	}
	version := b.Version
	for _, ev := range h.events {
		if ev.Type == "run_started" && version == 0 {
			version = ev.Version
		}
	}
	return version == e.version
}

// creates reports whether an event says that the code has asked for something, and of which kind.
func (e *logged) creates() bool {
	switch e.Type {
	case "step_created", "wait_created", "hook_created", "attr_set":
		return e.Kind != "patch" && e.Kind != "aside" && e.Kind != "taken"
	}
	return false
}

// asked are the events of a log by which its code went one way alone: up to a failure, a cancel, a wait in vain, a new
// segment.
func (h *history) asked() (all []logged) {
	kinds := map[string]string{}
	for _, e := range h.events {
		switch {
		case e.Type == "step_failed", e.Type == "cancel_requested", e.Type == "run_continued", e.Type == "wait_completed" && kinds[e.ID] == "event" && e.Outcome != "received":
			return all
		case e.creates() && e.Path == "":
			kinds[e.ID] = e.Kind
			all = append(all, e)
		}
	}
	return all
}

// order1 reports the first thing that a workflow asks for in any case where a log has something else.
func (c records) inOrder(f *function, e *entryPoint, h history) bool {
	log := h.asked()
	var compare func(all []question) (found, over bool)
	compare = func(all []question) (found, over bool) {
		for _, q := range all {
			if len(log) == 0 {
				return false, true
			}
			if q.call == nil {
				if len(q.maybe) > 0 && q.maybe[0].fits(log[0]) {
					if found, over = compare(q.maybe); found || over || q.over {
						return found, true
					}
				}
				continue
			}
			if !q.fits(log[0]) {
				asks := q.op
				if q.name != "" {
					asks = fmt.Sprintf("%s %q", q.op, q.name)
				}
				c.report(ruleChanged, q.call, fmt.Sprintf("%s, where a run of %s version %d has recorded %s %q (%s, event %d): it would be blocked as DIVERGED; guard what is new with stepwell.Patched, or give the code a new version",
					asks, e.name, e.version, kindName(log[0].Kind), log[0].Name, h.file, log[0].Seq))
				return true, true
			}
			log = log[1:]
		}
		return false, false
	}
	found, _ := compare(questions(c).inOrder(f))
	return found
}

// fits reports whether an event of a log is what a question asks for.
func (q *question) fits(e logged) bool {
	return q.call == nil || q.kind == e.Kind && (q.name == "" || q.name == e.Name)
}

func kindName(kind string) string {
	switch kind {
	case "closure", "task":
		return "the step"
	case "":
		return "the attribute or hook"
	}
	return "the " + kind
}

// gone reports a name that a log has and the code asks for no more.
func (c records) gone(f *function, e *entryPoint, h history) {
	names, open := questions(c).names(f)
	if open {
		return
	}
	for _, ev := range h.events {
		if ev.creates() && (ev.Kind == "closure" || ev.Kind == "sleep") && !slices.Contains(names, ev.Name) {
			c.report(ruleChanged, e.call.Args[0], fmt.Sprintf("a run of %s version %d has recorded %s %q (%s, event %d), which the code asks for no more: it would be blocked as DIVERGED; keep the old way for it with stepwell.Patched, or give the code a new version",
				e.name, e.version, kindName(ev.Kind), ev.Name, h.file, ev.Seq))
			return
		}
	}
}

// recorded are the types that the package records, by what they are of: "step quote", "workflow order v1 input".
func (c records) recorded() map[string]*typed {
	all := map[string]*typed{}
	add := func(key string, at ast.Node, t types.Type) {
		if _, param := types.Unalias(t).(*types.TypeParam); param {
			return
		}
		if all[key] == nil {
			all[key] = &typed{}
		}
		all[key].add(at, t)
	}
	for cur := range c.root.Preorder((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		f := c.callee(call)
		if f == nil || f.Pkg() == nil || f.Pkg().Path() != module {
			continue
		}
		id := calledBy(call)
		inst, ok := c.info.Instances[id]
		if !ok || len(call.Args) == 0 {
			continue
		}
		name := c.src.constant(call.Args[0])
		switch f.Name() {
		case "Define":
			if v := c.src.versionOf(call); name != "" && v > 0 {
				add(fmt.Sprintf("workflow %s v%d input", name, v), id, inst.TypeArgs.At(0))
				add(fmt.Sprintf("workflow %s v%d output", name, v), id, inst.TypeArgs.At(1))
			}
		case "DefineStep", "DefineRemoteStep":
			if name != "" {
				add("step "+name+" input", id, inst.TypeArgs.At(0))
				add("step "+name, id, inst.TypeArgs.At(1))
			}
		case "Event":
			if name != "" {
				add("event "+name, id, inst.TypeArgs.At(0))
			}
		case "Step":
			if name := c.src.constant(call.Args[1]); name != "" {
				add("step "+name, id, inst.TypeArgs.At(0))
			}
		case "Call":
			if name := c.src.constant(call.Args[1]); name != "" {
				add("step "+name, id, inst.TypeArgs.At(1))
			}
		}
	}
	return all
}

// calledBy is the name in a call that its type arguments are noted with.
func calledBy(call *ast.CallExpr) *ast.Ident {
	e := ast.Unparen(call.Fun)
	for {
		switch x := e.(type) {
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.SelectorExpr:
			return x.Sel
		case *ast.Ident:
			return x
		default:
			return nil
		}
	}
}

// values reports the first recorded value of a log that its type of today does not hold.
func (c records) values(e *entryPoint, h history, steps map[string]*typed) {
	names := map[string]string{}
	for _, ev := range h.events {
		key := ""
		switch ev.Type {
		case "run_created":
			key = fmt.Sprintf("workflow %s v%d input", e.name, e.version)
		case "run_completed":
			key = fmt.Sprintf("workflow %s v%d output", e.name, e.version)
		case "step_created":
			if ev.Kind == "closure" || ev.Kind == "task" {
				names[ev.ID] = "step " + ev.Name
			}
		case "step_completed":
			key = names[ev.ID]
		case "run_continued":
			return
		}
		if key == "" || steps[key] == nil || len(ev.Payload) == 0 || ev.Encrypted != "" || ev.Apart != "" {
			continue
		}
		var v any
		d := json.NewDecoder(bytes.NewReader(ev.Payload))
		d.UseNumber()
		if d.Decode(&v) != nil {
			continue
		}
		if c.unfit(key, steps[key], shapeOfValue(v), fmt.Sprintf("%s, event %d", h.file, ev.Seq)) {
			return
		}
	}
}

// unfit reports a shape that none of the types of its name holds.
func (c records) unfit(key string, now *typed, shape any, where string) bool {
	what := ""
	for _, t := range now.types {
		if what = misfit(shape, t, "", nil); what == "" {
			return false
		}
	}
	c.report(ruleChanged, now.at, fmt.Sprintf("%s no longer goes with what was recorded (%s): %s", key, where, what))
	return true
}

// shapes holds the types of a package against the shapes that were recorded of it.
func (c records) shapes(dir string) {
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(ShapesFile)))
	if err != nil {
		return
	}
	var was map[string][]any
	if err := json.Unmarshal(text, &was); err != nil {
		c.report(ruleChanged, c.pass.Files[0].Name, fmt.Sprintf("%s: %v; write it again with stepwell vet --shapes", ShapesFile, err))
		return
	}
	now := c.recorded()
	for _, key := range slices.Sorted(maps.Keys(was)) {
		for _, shape := range was[key] {
			if now[key] != nil && c.unfit(key, now[key], shape, ShapesFile) {
				break
			}
		}
	}
}

// listShapes reports the shapes of today.
func (c records) listShapes() {
	all := c.recorded()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		for _, t := range all[key].types {
			line, err := json.Marshal(map[string]any{key: shapeOf(t, nil)})
			if err == nil {
				c.report(ruleChanged, all[key].at, "shape: "+strings.TrimSpace(string(line)))
			}
		}
	}
}
