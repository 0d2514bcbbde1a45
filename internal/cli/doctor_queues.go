package cli

// This file has the doctor look at queues and topics: at what waits for somebody.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/courier"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/world"
)

const (
	mostTold   = 5     // in one finding
	mostLooked = 1_000 // publications, where those are looked for that were set aside
	lateSpread = time.Minute
	lateStart  = time.Minute     // of a schedule
	lateTaken  = 5 * time.Minute // messages that can be received
)

// examineQueues looks at schedules, queues, subscriptions and what was published.
func examineQueues(ctx context.Context, c *cli, db *database, show func(world.Finding)) {
	tell := func(check string, look func() (found, advice string, err error), well string) {
		f := world.Finding{Check: check, Health: world.HealthGood, Found: well}
		found, advice, err := look()
		switch {
		case err != nil:
			f.Health, f.Found = world.HealthWarning, "could not be examined: "+err.Error()
		case found != "":
			f.Health, f.Found, f.Advice = world.HealthWarning, found, advice
		}
		show(f)
	}
	tell("schedules", func() (string, string, error) { return overdueSchedules(ctx, c, db.world.Schedules()) }, "none is overdue")
	queues, err := db.world.Messages().Queues(ctx)
	tell("dead letters", func() (string, string, error) { return deadLetters(c, queues, err) }, human.Count(len(queues), "queue")+", none with dead letters")
	tell("overdue messages", func() (string, string, error) { return overdueMessages(c, queues, err) }, "none has been ready for more than five minutes")
	tell("paused queues", func() (string, string, error) { return pausedQueues(c, queues, err) }, "no queue or subscription is paused")
	if db.ring != nil {
		tell("keys of messages", func() (string, string, error) { return lacksKeys(ctx, c, db) }, fmt.Sprintf("the keys of at most %d messages and publications are available", mostLooked))
	}
	t := spread.Of(db.world)
	tell("subscriptions", func() (string, string, error) { return lostSubscriptions(ctx, c, db.world, t) }, "all of their targets exist")
	tell("endpoints", func() (string, string, error) { return failingEndpoints(ctx, c, t) }, "none refuses what is posted")
	tell("publications", func() (string, string, error) { return setAside(ctx, c, t.Topics) }, fmt.Sprintf("none of the newest %d was set aside", mostLooked))
	tell("backlog", func() (string, string, error) { return backlog(ctx, c, t.Topics) }, "nothing has been due for more than a minute")
}

// someOf are some of all names.
func someOf(all []string) string {
	text := strings.Join(all[:min(len(all), mostTold)], ", ")
	if n := len(all) - mostTold; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// showsQueue is the command that shows a queue, or the subscription whose own it is.
func showsQueue(c *cli, name string) string {
	if sub, own := strings.CutPrefix(name, world.SubscriptionQueue); own {
		return c.command("topics show " + shellWord(sub))
	}
	return c.command("queues show " + shellWord(name))
}

func deadLetters(c *cli, queues []world.QueueStats, err error) (found, advice string, _ error) {
	var texts []string
	first := ""
	for i := range queues {
		if n := queues[i].Counts[world.MessageDead]; n > 0 {
			texts = append(texts, fmt.Sprintf("%s (%d)", queues[i].Name, n))
			if first == "" {
				first = queues[i].Name
			}
		}
	}
	if err != nil || first == "" {
		return "", "", err
	}
	return human.Count(len(texts), "queue") + " with dead letters: " + someOf(texts), "see them:  " + c.command("queues peek "+shellWord(first)+" --state dead"), nil
}

// overdueMessages tells of queues whose messages can be received, and are not.
func overdueMessages(c *cli, queues []world.QueueStats, err error) (found, advice string, _ error) {
	var texts []string
	first := ""
	for i := range queues {
		q := &queues[i]
		if age := c.now().Sub(q.Oldest); q.Paused == nil && !q.Oldest.IsZero() && age > lateTaken {
			texts = append(texts, fmt.Sprintf("%s (%d ready, the oldest for %s)", q.Name, q.Counts[world.MessageReady], human.Span(age)))
			if first == "" {
				first = q.Name
			}
		}
	}
	if err != nil || first == "" {
		return "", "", err
	}
	return human.Count(len(texts), "queue") + " with messages that nobody receives: " + someOf(texts), "start a consumer, or more of them:  " + showsQueue(c, first), nil
}

// failingEndpoints tells of subscriptions whose endpoint has refused what was posted, which is posted again later.
func failingEndpoints(ctx context.Context, c *cli, t *spread.Spreader) (found, advice string, _ error) {
	all, err := t.Topics.Subscriptions(ctx)
	if err != nil {
		return "", "", err
	}
	var texts []string
	first := ""
	for i := range all {
		s := &all[i]
		if s.Endpoint == nil || s.Damage != "" {
			continue
		}
		page, err := t.Queues.PeekMessages(ctx, world.PeekQuery{Queue: s.OwnQueue(), Limit: 100})
		if errors.Is(err, world.ErrNotFound) { // a lost subscription is told of already
			continue
		}
		if err != nil {
			return "", "", err
		}
		n, why := 0, ""
		for j := range page.Messages {
			if m := &page.Messages[j]; m.Error != "" && m.State != world.MessageDead {
				if n++; why == "" {
					why = human.Cut(m.Error, 200)
				}
			}
		}
		if n > 0 {
			texts = append(texts, fmt.Sprintf("%s (%s to be posted again: %s)", s.Name, human.Count(n, "message"), why))
			if first == "" {
				first = s.Name
			}
		}
	}
	if first == "" {
		return "", "", nil
	}
	return human.Count(len(texts), "endpoint") + " failing: " + someOf(texts), "see it:  " + c.command("topics show "+shellWord(first)), nil
}

// overdueSchedules tells of schedules whose time has come, and whose run nobody starts.
func overdueSchedules(ctx context.Context, c *cli, store world.Scheduler) (found, advice string, _ error) {
	var texts []string
	first := ""
	for q := (world.ScheduleQuery{Limit: 1_000}); ; {
		page, err := store.Schedules(ctx, q)
		if err != nil {
			return "", "", err
		}
		for i := range page {
			s := &page[i]
			if late := c.now().Sub(s.Is.Due); s.Paused == nil && s.Damage == "" && !s.Is.Due.IsZero() && late > lateStart {
				texts = append(texts, s.Name+" ("+human.Span(late)+")")
				if first == "" {
					first = s.Name
				}
			}
		}
		if len(page) < q.Limit {
			break
		}
		q.After = page[len(page)-1].Name
	}
	if first == "" {
		return "", "", nil
	}
	return human.Count(len(texts), "schedule") + " overdue: " + someOf(texts),
		"workers and servers start their runs: check that one is running:  " + c.command("schedules show "+shellWord(first)), nil
}

func pausedQueues(c *cli, queues []world.QueueStats, err error) (found, advice string, _ error) {
	queues = slices.DeleteFunc(slices.Clone(queues), func(q world.QueueStats) bool { return q.Paused == nil })
	if err != nil || len(queues) == 0 {
		return "", "", err
	}
	var texts []string
	for i := range queues {
		texts = append(texts, queues[i].Name)
	}
	return human.Count(len(texts), "queue") + " paused, until resumed: " + someOf(texts), "see why:  " + showsQueue(c, texts[0]), nil
}

// lostSubscriptions are those whose queue is gone, or whose workflow no live worker has.
func lostSubscriptions(ctx context.Context, c *cli, of world.Definer, t *spread.Spreader) (found, advice string, _ error) {
	all, err := courier.Standings(ctx, t)
	if err != nil {
		return "", "", err
	}
	var workflows []string
	for i := range all {
		if w := all[i].Workflow; w != nil {
			workflows = append(workflows, w.Name)
		}
	}
	var defined world.Defined
	if len(workflows) > 0 {
		if defined, err = of.Defined(ctx, workflows); err != nil {
			return "", "", err
		}
	}
	var texts []string
	first := ""
	for i := range all {
		s, why := &all[i], ""
		switch w := s.Workflow; {
		case s.Damage != "":
			why = s.Damage
		case s.Stats == nil:
			why = "its queue " + s.OwnQueue() + " is gone"
		case w != nil && !slices.ContainsFunc(defined.Live, func(c world.Class) bool {
			return c.Workflow == w.Name && (w.Version == 0 || w.Version == c.Version)
		}):
			why = "no live worker has its workflow " + w.Name
		default:
			continue
		}
		texts = append(texts, s.Name+" ("+why+")")
		if first == "" {
			first = s.Name
		}
	}
	if first == "" {
		return "", "", nil
	}
	return someOf(texts), "see it:  " + c.command("topics show "+shellWord(first)), nil
}

// setAside are the publications that go to nobody, of the newest.
func setAside(ctx context.Context, c *cli, topics world.Publisher) (found, advice string, _ error) {
	q := world.PublicationQuery{Limit: 100}
	n, looked := 0, 0
	first := ""
	for {
		page, err := topics.Publications(ctx, q)
		if err != nil {
			return "", "", err
		}
		for i := range page.Publications {
			if p := &page.Publications[i]; p.Error != "" {
				if n++; n == 1 {
					first = p.ID + ", " + human.Cut(p.Error, 200)
				}
			}
		}
		looked += len(page.Publications)
		if q.Cursor = page.Cursor; q.Cursor == "" || looked >= mostLooked {
			break
		}
	}
	if n == 0 {
		return "", "", nil
	}
	return human.Count(n, "publication") + " set aside and delivered to nobody: " + first,
		"see them:  " + c.command(fmt.Sprintf("topics publications --limit %d --json", mostLooked)) + " | jq 'select(.error != null)'", nil
}

// backlog is what is due, and has been for long.
func backlog(ctx context.Context, c *cli, topics world.Publisher) (found, advice string, _ error) {
	due, err := topics.Due(ctx, world.DueQuery{Limit: world.MaxBatch})
	if err != nil || len(due.Publications) == 0 {
		return "", "", err
	}
	first := slices.MinFunc(due.Publications, func(a, b world.Publication) int { return a.Due.Compare(b.Due) }).Due
	late := due.Now.Sub(first)
	if late <= lateSpread {
		return "", "", nil
	}
	text := human.Count(len(due.Publications), "publication")
	if due.More {
		text = "over " + text
	}
	return text + " due and not delivered, the oldest for " + human.Span(late), "workers and servers deliver them: check that one is running and has the key for encrypted data:  " + c.command("workers"), nil
}
