package ops

import (
	"fmt"
	"strings"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// QueueLimitText says for people how much a limit of a queue allows.
func QueueLimitText(l *api.QueueLimit) string {
	text := fmt.Sprintf("%d at once", l.Number)
	if l.Per > 0 {
		if text = fmt.Sprintf("%d in %s", l.Number, l.Per); l.Burst > 1 {
			text += fmt.Sprintf(", %d at one moment", l.Burst)
		}
	}
	switch {
	case l.Path != "":
		text += ", for each " + l.Path
	case l.Computed:
		text += ", for each key that code computes"
	}
	if n := len(l.Weights); n > 0 {
		text += "; weights: " + human.Count(n, "key")
	}
	return text
}

// LimitCounts says for people what counts toward a limit.
func LimitCounts(l *api.Limit) string {
	var all []string
	if l.Runs || !l.Steps && !l.Messages {
		all = append(all, "runs")
	}
	if l.Steps {
		all = append(all, "steps")
	}
	if l.Messages {
		all = append(all, "messages")
	}
	return strings.Join(all, " and ")
}

// HolderText says for people what holds a place of a limit.
func HolderText(h *world.LimitHolder) string {
	switch {
	case h.Message != "":
		return "message of queue " + h.Name
	case h.Step != "":
		return "step " + h.Name
	}
	return "run of " + h.Name
}

// SubscriptionTarget says for people where a subscription delivers.
func SubscriptionTarget(s *api.Subscription) string {
	switch {
	case s.Workflow != nil:
		return "workflow " + s.Workflow.Name
	case s.Endpoint != nil:
		return s.Endpoint.URL
	}
	return "queue " + s.Queue
}
