package server

// This file limits a worker's key to some workflows and steps: it works on their runs and tasks, reads those, and nothing else.

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// Limit restricts a key of scope worker or steps to workflows and steps. The zero value restricts
// nothing.
type Limit struct {
	Workflows []string
	// names of registered steps, which the worker runs for all workflows, with their inputs
	Steps []string
	// Tokens: allowed prefixes of hook tokens that its workflows choose; none: they may choose
	// none.
	Tokens []string
}

// limits reports whether there is a limit.
func (l *Limit) limits() bool { return len(l.Workflows)+len(l.Steps) > 0 }

// parseScope reads a scope, with a limit behind it if there is one: worker?workflow=orders&step=charge.
func parseScope(text string) (Scope, Limit, error) {
	scope, query, limited := strings.Cut(text, "?")
	if !limited {
		return Scope(text), Limit{}, new(Limit).fits(Scope(text))
	}
	values, err := url.ParseQuery(query)
	l := Limit{Workflows: values["workflow"], Steps: values["step"], Tokens: values["token"]}
	delete(values, "workflow")
	delete(values, "step")
	delete(values, "token")
	switch {
	case err != nil || len(values) > 0 || !l.limits():
		return "", l, invalid("after the scope's ? write workflow=NAME, step=NAME and token=PREFIX, joined by &; %%3A is a colon, %%20 a space")
	}
	if err := l.fits(Scope(scope)); err != nil {
		return "", l, err
	}
	return Scope(scope), l, l.check()
}

// fits refuses a limit that no key of the scope has.
func (l *Limit) fits(s Scope) error {
	switch {
	case l.limits() && !s.limitable():
		return invalid("only a worker's key can be limited to workflows and steps")
	case s == Steps && (len(l.Steps) == 0 || len(l.Workflows)+len(l.Tokens) > 0):
		return invalid("a key of scope steps names its steps, and nothing else: steps?step=resize&step=blur")
	}
	return nil
}

func (l *Limit) check() error {
	for _, name := range l.Workflows {
		if err := world.CheckWorkflowName(name); err != nil {
			return err
		}
	}
	for _, name := range l.Steps {
		if err := world.CheckName("step", name); err != nil {
			return err
		}
	}
	for _, prefix := range l.Tokens {
		if err := world.CheckToken(prefix); err != nil {
			return err
		}
	}
	if len(l.Tokens) > 0 && len(l.Workflows) == 0 {
		return invalid("token=PREFIX is for hooks of workflows: name them with workflow=NAME")
	}
	return nil
}

// limited is the limit of the key that asks; nil: it has none.
func (r *request) limited() *Limit {
	if r.key == nil || !r.key.Limit.limits() {
		return nil
	}
	return &r.key.Limit
}

// whole reports whether who asks is a worker without a limit, or more: what such a one says of what all share is taken.
func (r *request) whole() bool { return r.sees(Worker) && r.limited() == nil }

func (r *request) beyond(what, name string) error {
	return fmt.Errorf("%w: it is limited, and %s %.100q is not on its list", errScope, what, name)
}

// mayWorkflow refuses a workflow that the key is not for.
func (r *request) mayWorkflow(name string) error {
	if l := r.limited(); l != nil && !slices.Contains(l.Workflows, name) {
		return r.beyond("workflow", name)
	}
	return nil
}

// mayHave refuses what the key is not for.
func (r *request) mayHave(classes []world.Class, steps []string) error {
	l := r.limited()
	if l == nil {
		return nil
	}
	for _, c := range classes {
		if err := r.mayWorkflow(c.Workflow); err != nil {
			return err
		}
	}
	for _, name := range steps {
		if !slices.Contains(l.Steps, name) {
			return r.beyond("step", name)
		}
	}
	return nil
}

// mayRun refuses a run of a workflow that the key is not for.
func (g *guard) mayRun(r *request, run string) error {
	if r.limited() == nil {
		return nil
	}
	row, err := g.below.Run(r.Context(), run)
	if err != nil {
		return err
	}
	if err := r.mayWorkflow(row.Workflow); err != nil {
		return fmt.Errorf("run %.100q: %w", run, err)
	}
	return nil
}

// mayKeep refuses to keep a value for a run that the key is not for: who may are those who start it, and who holds a
// task of it, which may come to a large result.
func (g *guard) mayKeep(r *request, run string) error {
	err := g.mayRun(r, run)
	if err == nil || errors.Is(err, world.ErrNotFound) {
		return nil
	}
	return g.holdsTask(r, run, func(*world.Task) bool { return true }, err)
}

// mayReadValue refuses a value of a run that the key is not for, but to who holds the task whose input it is, or names
// it.
func (g *guard) mayReadValue(r *request, run, value string) error {
	err := g.mayRun(r, run)
	if err == nil || errors.Is(err, world.ErrNotFound) {
		return err
	}
	return g.holdsTask(r, run, func(t *world.Task) bool {
		whole, names := world.SplitApart(t.Apart)
		return value == whole || slices.Contains(names, value)
	}, err)
}

// holdsTask is the refusal, unless a worker of the key holds a task of the run that is wanted.
func (g *guard) holdsTask(r *request, run string, wanted func(*world.Task) bool, refusal error) error {
	l := r.limited()
	if l == nil || len(l.Steps) == 0 {
		return refusal
	}
	tasks, err := g.below.Tasks(r.Context(), run)
	if err != nil {
		return err
	}
	for i := range tasks {
		t := &tasks[i]
		if t.Worker != "" && slices.Contains(l.Steps, t.Name) && wanted(t) && g.isOf(r, t.Worker) {
			return nil
		}
	}
	return refusal
}

// isOf reports whether a worker that is known joined with the key that asks.
func (g *guard) isOf(r *request, worker string) bool {
	key, ok := g.joined.get(worker)
	if !ok {
		key, ok, _ = g.lookUp(r.Context(), worker)
	}
	return ok && key == r.key.Name
}

// namesValue reports whether events of a commit refer to values that are kept apart: a run has those of its origin.
func namesValue(c *wire.Commit) bool {
	return slices.ContainsFunc(c.Events, func(e wire.Event) bool { return e.Apart != "" })
}

// mayWrite refuses a commit that writes to what the key is not for. That a worker commits to runs that it took the world holds; what is beside that is
// looked at here. A birth may be within another commit, that of the run whose code asks for it.
func (g *guard) mayWrite(r *request, c, within *wire.Commit) error {
	if r.limited() == nil {
		return nil
	}
	for i := range c.Events {
		switch e := &c.Events[i]; {
		case e.Birth != nil:
			if err := r.mayWorkflow(e.Birth.Workflow); err != nil {
				return err
			}
			if p := e.Birth.Parent; p != nil && !asksFor(within, c.Run, p) {
				return fmt.Errorf("%w: run %.100q: with a limited key, a child is created in the commit in which its parent asks for it", errScope, c.Run)
			}
			if o := e.Birth.Origin; o != nil {
				if err := g.mayRun(r, o.Run); err != nil && (!errors.Is(err, world.ErrNotFound) || namesValue(c)) {
					return err
				}
			}
		case e.Listen != nil: // it gets whatever anybody publishes
			return errLimitedQueues
		case e.Type == world.HookCreated:
			if err := r.mayOpen(&e.Event); err != nil {
				return fmt.Errorf("run %.100q: %w", c.Run, err)
			}
		case e.Type == world.StepCreated && e.Kind == world.KindAwait:
			if err := g.mayRun(r, e.Peer); err != nil {
				return err
			}
		}
	}
	for _, a := range c.Anew {
		if err := g.mayRun(r, a.Run); err != nil {
			return err
		}
	}
	if c.Worker == "" && (len(c.Events) == 0 || c.Events[0].Birth == nil) {
		if err := g.mayRun(r, c.Run); err != nil {
			return err
		}
	}
	for _, b := range c.Births {
		if err := g.mayWrite(r, b, c); err != nil {
			return err
		}
	}
	for i := range c.Send {
		if err := g.mayReach(r, &c.Send[i]); err != nil {
			return err
		}
	}
	return nil
}

// drawnToken is a hook's token that no code chose.
var drawnToken = regexp.MustCompile(`^(` + world.WebhookToken + `)?[0-9a-v]{26}$`)

// mayOpen refuses a hook whose token the code of other workflows may choose.
func (r *request) mayOpen(e *world.Event) error {
	if !e.Chosen && drawnToken.MatchString(e.Token) {
		return nil
	}
	if slices.ContainsFunc(r.limited().Tokens, func(prefix string) bool { return strings.HasPrefix(e.Token, prefix) }) {
		return nil
	}
	return fmt.Errorf("%w: it is limited, and the token %q of hook %.100q does not begin as it allows: write token=PREFIX behind the key's scope", errScope, world.ShownToken(e.Token), e.Name)
}

// asksFor reports whether a commit is of the run that a child says is its parent, and asks for that child.
func asksFor(c *wire.Commit, child string, p *world.Parent) bool {
	return c != nil && p.Run == c.Run && slices.ContainsFunc(c.Events, func(e wire.Event) bool {
		return e.Type == world.StepCreated && e.Kind == world.KindChild && e.ID == p.Step && e.Peer == child
	})
}

// mayReach refuses mail to what the key is not for. The end of a task's attempt goes to whichever run asked for it: that
// the worker holds it the world looks at, but for an attempt that was given up.
func (g *guard) mayReach(r *request, d *wire.Delivery) error {
	switch {
	case r.limited() == nil:
		return nil
	case d.Task != nil && !wakesTask(d) && d.Worker != "":
		if slices.ContainsFunc(d.Events, func(e wire.Event) bool { return e.Error != nil && e.Error.Code == world.CodeAbandoned }) {
			return g.mayTask(r, d.Task)
		}
		return nil
	case d.Task != nil:
		return g.mayRun(r, d.Task.Run)
	case d.Token == "":
		return g.mayRun(r, d.Run)
	}
	hooks, err := g.below.Hooks(r.Context(), world.HookQuery{Token: d.Token, Limit: 1})
	if err != nil || len(hooks) == 0 {
		return err // nobody has the token: the world says so
	}
	return g.mayRun(r, hooks[0].Run)
}

// mayTask refuses a task that the key is for neither by its run nor by its step.
func (g *guard) mayTask(r *request, k *wire.TaskKey) error {
	err := g.mayRun(r, k.Run)
	if err == nil || errors.Is(err, world.ErrNotFound) {
		return err
	}
	tasks, bad := g.below.Tasks(r.Context(), k.Run)
	if bad != nil {
		return bad
	}
	if slices.ContainsFunc(tasks, func(t world.Task) bool { return t.Step == k.Step && !slices.Contains(r.limited().Steps, t.Name) }) {
		return err
	}
	return nil // or there is no such task, as the world says
}

// within takes out of what a worker was given the runs of other workflows: any worker gets one that is to be cancelled and that nobody else would end. The
// server ends it itself.
func (g *guard) within(ctx context.Context, r *request, claimed *world.Claimed) error {
	l := r.limited()
	if l == nil {
		return nil
	}
	kept := claimed.Runs[:0]
	for i := range claimed.Runs {
		tk := &claimed.Runs[i]
		if slices.Contains(l.Workflows, tk.Class.Workflow) {
			kept = append(kept, *tk)
			continue
		}
		e := world.Event{Type: world.RunCancelled, Time: world.Now()}
		for _, m := range tk.Mail {
			if len(m.Events) > 0 && m.Events[0].Type == world.CancelRequested {
				e.By, e.Reason = m.Events[0].By, m.Events[0].Reason
			}
		}
		if _, err := g.below.Deliver(ctx, &world.Delivery{Run: tk.Run, Act: true, Events: []world.Event{e}}); err != nil {
			return fmt.Errorf("run %s: %w", tk.Run, err)
		}
	}
	claimed.Runs = kept
	return nil
}

// ours are the counts and workers that a limited key may see.
func (r *request) ours(stats *world.Stats) {
	l := r.limited()
	if l == nil {
		return
	}
	stats.Workflows = slices.DeleteFunc(stats.Workflows, func(w world.WorkflowStats) bool { return !slices.Contains(l.Workflows, w.Workflow) })
	stats.Workers = slices.DeleteFunc(stats.Workers, func(w world.WorkerRow) bool {
		return !slices.ContainsFunc(w.Classes, func(c world.Class) bool { return slices.Contains(l.Workflows, c.Workflow) }) &&
			!slices.ContainsFunc(w.Steps, func(name string) bool { return slices.Contains(l.Steps, name) })
	})
}
