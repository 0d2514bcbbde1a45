package queue_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// thin panics over what it is read from.
type thin struct{ Parts []int }

func (p *thin) UnmarshalJSON([]byte) error { _ = p.Parts[3]; return nil }

// TestPayloadThatPanics: a message whose payload's own code panics over it is a dead letter, and nothing worse.
func TestPayloadThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		q := queue.Define[thin]("thin")
		pulled := queue.Define[thin]("pulled")
		app := run(t, w, q.Handle(func(context.Context, *queue.Message[thin]) error {
			t.Error("it was worked on")
			return nil
		}))
		for _, name := range []string{"thin", "pulled"} {
			if err := w.Messages().DeclareQueue(t.Context(), world.MessageQueue{Name: name}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Messages().SendMessages(t.Context(), []world.Message{{Queue: name, Payload: []byte("{}")}}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		if got, err := pulled.Receive(t.Context(), app.App); err != nil || len(got) != 0 {
			t.Errorf("received %v, %v", got, err)
		}
		for _, name := range []string{"thin", "pulled"} {
			page, err := w.Messages().PeekMessages(t.Context(), world.PeekQuery{Queue: name, State: world.MessageDead, Limit: 10})
			if err != nil || len(page.Messages) != 1 || !strings.Contains(page.Messages[0].Error, "panicked: runtime error: index out of range") {
				t.Errorf("queue %s: %+v, %v", name, page.Messages, err)
			}
		}
	})
}

// around is an error that is its own cause.
type around struct{ again error }

func (a *around) Error() string { return "around and around" }
func (a *around) Unwrap() error { return a.again }

// TestHandlersErrorsAreAskedInTheHandler: a message comes again whose handler returned an error that is its own cause, or whose methods panic.
func TestHandlersErrorsAreAskedInTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.Define[int]("strange")
		var calls atomic.Int64
		app := run(t, memory.New(), q.Handle(func(context.Context, *queue.Message[int]) error {
			switch calls.Add(1) {
			case 1:
				a := &around{}
				a.again = a
				return a
			case 2:
				var none *around
				return none
			}
			return nil
		}))
		if _, err := q.Send(t.Context(), app.App, 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := calls.Load(); n != 3 {
			t.Errorf("it was called %d times, want 3", n)
		}
	})
}
