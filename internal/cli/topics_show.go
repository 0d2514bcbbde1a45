package cli

// This file lists subscriptions and publications, and shows a subscription.

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/ops"
)

func topicsListCommand(c *cli) *cobra.Command {
	head := heads("SUBSCRIPTION", "PATTERN", "TO", ">WAITING", ">OUT", ">DEAD", "")
	var in api.ListSubscriptions
	return list(c, aboutTopics(c), api.ListSubscriptionsOp, &in, &cobra.Command{
		Use: "list",
		Long: `List the subscriptions: their topics, their targets, how many messages wait, and how many are dead letters. With --json
each subscription is one line.`,
		Example: `  stepwell topics list
  stepwell topics list --json | jq -r 'select(.counts.dead > 0) | .name'`,
	}, head, func(s *api.Subscription) []cell {
		n := s.Counts
		return []cell{{Text: s.Name}, {Text: s.Pattern}, {Text: ops.SubscriptionTarget(s)},
			number(n.Ready + n.Delayed + n.Parked), number(n.Out), deadCell(n.Dead), pausedCell(c, s.Paused)}
	}, none(c, "no subscriptions"))
}

func topicsShowCommand(c *cli) *cobra.Command {
	return show(c, aboutTopics(c), api.GetSubscriptionOp, &api.GetSubscription{}, &cobra.Command{
		Use: "show NAME", Short: "Show a subscription, the state of its queue, and what you can do",
		Long: `Show a subscription: its topics, its filter, its target, how many messages its queue has, and what you can do about
those that are stuck.`,
		Example: `  stepwell topics show billing
  stepwell topics show billing --json | jq .counts.dead`,
	}, showSubscription)
}

func showSubscription(c *cli, s *api.Subscription) {
	t := &table{Gap: "  ", Wrap: true}
	line := func(name, text string) {
		if text != "" {
			t.Add(cell{Text: name, Tone: dim}, cell{Text: text})
		}
	}
	line("subscription", s.Name)
	line("pattern", s.Pattern)
	line("match", string(s.Match))
	if s.Ordered {
		line("order", "what one source publishes under one topic comes in order")
	}
	line("to", ops.SubscriptionTarget(s))
	if w := s.Workflow; w != nil {
		line("key", w.Key)
	}
	if s.Endpoint != nil {
		line("posted by", "by servers only: without one on this database, nothing is posted")
		line("gives up", s.Endpoint.GiveUp)
	}
	line("made by", s.By)
	n := s.Counts
	line("messages", fmt.Sprintf("%d ready, %d delayed, %d out, %d parked, %d dead, in queue %s", n.Ready, n.Delayed, n.Out, n.Parked, n.Dead, s.Messages))
	if !s.Oldest.IsZero() {
		line("oldest", "ready for "+human.Span(c.now().Sub(s.Oldest)))
	}
	if s.Paused != nil {
		line("state", pausedText(c, s.Paused))
	}
	t.Write(c.stdout, c.style())
	a := &proposal{t: &table{Indent: "  ", Gap: "  ", Wrap: true, Lead: "# "}, command: c.command}
	resume, redeliver := "topics resume "+s.Name, "topics redeliver "+s.Name
	if s.Queue != "" {
		resume, redeliver = "queues resume "+s.Queue, "queues redrive "+s.Queue
	}
	if s.Paused != nil {
		a.do("resume:", resume)
	}
	if n.Dead > 0 {
		a.do("see:", "queues peek "+s.Messages+" --state dead")
		a.note("redeliver:", redeliver, "dead letters are delivered again")
	}
	if a.t.Rows() > 0 {
		fmt.Fprintln(c.stdout)
		a.t.Write(c.stdout, c.style())
	}
}

func topicsPublicationsCommand(c *cli) *cobra.Command {
	in := api.ListPublications{Limit: somePeeked}
	cmd := list(c, aboutTopics(c), api.ListPublicationsOp, &in, &cobra.Command{
		Use: "publications [PATTERN]", Short: "List publications, newest first",
		Long: `List publications, newest first: all of them, or those under topics that match a pattern. Each is kept for at least a
day. With --json each publication is one line.`,
		Example: `  stepwell topics publications 'order.*'
  stepwell topics publications --json | jq -r 'select(.error != null) | .id'`,
		Args:   arguments(0, 1, "perhaps PATTERN"),
		PreRun: func(_ *cobra.Command, args []string) { in.Topic = strings.Join(args, "") },
	}, heads("PUBLICATION", "TOPIC", ">AGE", "STATE", "PAYLOAD"), func(p *api.Publication) []cell {
		state := cell{Text: "spread", Tone: good}
		switch {
		case p.Error != "":
			state = cell{Text: "set aside: " + p.Error, Tone: bad}
		case !p.Spread && p.Due.After(c.now()):
			state = cell{Text: "due in " + human.Age(p.Due.Sub(c.now())), Tone: busy}
		case !p.Spread:
			state = cell{Text: "to be delivered", Tone: busy}
		}
		payload := string(p.Payload)
		if p.Sealed != "" {
			payload = "encrypted with the key " + p.Sealed
		}
		age := cell{Text: human.Age(c.now().Sub(p.At)), Right: true}
		return []cell{{Text: p.ID, Whole: true}, {Text: p.Topic}, age, state, {Text: payload}}
	}, none(c, "nothing was published"))
	numberFlag(cmd, &in.Limit, "limit", 1, 0, "list at most this many")
	return cmd
}
