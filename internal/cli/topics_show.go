package cli

// This file lists subscriptions and publications, and shows a subscription.

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/courier"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/ops"
	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/world"
)

func topicsListCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the subscriptions, and the state of their queues",
		Long: `List the subscriptions: their topics, their targets, how many messages wait, and how many are dead letters. With --json
each subscription is one line.

` + exitHelp,
		Example: `  stepwell topics list
  stepwell topics list --json | jq -r 'select(.counts.dead > 0) | .name'`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withTopics(cmd.Context(), "", func(t *spread.Spreader) error {
				all, err := courier.Standings(cmd.Context(), t)
				if err != nil {
					return err
				}
				return listSubscriptions(c, all)
			})
		},
	}
	c.jsonFlag(cmd, "write one JSON object per subscription")
	return cmd
}

func listSubscriptions(c *cli, all []courier.Standing) error {
	t := &table{Gap: "  "}
	t.Add(cell{Text: "SUBSCRIPTION", Tone: dim}, cell{Text: "PATTERN", Tone: dim}, cell{Text: "TO", Tone: dim}, cell{Text: "WAITING", Tone: dim, Right: true},
		cell{Text: "OUT", Tone: dim, Right: true}, cell{Text: "DEAD", Tone: dim, Right: true}, cell{Text: "", Tone: dim})
	for i := range all {
		s := ops.SubscriptionOf(&all[i].Subscription, all[i].Stats)
		if c.json {
			if err := c.encoder().Encode(s); err != nil {
				return err
			}
			continue
		}
		count := func(n int64) cell { return cell{Text: strconv.FormatInt(n, 10), Right: true} }
		dead, state := count(s.Counts.Dead), cell{}
		if s.Counts.Dead > 0 {
			dead.Tone = bad
		}
		if s.Paused != nil {
			state = cell{Text: pausedText(c, s.Paused), Tone: busy}
		}
		t.Add(cell{Text: s.Name}, cell{Text: s.Pattern}, cell{Text: ops.SubscriptionTarget(&s)}, count(s.Counts.Ready+s.Counts.Delayed+s.Counts.Parked), count(s.Counts.Out), dead, state)
	}
	switch {
	case c.json:
	case len(all) == 0:
		fmt.Fprintf(c.stderr, "no subscriptions in %s\n", c.place())
	default:
		t.Write(c.stdout, c.style())
	}
	return nil
}

func topicsShowCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a subscription, the state of its queue, and what you can do",
		Long: `Show a subscription: its topics, its filter, its target, how many messages its queue has, and what you can do about
those that are stuck.

` + exitHelp,
		Example: `  stepwell topics show billing
  stepwell topics show billing --json | jq .counts.dead`,
		Args:              arguments(1, 1, "NAME"),
		ValidArgsFunction: c.completeSubscription,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withTopics(cmd.Context(), args[0], func(t *spread.Spreader) error {
				if _, err := courier.Find(cmd.Context(), t, args[0]); err != nil {
					return err
				}
				all, err := courier.Standings(cmd.Context(), t, args[0])
				if err != nil || len(all) == 0 {
					return err
				}
				s := ops.SubscriptionOf(&all[0].Subscription, all[0].Stats)
				if c.json {
					return c.encoder().Encode(s)
				}
				showSubscription(c, &s)
				return nil
			})
		},
	}
	c.jsonFlag(cmd, "write one JSON object")
	return cmd
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
	limit := somePeeked
	cmd := &cobra.Command{
		Use:   "publications [PATTERN]",
		Short: "List publications, newest first",
		Long: `List publications, newest first: all of them, or those under topics that match a pattern. Each is kept for at least a
day. With --json each publication is one line.

` + exitHelp,
		Example: `  stepwell topics publications 'order.*'
  stepwell topics publications --json | jq -r 'select(.error != null) | .id'`,
		Args: arguments(0, 1, "perhaps PATTERN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return usagef("see stepwell topics publications --help", "--limit %d: want 1 or more", limit)
			}
			q := world.PublicationQuery{}
			if len(args) > 0 {
				q.Topic = args[0]
			}
			return c.withTopics(cmd.Context(), "", func(t *spread.Spreader) error { return listPublications(c, cmd.Context(), t, q, limit) })
		},
	}
	cmd.Flags().IntVar(&limit, "limit", limit, "list at most this many")
	c.jsonFlag(cmd, "write one JSON object per publication")
	return cmd
}

func listPublications(c *cli, ctx context.Context, from *spread.Spreader, q world.PublicationQuery, limit int) error {
	t := &table{Gap: "  "}
	t.Add(cell{Text: "PUBLICATION", Tone: dim}, cell{Text: "TOPIC", Tone: dim}, cell{Text: "AGE", Tone: dim, Right: true}, cell{Text: "STATE", Tone: dim}, cell{Text: "PAYLOAD", Tone: dim})
	for n := 0; n < limit; {
		q.Limit = min(limit-n, 100)
		page, err := from.Topics.Publications(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Publications {
			n++
			p := ops.PublicationOf(&page.Publications[i])
			if c.json {
				if err := c.encoder().Encode(p); err != nil {
					return err
				}
				continue
			}
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
			t.Add(cell{Text: p.ID, Whole: true}, cell{Text: p.Topic}, cell{Text: human.Age(c.now().Sub(p.At)), Right: true}, state, cell{Text: payload})
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			break
		}
	}
	switch {
	case c.json:
	case t.Rows() == 1:
		fmt.Fprintf(c.stderr, "nothing was published in %s\n", c.place())
	default:
		t.Write(c.stdout, c.style())
	}
	return nil
}
