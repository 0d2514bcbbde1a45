package wdk

// What others send to the DevKit's runs, over our API, UI and CLI: the run takes it up as if the DevKit had
// written it, and its code is woken by a message.

import (
	"context"
	"encoding/json"

	"github.com/stepwell/stepwell/internal/devalue"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// append puts what was sent to a run into its log.
func (h *Host) append(ctx context.Context, m *world.Mail) error {
	return h.with(ctx, m.Run, true, func(r *run) error {
		if r.state.Status.Terminal() || len(m.Events) != 1 {
			return nil
		}
		if err := h.own(ctx, r); err != nil {
			return err
		}
		c := r.next(new(createIn).commitID())
		c.Mail = []int64{m.Row}
		e := m.Events[0]
		if e.Time = world.Now(); e.Time.Before(r.state.Time) {
			e.Time = r.state.Time
		}
		wake := true
		switch e.Type {
		case world.CancelRequested:
			e = world.Event{Type: world.RunCancelled, Time: e.Time, By: e.By, Reason: e.Reason}
			wake = false
		case world.RunPaused, world.RunResumed:
			if wake = e.Type == world.RunResumed; wake == (r.state.Paused == nil) {
				e = world.Event{} // it is so already
			}
		case world.WaitCompleted:
			if r.state.Wait(e.ID) == nil {
				e = world.Event{}
			}
		case world.HookReceived:
			if r.state.Hook(e.ID) == nil {
				e = world.Event{}
			}
			e.Payload, _ = json.Marshal(map[string]json.RawMessage{"payload": devalue.Of(e.Payload)})
		default:
			e = world.Event{} // nothing of the DevKit's waits for it
		}
		if e.Type != "" {
			if _, err := r.follow(c, &e); err != nil {
				return err
			}
		}
		if wake && e.Type != "" {
			m, err := h.waking(ctx, r)
			if err != nil {
				r.forget()
				return err
			}
			c.Messages = []world.Message{m}
		}
		return h.flush(ctx, r, c)
	})
}

// waking is the message that has the run's code look at its log.
func (h *Host) waking(ctx context.Context, r *run) (world.Message, error) {
	queue := kit.AppQueue(r.state.Birth.Deployment)
	if err := h.queues.declare(ctx, queue); err != nil {
		return world.Message{}, err
	}
	body, _ := json.Marshal(map[string]string{"runId": r.id})
	payload, err := json.Marshal(letter{Queue: "__wkf_workflow_" + textOf(r.birth["workflowName"]), Message: body})
	return world.Message{Queue: queue, Payload: payload}, err
}
