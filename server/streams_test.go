package server

// Streams over HTTP: listed, read as what was written, and followed by one that loses its connection.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stepwell/stepwell"
)

// talk says words, waits for one of its readers after the second, and ends as it is told.
func talk(heard chan struct{}) *stepwell.Workflow[string, string] {
	return stepwell.Define("talk", func(ctx stepwell.Context, how string) (string, error) {
		return stepwell.Step(ctx, "say", func(ctx context.Context) (string, error) {
			out := stepwell.Stream[any](ctx, "a/b")
			if stepwell.Info(ctx).Attempt == 1 {
				if err := errors.Join(out.Write("one "), out.Write(map[string]int{"n": 2}), out.Flush()); err != nil {
					return "", err
				}
				select {
				case <-heard:
				case <-ctx.Done():
					return "", context.Cause(ctx)
				}
			}
			switch {
			case how == "again" && stepwell.Info(ctx).Attempt == 1:
				return "", stepwell.RetryAfter(errors.New("broken off"), 1)
			case how == "breaks":
				return how, out.CloseWithError(errors.New("no more"))
			}
			return how, errors.Join(out.Write("three"), out.Close())
		})
	})
}

func TestStreams(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{})
	heard := make(chan struct{})
	wf := talk(heard)
	app, err := stepwell.New(r.world, stepwell.Config{Definitions: []stepwell.Definition{wf}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = app.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	for how, want := range map[string]struct{ live, late []string }{
		"closes": {live: []string{"chunk 2", "end "}, late: []string{"chunk 0", "chunk 1", "chunk 2", "end "}},
		"again":  {live: []string{"reset 2", "chunk 3", "end "}, late: []string{"reset 2", "chunk 3", "end "}},
		"breaks": {live: []string{"error 2"}, late: []string{"chunk 0", "chunk 1", "error 2"}},
	} {
		at := "/v1/workflows/talk/runs/" + how
		r.want(201, "POST", "/v1/workflows/talk/runs", fmt.Sprintf(`{"id": %q, "input": %q}`, how, how))
		s := r.follow(at + "/streams/a%2Fb")
		for i, want := range []string{`"value":"one "`, `"value":{"n":2}`} {
			m, _ := s.next()
			if m.id != fmt.Sprint(i) || m.event != "chunk" || !strings.Contains(m.data, want) {
				t.Fatalf("%s: got %v, want %s", how, m, want)
			}
		}
		s.close() // the connection is lost
		s = r.follow(at+"/streams/a%2Fb", "Last-Event-ID", "1")
		heard <- struct{}{}
		if got := all(s); fmt.Sprint(got) != fmt.Sprint(want.live) {
			t.Errorf("%s: followed %q, want %q", how, got, want.live)
		}
		if got := all(r.follow(at + "/streams/a%2Fb?from=0")); fmt.Sprint(got) != fmt.Sprint(want.late) {
			t.Errorf("%s: read %q, want %q", how, got, want.late)
		}
	}
	const closes, again = "/v1/workflows/talk/runs/closes/streams", "/v1/workflows/talk/runs/again/streams"
	if got := string(r.want(200, "GET", closes+"/a%2Fb", "").body); got != "one \n{\"n\":2}\nthree" {
		t.Errorf("raw: got %q", got)
	}
	if got := string(r.want(200, "GET", again+"/a%2Fb", "").body); got != "three" {
		t.Errorf("raw, behind a reset: got %q", got)
	}
	lines := strings.Split(strings.TrimSpace(string(r.want(200, "GET", closes+"/a%2Fb?from=1", "", "Accept", ndJSON).body)), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], `{"index":1,`) {
		t.Errorf("lines: got %q, want chunks 1 and 2", lines)
	}
	if got := r.want(200, "GET", closes, ""); got.get("streams.0.name") != "a/b" || got.get("streams.0.closed") != "close" {
		t.Errorf("list: got %s", got.body)
	}
	r.want(204, "GET", closes+"/a%2Fb", "", "Accept", eventStream, "Last-Event-ID", "2")
	r.want(200, "GET", closes+"/none", "")
	r.want(400, "GET", closes+"/a%2Fb?from=-1", "")
	r.want(400, "GET", closes+"/a%2Fb", "", "Accept", eventStream, "Last-Event-ID", "x")
	r.want(404, "GET", "/v1/workflows/talk/runs/nobody/streams", "")
	r.want(404, "GET", "/v1/workflows/talk/runs/nobody/streams/a", "")
}

// all reads what follows, in short.
func all(s *stream) (got []string) {
	for {
		m, ok := s.next()
		if !ok {
			return got
		}
		got = append(got, m.event+" "+m.id)
	}
}
