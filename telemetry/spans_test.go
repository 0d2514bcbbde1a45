package telemetry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/telemetry"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// tree writes spans as lines: each below its parent, with its attributes and how long it took.
func tree(spans ...tracetest.SpanStub) string {
	var b strings.Builder
	known := map[trace.SpanID]bool{}
	for _, s := range spans {
		known[s.SpanContext.SpanID()] = true
	}
	var write func(above trace.SpanID, depth int)
	line := func(s tracetest.SpanStub, depth int) {
		fmt.Fprintf(&b, "%s%s", strings.Repeat("  ", depth), s.Name)
		for _, a := range s.Attributes {
			fmt.Fprintf(&b, " %s=%v", a.Key, a.Value.AsInterface())
		}
		if s.Status.Code == codes.Error {
			fmt.Fprintf(&b, " error(%s)", s.Status.Description)
		}
		fmt.Fprintf(&b, " %s\n", s.EndTime.Sub(s.StartTime))
		write(s.SpanContext.SpanID(), depth+1)
	}
	sorted := slices.Clone(spans)
	slices.SortStableFunc(sorted, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	write = func(above trace.SpanID, depth int) {
		for _, s := range sorted {
			if s.Parent.SpanID() == above && above.IsValid() {
				line(s, depth)
			}
		}
	}
	for _, s := range sorted {
		if !known[s.Parent.SpanID()] {
			if s.Parent.SpanID().IsValid() {
				fmt.Fprintf(&b, "below %s: ", s.Parent.SpanID())
			}
			line(s, 0)
		}
	}
	return b.String()
}

// traces are the IDs of all spans' traces.
func traces(spans ...tracetest.SpanStub) (ids []string) {
	for _, s := range spans {
		ids = append(ids, s.SpanContext.TraceID().String())
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

const caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestOneTraceAcrossProcesses: a run begins in one process, sleeps the night, and ends in another, which has its own telemetry.
func TestOneTraceAcrossProcesses(t *testing.T) {
	for name, test := range map[string]struct {
		context map[string]string
		trace   string
		root    string
	}{
		"of its own":    {nil, "", ""},
		"of its caller": {map[string]string{"traceparent": caller}, "0af7651916cd43dd8448eb211c80319c", "below b7ad6b7169203331: "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := memory.New()
				defer w.Close()
				cfg := stepwell.Config{Definitions: []stepwell.Definition{order}}
				first := begin(t, w, telemetry.Options{}, cfg)
				if _, err := order.Start(t.Context(), first.App, "", stepwell.RunID("o1"), stepwell.Tags(test.context)); err != nil {
					t.Fatal(err)
				}
				<-time.After(2 * time.Minute)
				first.stop()
				second := begin(t, w, telemetry.Options{}, cfg)
				<-time.After(8 * time.Minute)
				if err := approved.Send(t.Context(), second.App, "o1", "yes"); err != nil {
					t.Fatal(err)
				}
				until(t, "the run's span", func() bool {
					return slices.ContainsFunc(second.spans.GetSpans(), func(s tracetest.SpanStub) bool { return s.Name == "workflow.run" })
				})
				second.stop()
				one, two := first.spans.GetSpans(), second.spans.GetSpans()
				const who = " workflow.name=order run_id=o1 workflow.version=1 "
				want := test.root + "workflow.run" + who + "status=completed 10m0s\n" +
					"  workflow.step" + who + "step.name=charge step.kind=run step.attempt=1 error.type=*errors.errorString error(*errors.errorString) 0s\n" +
					"  workflow.step" + who + "step.name=charge step.kind=run step.attempt=2 0s\n" +
					"  workflow.step" + who + "step.name=night step.kind=sleep step.attempt=1 8m0s\n" +
					"  workflow.step" + who + "step.name=approved step.kind=wait step.attempt=1 1m0s\n" +
					"  workflow.signal" + who + "event=approved 0s\n"
				all := append(slices.Clone(one), two...)
				if diff := cmp.Diff(want, tree(all...)); diff != "" {
					t.Errorf("spans of both processes: want -, got +:\n%s", diff)
				}
				if ids := traces(all...); len(ids) != 1 || test.trace != "" && ids[0] != test.trace {
					t.Errorf("traces %v, want one: %s", ids, test.trace)
				}
				if len(one) != 2 || len(two) != 4 {
					t.Errorf("%d spans of the first process and %d of the second, want 2 and 4", len(one), len(two))
				}
			})
		})
	}
}

// family has a child, tasks of which some go through the queue, a body that has a span of its own and starts a run.
func family(tracer func() trace.Tracer, app func() *stepwell.App) (*stepwell.Workflow[string, int], []stepwell.Definition) {
	task := stepwell.DefineStep("task", func(ctx context.Context, n int) (int, error) {
		_, span := tracer().Start(ctx, "GET /stock")
		span.End()
		return n, nil
	})
	note := stepwell.Define("note", func(ctx stepwell.Context, _ int) (int, error) {
		return stepwell.Step(ctx, "write", func(context.Context) (int, error) { return 1, nil })
	})
	child := stepwell.Define("child", func(ctx stepwell.Context, _ int) (int, error) {
		return stepwell.Step(ctx, "inner", func(ctx context.Context) (int, error) {
			_, err := note.Start(ctx, app(), 0, stepwell.RunID("n1"))
			return 1, err
		})
	})
	parent := stepwell.Define("parent", func(ctx stepwell.Context, _ string) (int, error) {
		if _, err := stepwell.All(ctx, task.Start(ctx, 1), task.Start(ctx, 2, stepwell.Timeout(time.Hour))); err != nil {
			return 0, err
		}
		return child.Child(stepwell.RunID("c1")).Run(ctx, 0)
	})
	return parent, []stepwell.Definition{parent, child, note, task}
}

// TestFamiliesShareATrace: children, runs that a body starts, and what a body does itself. The caller's span is the active one of its context.
func TestFamiliesShareATrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		defer w.Close()
		var p *process
		parent, defs := family(func() trace.Tracer { return p.provider.Tracer("the author's") }, func() *stepwell.App { return p.App })
		p = begin(t, w, telemetry.Options{}, stepwell.Config{Definitions: defs})
		ctx, span := p.provider.Tracer("the author's").Start(t.Context(), "POST /order")
		run, err := parent.Start(ctx, p.App, "", stepwell.RunID("p1"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(ctx); err != nil {
			t.Fatal(err)
		}
		span.End()
		until(t, "all spans", func() bool { return len(p.spans.GetSpans()) >= 10 }) // those of ends come a moment after the results
		want := `POST /order 0s
  workflow.run workflow.name=parent run_id=p1 workflow.version=1 status=completed 0s
    workflow.step workflow.name=parent run_id=p1 workflow.version=1 step.name=task step.kind=run step.attempt=1 0s
      GET /stock 0s
    workflow.step workflow.name=parent run_id=p1 workflow.version=1 step.name=task step.kind=run step.attempt=1 0s
      GET /stock 0s
    workflow.run workflow.name=child run_id=c1 workflow.version=1 status=completed 0s
      workflow.step workflow.name=child run_id=c1 workflow.version=1 step.name=inner step.kind=run step.attempt=1 0s
        workflow.run workflow.name=note run_id=n1 workflow.version=1 status=completed 0s
          workflow.step workflow.name=note run_id=n1 workflow.version=1 step.name=write step.kind=run step.attempt=1 0s
`
		if diff := cmp.Diff(sortedBlock(want), sortedBlock(tree(p.spans.GetSpans()...))); diff != "" {
			t.Errorf("spans: want -, got +:\n%s", diff)
		}
	})
}

// sortedBlock puts lines in an order that does not depend on which of two things that happen at once is told first; their depth stays.
func sortedBlock(text string) []string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return lines
}

// TestTasksOfAnotherProcessAreOfTheTrace: a worker that has only the registered step gets the task through the queue, with the trace and the version.
func TestTasksOfAnotherProcessAreOfTheTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		defer w.Close()
		task := stepwell.DefineStep("task", func(context.Context, int) (int, error) { return 1, nil })
		wf := stepwell.Define("owner", func(ctx stepwell.Context, _ string) (int, error) { return task.Run(ctx, 1) }, stepwell.Version(3))
		owner := begin(t, w, telemetry.Options{}, stepwell.Config{Definitions: []stepwell.Definition{wf}})
		hand := begin(t, w, telemetry.Options{}, stepwell.Config{Definitions: []stepwell.Definition{task}})
		run, err := wf.Start(t.Context(), owner.App, "", stepwell.RunID("r1"), stepwell.Tags(map[string]string{"traceparent": caller, "tracestate": "v=1"}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(t.Context()); err != nil {
			t.Fatal(err)
		}
		owner.stop()
		hand.stop()
		theirs := hand.spans.GetSpans()
		if len(theirs) != 1 || theirs[0].SpanContext.TraceState().String() != "v=1" {
			t.Fatalf("the other process has %d spans, want one, with the trace's state", len(theirs))
		}
		want := "below b7ad6b7169203331: workflow.run workflow.name=owner run_id=r1 workflow.version=3 status=completed 0s\n" +
			"  workflow.step workflow.name=owner run_id=r1 workflow.version=3 step.name=task step.kind=run step.attempt=1 0s\n"
		if diff := cmp.Diff(want, tree(append(owner.spans.GetSpans(), theirs...)...)); diff != "" {
			t.Errorf("spans: want -, got +:\n%s", diff)
		}
	})
}

// TestNoSpanTwice: a process dies before or after each of its commits in turn; another replays the run and ends it.
func TestNoSpanTwice(t *testing.T) {
	for _, after := range []bool{false, true} {
		for k := 1; ; k++ {
			died := false
			synctest.Test(t, func(t *testing.T) {
				w := memory.New()
				defer w.Close()
				var mortal *faults.World
				fault := faults.Fault{Before: func() { died = true; mortal.Kill() }}
				if after {
					fault.Before, fault.After = nil, fault.Before
				}
				mortal = faults.New(w, faults.At(faults.Commit, k, fault))
				client, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{order}})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := order.Start(t.Context(), client, "", stepwell.RunID("o1")); err != nil {
					t.Fatal(err)
				}
				cfg := stepwell.Config{Definitions: []stepwell.Definition{order}, CacheRuns: -1, SweepInterval: -1}
				first := begin(t, mortal, telemetry.Options{}, cfg)
				<-time.After(10 * time.Minute)
				if died {
					first.stop()
				}
				second := begin(t, w, telemetry.Options{}, cfg)
				if err := approved.Send(t.Context(), client, "o1", "yes"); err != nil {
					t.Fatal(err)
				}
				<-time.After(10 * time.Minute)
				first.stop()
				second.stop()
				count := map[string]int{}
				all := append(first.spans.GetSpans(), second.spans.GetSpans()...)
				for _, s := range all {
					count[fmt.Sprint(s.Name, s.Attributes)]++
				}
				for what, n := range count {
					if n > 1 {
						t.Errorf("dies at commit %d, after %v: %d spans of %s", k, after, n, what)
					}
				}
				if row, err := w.Run(t.Context(), "o1"); err != nil || row.Status != world.Completed {
					t.Errorf("dies at commit %d: the run is %s, %v", k, row.Status, err)
				}
				if ids := traces(all...); len(ids) != 1 {
					t.Errorf("dies at commit %d: traces %v, want one", k, ids)
				}
				if !after && count["workflow.run"+fmt.Sprint(runAttributes(all))] != 1 {
					t.Errorf("dies before commit %d: no span of the run", k)
				}
			})
			if !died || t.Failed() {
				if k < 4 {
					t.Errorf("died at %d commits, want more", k-1)
				}
				break
			}
		}
	}
}

func runAttributes(spans []tracetest.SpanStub) any {
	for _, s := range spans {
		if s.Name == "workflow.run" {
			return s.Attributes
		}
	}
	return nil
}

// TestErrorsInSpans: an error's message is the author's, and in no span unless that is asked for.
func TestErrorsInSpans(t *testing.T) {
	for _, messages := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := memory.New()
			defer w.Close()
			p := begin(t, w, telemetry.Options{ErrorMessages: messages}, stepwell.Config{Definitions: []stepwell.Definition{broken, order}})
			for _, how := range []string{"secret-of-the-author", strings.Repeat("é", 2000)} {
				if _, err := broken.Start(t.Context(), p.App, how); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := order.Start(t.Context(), p.App, ""); err != nil {
				t.Fatal(err)
			}
			<-time.After(3 * time.Minute)
			p.stop()
			text, failed := "", 0
			for _, s := range p.spans.GetSpans() {
				text += fmt.Sprint(s.Name, s.Attributes, s.Status, s.Events, "\n")
				if s.Status.Code == codes.Error {
					failed++
				}
				if len(s.Status.Description) > 1024 || !json.Valid([]byte(`"`+s.Status.Description+`"`)) {
					t.Errorf("a status of %d bytes, want text of at most 1,024", len(s.Status.Description))
				}
			}
			if failed != 3 {
				t.Errorf("%d spans failed, want 3:\n%s", failed, text)
			}
			if n := strings.Count(text, "secret-of-the-author"); n != map[bool]int{false: 0, true: 2}[messages] {
				t.Errorf("messages %v: the message is there %d times:\n%s", messages, n, text)
			}
		})
	}
}

// TestAProviderWithoutOurGenerator: the spans of a run are one trace all the same, side by side.
func TestAProviderWithoutOurGenerator(t *testing.T) {
	for _, above := range []map[string]string{nil, {"traceparent": caller}} {
		synctest.Test(t, func(t *testing.T) {
			w := memory.New()
			defer w.Close()
			spans := tracetest.NewInMemoryExporter()
			p := begin(t, w, telemetry.Options{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))}, stepwell.Config{Definitions: []stepwell.Definition{order}})
			if _, err := order.Start(t.Context(), p.App, "", stepwell.RunID("o1"), stepwell.Tags(above)); err != nil {
				t.Fatal(err)
			}
			<-time.After(10 * time.Minute)
			if err := p.Cancel(t.Context(), "o1", ""); err != nil {
				t.Fatal(err)
			}
			<-time.After(3 * time.Minute)
			all := spans.GetSpans()
			if ids := traces(all...); len(ids) != 1 || len(all) != 4 {
				t.Errorf("%d spans in traces %v, want 4 in one", len(all), ids)
			}
			for _, s := range all {
				if want := map[bool]string{false: "0000000000000000", true: "b7ad6b7169203331"}[above != nil]; s.Parent.SpanID().String() != want {
					t.Errorf("%s is below %s, want %s", s.Name, s.Parent.SpanID(), want)
				}
			}
		})
	}
}

// TestSampling: what a run's own span is sampled as, that are those of its steps, in every process; a caller who samples nothing is heeded.
func TestSampling(t *testing.T) {
	unsampled := strings.TrimSuffix(caller, "1") + "0"
	for name, test := range map[string]struct {
		sampler sdktrace.Sampler
		context map[string]string
		runs    int // of 20, at least one and not all; 0: none
		all     bool
	}{
		"all":                  {nil, nil, 20, true},
		"the caller's not":     {nil, map[string]string{"traceparent": unsampled}, 0, true},
		"none":                 {sdktrace.ParentBased(sdktrace.NeverSample()), nil, 0, true},
		"some":                 {sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.5)), nil, 0, false},
		"some, not by parents": {sdktrace.TraceIDRatioBased(0.5), nil, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := memory.New()
				defer w.Close()
				spans := tracetest.NewInMemoryExporter()
				opts := []sdktrace.TracerProviderOption{sdktrace.WithSyncer(spans), sdktrace.WithIDGenerator(telemetry.IDGenerator())}
				if test.sampler != nil {
					opts = append(opts, sdktrace.WithSampler(test.sampler))
				}
				p := begin(t, w, telemetry.Options{TracerProvider: sdktrace.NewTracerProvider(opts...), Sampler: test.sampler}, stepwell.Config{Definitions: []stepwell.Definition{order}})
				for i := range 20 {
					if _, err := order.Start(t.Context(), p.App, "", stepwell.RunID(fmt.Sprint("o", i)), stepwell.Tags(test.context)); err != nil {
						t.Fatal(err)
					}
				}
				<-time.After(10 * time.Minute)
				for i := range 20 {
					if err := approved.Send(t.Context(), p.App, fmt.Sprint("o", i), "yes"); err != nil {
						t.Fatal(err)
					}
				}
				<-time.After(3 * time.Minute)
				byRun := map[trace.TraceID]int{}
				for _, s := range spans.GetSpans() {
					byRun[s.SpanContext.TraceID()]++
				}
				if n := len(byRun); test.all && n != test.runs || !test.all && (n == 0 || n == 20) {
					t.Errorf("%d runs are sampled, want %d, or some", n, test.runs)
				}
				for id, n := range byRun {
					if n != 6 {
						t.Errorf("trace %s has %d spans, want all six or none", id, n)
					}
				}
			})
		})
	}
}
