package replay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/world"
)

// TestMismatchShowsStateKeptOutsideSteps has code behave differently on its second evaluation, in each way that a run could notice.
func TestMismatchShowsStateKeptOutsideSteps(t *testing.T) {
	tests := map[string]struct {
		code func(x *Ctx, second bool) Outcome
		want string // in the report; "": no report
	}{
		"nothing":      {func(x *Ctx, _ bool) Outcome { step(x, "a"); return Outcome{} }, ""},
		"another step": {func(x *Ctx, second bool) Outcome { step(x, fmt.Sprint("again ", second)); return Outcome{} }, `step "again true"`},
		"one more": {func(x *Ctx, second bool) Outcome {
			if second {
				x.Step(world.KindClosure, "more", nil, nil)
			}
			x.WaitAny()
			return Outcome{}
		}, `step "more"`},
		"another input": {func(x *Ctx, second bool) Outcome {
			x.Wait(x.Step(world.KindTask, "a", fmt.Append(nil, second), nil))
			return Outcome{}
		}, "with input false"},
		"an end": {func(x *Ctx, second bool) Outcome { return Outcome{Output: fmt.Append(nil, second)} }, "to complete with output true"},
		"a random number": {func(x *Ctx, second bool) Outcome {
			if second {
				x.Uint64()
			}
			x.WaitAny()
			return Outcome{}
		}, "the random sequence"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			live, err := begunWith(t, Config{Strict: true}, func(x *Ctx) Outcome { return tt.code(x, false) })
			if err != nil {
				t.Fatal(err)
			}
			replayed, err := begunWith(t, Config{Strict: true}, func(x *Ctx) Outcome { return tt.code(x, true) })
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := Mismatch(live, replayed, 1, nil); err != nil {
				got = err.Error()
			}
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("report %q, want %q in it", got, tt.want)
			}
		})
	}
}

func TestStrictModeReportsAnotherInputUnderTheSameID(t *testing.T) {
	body := func(input string) Body {
		return func(x *Ctx) Outcome {
			x.Wait(x.Step(world.KindTask, "a", []byte(input), nil))
			return Outcome{}
		}
	}
	l := start(t, body("1"))
	for _, strict := range []bool{false, true} {
		m := New(Config{Run: "wrun_test", Created: created, Seed: 7, Strict: strict}, body("2"))
		err := m.Feed(l.log, false)
		switch {
		case !strict && (err != nil || string(m.Op(l.id("a", 0)).Input) != "1"):
			t.Errorf("not strict: error %v, input %s; want the recorded 1 to stand", err, m.Op(l.id("a", 0)).Input)
		case strict && (err == nil || !strings.Contains(err.Error(), `step "a" with input 1`) || !strings.Contains(err.Error(), `step "a" with input 2`)):
			t.Errorf("strict: error %v, want both inputs", err)
		}
		m.Close()
	}
}

// TestStrictModeTakesAConflictWithoutMetadata: the record of a refused token does not keep what the hook would have shown.
func TestStrictModeTakesAConflictWithoutMetadata(t *testing.T) {
	m := New(Config{Run: "wrun_test", Created: created, Strict: true}, func(x *Ctx) Outcome {
		h := x.Hook("h", "mine", []byte(`{"for":"review"}`))
		x.Wait(h)
		return Outcome{Output: fmt.Append(nil, h.Err())}
	})
	defer m.Close()
	if err := m.Feed([]world.Event{{Seq: 1, Type: world.RunStarted, Time: created}}, false); err != nil {
		t.Fatal(err)
	}
	e := m.Asked()[0].Event(created)
	conflict := world.Event{Seq: 2, Type: world.HookConflict, Time: created, ID: e.ID, Name: e.Name, Token: e.Token, Peer: "wrun_other"}
	if err := m.Feed([]world.Event{conflict}, false); err != nil {
		t.Fatalf("feed the conflict: %v", err)
	}
	if got, want := string(m.Outcome().Output), `the hook's token is held by run wrun_other`; got != want {
		t.Errorf("output %q, want %q", got, want)
	}
}
