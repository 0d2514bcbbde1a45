package observe

// Several Join as one.

import (
	"context"
	"maps"
)

// Join returns an Observer that calls several, one after another. Nil ones are left out; Join of
// none is nil. If several add the same key to a start's context, the first wins. The context of a
// step's body passes through all. A panic of one does not affect the others.
func Join(all ...*Observer) *Observer {
	var list []*Observer
	for _, o := range all {
		if o != nil {
			list = append(list, o)
		}
	}
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return &Observer{
		Starting: func(ctx context.Context, start Start) map[string]string {
			return merge(list, func(o *Observer) map[string]string {
				if o.Starting == nil {
					return nil
				}
				return o.Starting(ctx, start)
			})
		},
		StartingChild: func(parent Run, start Start) map[string]string {
			return merge(list, func(o *Observer) map[string]string {
				if o.StartingChild == nil {
					return nil
				}
				return o.StartingChild(parent, start)
			})
		},
		RunStarted:   each(list, func(o *Observer) func(Run) { return o.RunStarted }),
		RunContinued: each(list, func(o *Observer) func(Run) { return o.RunContinued }),
		RunEnded:     each(list, func(o *Observer) func(Run) { return o.RunEnded }),
		RunBlocked:   each(list, func(o *Observer) func(Run) { return o.RunBlocked }),
		Attempt:      attempts(list),
		StepStarted:  each(list, func(o *Observer) func(Step) { return o.StepStarted }),
		StepRetried:  each(list, func(o *Observer) func(Step) { return o.StepRetried }),
		StepEnded:    each(list, func(o *Observer) func(Step) { return o.StepEnded }),
		WaitStarted:  each(list, func(o *Observer) func(Wait) { return o.WaitStarted }),
		WaitEnded:    each(list, func(o *Observer) func(Wait) { return o.WaitEnded }),
		Signal:       each(list, func(o *Observer) func(Signal) { return o.Signal }),
		Swept:        each(list, func(o *Observer) func(int) { return o.Swept }),
	}
}

// each calls the same function of all; nil where none has it.
func each[T any](list []*Observer, of func(*Observer) func(T)) func(T) {
	var fns []func(T)
	for _, o := range list {
		if fn := of(o); fn != nil {
			fns = append(fns, fn)
		}
	}
	switch len(fns) {
	case 0:
		return nil
	case 1:
		return fns[0]
	}
	return func(v T) {
		var failed any
		for _, fn := range fns {
			func() {
				defer func() {
					if p := recover(); p != nil {
						failed = p
					}
				}()
				fn(v)
			}()
		}
		if failed != nil {
			panic(failed)
		}
	}
}

// merge joins what all say; the first one's stands.
func merge(list []*Observer, ask func(*Observer) map[string]string) map[string]string {
	out := map[string]string{}
	for i := len(list) - 1; i >= 0; i-- {
		maps.Copy(out, ask(list[i]))
	}
	return out
}

// attempts brackets a body with all, the first outermost.
func attempts(list []*Observer) func(context.Context, Step) (context.Context, func(error)) {
	var fns []func(context.Context, Step) (context.Context, func(error))
	for _, o := range list {
		if o.Attempt != nil {
			fns = append(fns, o.Attempt)
		}
	}
	if len(fns) == 0 {
		return nil
	}
	return func(ctx context.Context, step Step) (context.Context, func(error)) {
		ends := make([]func(error), 0, len(fns))
		for _, fn := range fns {
			its, end := fn(ctx, step)
			if its != nil {
				ctx = its
			}
			if end != nil {
				ends = append(ends, end)
			}
		}
		return ctx, func(err error) {
			for i := len(ends) - 1; i >= 0; i-- {
				ends[i](err)
			}
		}
	}
}
