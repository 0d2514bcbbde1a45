package world_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// methodsOf calls f with each method of a world, and of its groups, that takes a context.
func methodsOf(w world.World, f func(name string, m reflect.Value)) {
	each := func(group string, v reflect.Value, of reflect.Type) {
		for i := range of.NumMethod() {
			name := of.Method(i).Name
			m := v.MethodByName(name)
			if n := m.Type().NumOut(); n > 0 && m.Type().Out(n-1) == reflect.TypeFor[error]() {
				f(group+name, m)
			}
		}
	}
	each("", reflect.ValueOf(w), reflect.TypeFor[world.World]())
	for group, v := range map[string]any{
		"Messages": w.Messages(), "Topics": w.Topics(), "Schedules": w.Schedules(), "Starts": w.Starts(), "Limits": w.Limits(), "Values": w.Values(),
	} {
		of, _ := reflect.TypeFor[world.World]().MethodByName(group)
		each(group+".", reflect.ValueOf(v), of.Type.Out(0))
	}
}

// with calls a method with zero values, and returns its results.
func with(m reflect.Value, ctx context.Context) []reflect.Value {
	var args []reflect.Value
	for i := range m.Type().NumIn() {
		args = append(args, reflect.Zero(m.Type().In(i)))
	}
	if len(args) > 0 {
		args[0] = reflect.ValueOf(ctx)
	}
	if m.Type().IsVariadic() {
		return m.CallSlice(args)
	}
	return m.Call(args)
}

// TestIntercept: each call goes through the function, under its name and with its arguments, to the same method of the
// world below.
func TestIntercept(t *testing.T) {
	var calls []world.Call
	away := errors.New("away")
	note := func(ctx context.Context, c world.Call, next world.Next) (any, error) {
		if calls = append(calls, c); len(calls) == 2 {
			return nil, away
		}
		return next(ctx)
	}
	w := world.Intercept(world.Intercept(world.Unimplemented{}, note), note)
	methodsOf(w, func(name string, m reflect.Value) {
		calls = nil
		out := with(m, t.Context())
		if len(calls) != 2 || calls[0].Method != name || len(calls[0].Args) != max(m.Type().NumIn()-1, 0) || !reflect.DeepEqual(calls[0], calls[1]) {
			t.Errorf("%s: got the calls %+v", name, calls)
		}
		if err := out[len(out)-1].Interface(); err != away {
			t.Errorf("%s: got error %v", name, err)
		}
	})
}

// TestInterceptAnswers: a call may be answered without the world below.
func TestInterceptAnswers(t *testing.T) {
	below := memory.New()
	w := world.Intercept(below, func(_ context.Context, c world.Call, _ world.Next) (any, error) {
		switch c.Method {
		case "Run":
			return world.Run{ID: c.Args[0].(string)}, nil
		case "Messages.PurgeMessages":
			return world.Two[int, bool]{A: 45, B: true}, nil
		}
		return nil, nil
	})
	if r, err := w.Run(t.Context(), "r"); r.ID != "r" || err != nil {
		t.Errorf("got run %q, %v", r.ID, err)
	}
	if n, more, err := w.Messages().PurgeMessages(t.Context(), "q", false); n != 45 || !more || err != nil {
		t.Errorf("purged %d, %v, %v", n, more, err)
	}
	if all, err := w.Metrics(t.Context()); all != nil || err != nil {
		t.Errorf("got metrics %v, %v", all, err)
	}
	if w.Messages() != w.Messages() {
		t.Error("the queues of one world differ")
	}
	if w.Abilities() != below.Abilities() {
		t.Error("abilities are lost")
	}
	if _, err := below.Run(t.Context(), "r"); !errors.Is(err, world.ErrNotFound) {
		t.Error(err)
	}
}

// TestUnimplemented: each method says that the store does not implement it.
func TestUnimplemented(t *testing.T) {
	w := world.Unimplemented{}
	methodsOf(w, func(name string, m reflect.Value) {
		out := with(m, t.Context())
		err, _ := out[len(out)-1].Interface().(error)
		if !errors.Is(err, errors.ErrUnsupported) || !slices.Contains(strings.Fields(err.Error()), name) {
			t.Errorf("%s: got error %v", name, err)
		}
	})
	w.Notify(nil)()
	if w.Abilities() != (world.Abilities{}) {
		t.Errorf("it has abilities: %+v", w.Abilities())
	}
}
