package server

// This file is the door of Workflow DevKit's runtime: each method of its World is a call. What they do is in
// package wdk.

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/stepwell/stepwell/server/wdk"
	"github.com/stepwell/stepwell/world/remote/wire"
)

func wdkRoutes() []route {
	return []route{{method: "POST", path: "/wdk/v1/{call}", scope: Worker, maxBody: wire.MaxBody, handle: callWDK, op: operation{
		id: "callWDK", summary: "Do what a method of Workflow DevKit's World does, such as events.create: see docs/workflow-devkit.md", body: "Payload",
		responses: []response{{200, "Payload", "", "The result of the method."}},
	}}}
}

// waitingWDK are the calls that wait for news.
var waitingWDK = map[string]bool{"queue.receive": true, "streams.read": true, "runs.wait": true}

func callWDK(s *Server, w http.ResponseWriter, r *request) error {
	name := r.PathValue("call")
	ctx := r.Context()
	if waitingWDK[name] {
		done, err := s.places.wait(s.places.keyed(r)...)
		if err != nil {
			return err
		}
		defer done()
		drained, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			select {
			case <-s.drain:
				stop()
			case <-drained.Done():
			}
		}()
		ctx = drained
	}
	out, err := s.wdk.Call(ctx, name, r.payload())
	if err == nil {
		return answer(w, http.StatusOK, out)
	}
	var refusal *wdk.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	return &Problem{
		Type: "urn:stepwell:problem:" + refusal.Name, Title: "Refused, as Workflow DevKit has it", Status: refusal.Status, Code: refusal.Name,
		Detail: detail(err.Error()), RetryAfterMs: int64((refusal.After + time.Millisecond - 1) / time.Millisecond),
	}
}
