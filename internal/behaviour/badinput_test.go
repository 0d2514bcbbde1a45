package behaviour_test

// What can never be accepted gets a clear error, and nothing changes.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// snapshot is all that clients can see of a world: runs, and their events.
func (r *rig) snapshot() map[string]any {
	r.Helper()
	all := map[string]any{}
	for cursor := ""; ; {
		page, err := r.world.Runs(r.ctx, world.RunQuery{Cursor: cursor})
		if err != nil {
			r.Fatal(err)
		}
		for _, run := range page.Runs {
			all[run.ID], all[run.ID+" events"] = run, r.events(run.ID)
		}
		if cursor = page.Cursor; cursor == "" {
			return all
		}
	}
}

// refused checks that each call fails with an error that is want and says what, and that all of them changed nothing.
func (r *rig) refused(calls map[string]refusal) {
	r.Helper()
	before := r.snapshot()
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		c := calls[name]
		if c.err == nil || c.is != nil && !errors.Is(c.err, c.is) || !strings.Contains(c.err.Error(), c.says) {
			r.Errorf("%s: got error %v, want %v that says %q", name, c.err, c.is, c.says)
		}
	}
	if diff := cmp.Diff(before, r.snapshot()); diff != "" {
		r.Errorf("something changed (before -, after +):\n%s", diff)
	}
}

type refusal struct {
	err  error
	is   error
	says string
}

var long300 = strings.Repeat("x", 300)

func TestBadStartsAreRefused(t *testing.T) {
	onWorlds(t, func(r *rig) {
		wf := serial(1)
		channel := stepwell.Define("channel", func(stepwell.Context, chan int) (int, error) { return 0, nil })
		text := stepwell.Define("text", func(stepwell.Context, string) (int, error) { return 0, nil })
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf, channel, text}, MaxPayload: 1000})
		want(r, start(r, wk, wf, 1, stepwell.RunID("taken")), 1)
		typed := func(opts ...stepwell.StartOption) error { _, err := wf.Start(r.ctx, wk.App, 1, opts...); return err }
		raw := func(name, input string) error { _, err := wk.Start(r.ctx, name, []byte(input)); return err }
		_, chErr := channel.Start(r.ctx, wk.App, make(chan int))
		_, longErr := text.Start(r.ctx, wk.App, strings.Repeat("x", 2000))
		invalid := stepwell.ErrInvalid
		r.refused(map[string]refusal{
			"input that does not encode": {chErr, nil, "chan int does not encode"},
			"input too large":            {longErr, stepwell.ErrTooLarge, "the limit is 1000 bytes"},
			"raw input too large":        {raw("serial-1", `"`+strings.Repeat("x", 2000)+`"`), stepwell.ErrTooLarge, "serial-1"},
			"input of another type":      {raw("serial-1", `"text"`), invalid, "expected a whole number, got the text"},
			"input null for a number":    {raw("serial-1", `null`), invalid, "expected a whole number, got null"},
			"input that is not JSON":     {raw("serial-1", `{`), invalid, "not JSON"},
			"trailing garbage":           {raw("serial-1", `1 2`), invalid, "not JSON"},
			"empty input":                {raw("serial-1", ``), invalid, "not JSON"},
			"empty name":                 {raw("", `1`), invalid, "workflow name"},
			"huge name":                  {raw(long300, `1`), invalid, "1 to 128 bytes, has 300"},
			"malformed name":             {raw("a b", `1`), invalid, `' ' is not allowed`},
			"taken ID":                   {typed(stepwell.RunID("taken")), stepwell.ErrRunExists, "serial-1"},
			"malformed ID":               {typed(stepwell.RunID("a/b")), invalid, "run ID"},
			"huge ID":                    {typed(stepwell.RunID(long300)), invalid, "run ID"},
			"ID of dots":                 {typed(stepwell.RunID("..")), invalid, "run ID"},
			"huge key":                   {typed(stepwell.Key(long300 + long300)), invalid, "idempotency key"},
			"unprintable key":            {typed(stepwell.Key("a\x00b")), invalid, "not printable"},
			"key that is not UTF-8":      {typed(stepwell.Key("a\xffb")), invalid, "not valid UTF-8"},
			"negative delay":             {typed(stepwell.Delay(-time.Second)), invalid, "delay -1s"},
			"negative retention":         {typed(stepwell.Retention(-time.Hour)), invalid, "retention -1h0m0s"},
			"priority 5":                 {typed(stepwell.Priority(5)), invalid, "priority 5"},
			"negative version":           {typed(stepwell.Version(-1)), invalid, "version -1"},
		})
	})
}

func TestBadSendsAreRefused(t *testing.T) {
	onWorlds(t, func(r *rig) {
		wf := stepwell.Define("waits", func(ctx stepwell.Context, _ struct{}) (int, error) {
			return 0, stepwell.Sleep(ctx, "long", time.Hour)
		})
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, MaxPayload: 1000})
		run := start(r, wk, wf, struct{}{})
		until(r, "the sleep", func() bool { q := r.get(run.ID()).Queue; return q != nil && q.Owner == "" })
		raw := func(name, payload string, opts ...stepwell.SendOption) error {
			return wk.Signal(r.ctx, run.ID(), name, []byte(payload), opts...)
		}
		r.refused(map[string]refusal{
			"payload that does not encode": {stepwell.Event[chan int]("e").Send(r.ctx, wk.App, run.ID(), make(chan int)), nil, "does not encode"},
			"payload too large":            {stepwell.Event[string]("e").Send(r.ctx, wk.App, run.ID(), strings.Repeat("x", 2000)), stepwell.ErrTooLarge, "the limit is 1000"},
			"raw payload too large":        {raw("e", `"`+strings.Repeat("x", 2000)+`"`), stepwell.ErrTooLarge, "the limit is 1000"},
			"payload that is not JSON":     {raw("e", `{"a":`), stepwell.ErrInvalid, "not JSON"},
			"empty name":                   {raw("", `1`), stepwell.ErrInvalid, "1 to 256 bytes, has 0"},
			"huge name":                    {raw(long300, `1`), stepwell.ErrInvalid, "1 to 256 bytes, has 300"},
			"unprintable name":             {raw("a\nb", `1`), stepwell.ErrInvalid, "not printable"},
			"empty delivery ID":            {raw("e", `1`, stepwell.DeliveryID(long300+long300)), stepwell.ErrInvalid, "delivery ID"},
		})
	})
}

// Workflow code gets the error of a bad operation, and nothing of it is in the log.
func TestBadOperationsOfWorkflowCode(t *testing.T) {
	everywhere(t, func(r *rig) {
		task := stepwell.DefineStep("takes-channel", func(context.Context, chan int) (int, error) { return 0, nil })
		body := func(context.Context) error { r.Error("it ran"); return nil }
		wf := stepwell.Define("bad-operations", func(ctx stepwell.Context, _ struct{}) (faults []string, err error) {
			check := func(what string, err error, is error, says string) {
				if err == nil || is != nil && !errors.Is(err, is) || !strings.Contains(err.Error(), says) {
					faults = append(faults, fmt.Sprintf("%s: %v", what, err))
				}
			}
			invalid := stepwell.ErrInvalid
			check("empty step", stepwell.Do(ctx, "", body), invalid, "step name")
			check("huge step", stepwell.Do(ctx, long300, body), invalid, "has 300")
			check("unprintable step", stepwell.Do(ctx, "a\tb", body), invalid, "not printable")
			check("empty wait", stepwell.Sleep(ctx, "", time.Second), invalid, "wait name")
			check("negative timeout", stepwell.Do(ctx, "s", body, stepwell.Timeout(-time.Second)), invalid, "negative")
			check("timeout of nothing", stepwell.Do(ctx, "s", body, stepwell.Timeout(0)), invalid, "timeout 0s: want more than 0")
			check("negative base", stepwell.Do(ctx, "s", body, stepwell.Retry{Base: -1}), invalid, `step "s"`)
			check("negative cap", stepwell.Do(ctx, "s", body, stepwell.Retry{Cap: -1}), invalid, `step "s"`)
			check("negative total", stepwell.Do(ctx, "s", body, stepwell.Retry{Total: -1}), invalid, `step "s"`)
			check("jitter of 2", stepwell.Do(ctx, "s", body, stepwell.Retry{Jitter: 2}), invalid, "jitter")
			check("unknown backoff", stepwell.Do(ctx, "s", body, stepwell.Retry{Backoff: "often"}), invalid, `"often"`)
			_, err = task.Run(ctx, make(chan int))
			check("input that does not encode", err, nil, `step "takes-channel": input`)
			_, _, err = numbers.Wait(ctx, stepwell.Match{"m": 1})
			check("match of an unknown key", err, invalid, `"m"`)
			_, _, err = numbers.Wait(ctx, stepwell.Match{"n": make(chan int)})
			check("match that does not encode", err, nil, "match")
			_, _, err = numbers.Wait(ctx, stepwell.Timeout(-1))
			check("negative wait", err, invalid, "negative")
			_, _, err = stepwell.Event[int]("").Wait(ctx)
			check("event without a name", err, invalid, "1 to 256 bytes")
			_, err = stepwell.Race[int](ctx)
			check("race of nothing", err, invalid, "a race needs at least one future")
			return faults, nil
		})
		run := start(r, r.begin(wf, task), wf, struct{}{})
		want(r, run, nil)
		var types []world.EventType
		for _, e := range r.events(run.ID()) {
			types = append(types, e.Type)
		}
		if diff := cmp.Diff([]world.EventType{world.RunCreated, world.RunStarted, world.RunCompleted}, types); diff != "" {
			r.Errorf("events: want -, got +:\n%s", diff)
		}
		r.replays(run.ID(), wf, task)
	})
}

func TestAnOutputThatCannotBeKeptFailsTheRun(t *testing.T) {
	everywhere(t, func(r *rig) {
		channel := stepwell.Define("out-channel", func(stepwell.Context, struct{}) (chan int, error) { return make(chan int), nil })
		large := stepwell.Define("out-large", func(stepwell.Context, struct{}) (string, error) { return strings.Repeat("x", 2000), nil })
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{channel, large}, MaxPayload: 1000})
		if e := wantErr(r, start(r, wk, channel, struct{}{}), world.Failed); e.Code != world.CodeEncode || !strings.Contains(e.Error(), "out-channel: output") {
			r.Errorf("error = %s: %v, want ENCODE and the workflow", e.Code, e)
		}
		if e := wantErr(r, start(r, wk, large, struct{}{}), world.Failed); e.Code != world.CodeTooLarge || !errors.Is(e, stepwell.ErrTooLarge) {
			r.Errorf("error = %s: %v, want TOO_LARGE", e.Code, e)
		}
	})
}

func TestNewReportsAllFaultsAtOnceByName(t *testing.T) {
	fn := func(stepwell.Context, int) (int, error) { return 0, nil }
	step := func(context.Context, int) (int, error) { return 0, nil }
	onWorlds(t, func(r *rig) {
		_, err := stepwell.New(r.world, stepwell.Config{
			Definitions: []stepwell.Definition{
				stepwell.Define("twice", fn), stepwell.Define("twice", fn), stepwell.Define("twice", fn, stepwell.Version(2)),
				stepwell.Define("bad name", fn), stepwell.Define[int, int]("no-function", nil),
				stepwell.Define("version", fn, stepwell.Version(0)), stepwell.Define("retention", fn, stepwell.Retention(-time.Hour)),
				stepwell.DefineStep("step-twice", step), stepwell.DefineStep("step-twice", step),
				stepwell.DefineStep("", step), stepwell.DefineStep[int, int]("no-step-function", nil),
				stepwell.DefineStep("bad-policy", step, stepwell.Retry{Jitter: 3}), nil,
				stepwell.KnownError("no-error", nil), stepwell.KnownErrorType[error]("no-type"),
			},
			MaxRuns: -1, MaxSteps: -2, MaxPayload: 1 << 30, Drain: -time.Second, Lease: -1, Poll: -1, CancelGrace: -1,
		})
		if !errors.Is(err, stepwell.ErrInvalid) {
			r.Fatalf("New = %v, want ErrInvalid", err)
		}
		for _, says := range []string{
			`workflow "twice" version 1 is registered twice`, `"bad name"`, `workflow "no-function": `, `workflow "version": `, `workflow "retention": `,
			`step "step-twice" is registered twice`, `step "": `, `step "no-step-function": `, `step "bad-policy": `, "Definitions[12] is nil",
			`known error "no-error": `, `known error type "no-type": `,
			"MaxRuns is -1", "MaxSteps is -2", "MaxPayload is 1073741824", "Drain is -1s", "Lease", "Poll", "CancelGrace",
		} {
			if !strings.Contains(err.Error(), says) {
				r.Errorf("the error lacks %q:\n%v", says, err)
			}
		}
	})
	if _, err := stepwell.New(nil, stepwell.Config{}); !errors.Is(err, stepwell.ErrInvalid) {
		t.Errorf("New without a world = %v, want ErrInvalid", err)
	}
}
