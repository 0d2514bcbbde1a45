package stepwell

// Why a run does not move whose code runs in an app of Workflow DevKit: the app hears of it by messages.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// driven reports whether the run's code is an app's of Workflow DevKit: its owner is never done with it.
func (i *RunInfo) driven() bool { return strings.HasPrefix(i.Workflow, world.AppWorkflows) }

// deployment is which apps have the run's code; "": that is not known.
func (i *RunInfo) deployment() string {
	var birth struct {
		Deployment string `json:"deploymentId"`
	}
	if i.Sealed || !i.driven() || json.Unmarshal(i.Input, &birth) != nil {
		return ""
	}
	return birth.Deployment
}

// Owner returns the name of the worker that has the run. For a run of Workflow DevKit it returns
// the apps that have its code. "": no worker has it.
func (i *RunInfo) Owner() string {
	q := i.Queue
	switch {
	case q == nil:
		return ""
	case q.OwnerName == "":
		return q.Owner
	}
	if d := i.deployment(); d != "" {
		return q.OwnerName + " (app " + human.Visible(d) + ")"
	}
	return q.OwnerName
}

const forMessage = "an app of Workflow DevKit, to take its message from the queue of its deployment"

// atApp: a step that has not begun, or nothing that is open, has the code wait for a message.
func (f *whyFinder) atApp() {
	for _, en := range f.journal.Entries {
		if en.Status == journal.EntryPending && en.Kind == world.KindTask {
			f.name(en)
			f.why.Kind, f.why.Waiting, f.why.Since = WhyWaiting, forMessage, en.CreatedAt
			return
		}
	}
	f.waiting(&world.QueueRow{Waiting: forMessage})
}

// messaged looks up how the message stands that a run waits for.
func messaged(ctx context.Context, a *App, s *Story) error {
	w, d := &s.Why, s.Run.deployment()
	if w.Kind != WhyWaiting || w.Waiting != forMessage || d == "" {
		return nil
	}
	queue := kit.AppQueue(d)
	page, err := a.world.Messages().PeekMessages(ctx, world.PeekQuery{Queue: queue, Limit: 1000})
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("why run %s: the message about it: %w", w.Run, err)
	}
	from := "an app of Workflow DevKit to take its message from queue " + quote(queue)
	text := ""
	for i := range page.Messages {
		m := &page.Messages[i]
		var letter struct {
			Message struct {
				Run string `json:"runId"`
			} `json:"message"`
		}
		if json.Unmarshal(m.Payload, &letter) != nil || letter.Message.Run != w.Run {
			continue
		}
		switch m.State {
		case world.MessageReady:
			text = from + ", where it is ready " + strings.TrimSpace(Why{At: w.At, Since: m.Until}.since()) + ": no app is asking for it"
		case world.MessageDelayed:
			text = from + Why{At: w.At, Until: m.Until}.at()
		case world.MessageOut:
			text = fmt.Sprintf("an app of Workflow DevKit, which has its message, attempt %d", m.Receives)
		case world.MessageDead:
			text = "its message, which is a dead letter of queue " + quote(queue)
		}
		if m.Error != "" {
			text += "; earlier error: " + human.Fold(human.Visible(m.Error), 200)
		}
		if m.State == world.MessageOut {
			break
		}
	}
	switch {
	case text != "":
		w.Waiting = text
	case page.Cursor == "":
		w.Waiting = "an app of Workflow DevKit, but no message for it is in queue " + quote(queue) + ": a hook, the end of a wait, or a resume sends one"
	}
	return nil
}
