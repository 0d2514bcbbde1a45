package cli

// This file lists queues, shows one, and looks at messages.

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/draw"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/ops"
	"github.com/stepwell/stepwell/world"
)

func queuesListCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the queues, and how many messages each has",
		Long: `List the queues, and how many messages each has: ready, delayed, out (received and not settled), parked (behind another
message of their group, or in line for a limit) and dead. Each count stops at 100,000. OLDEST is how long the first ready message has waited.
With --json each queue is one line.

` + exitHelp,
		Example: `  stepwell queues list
  stepwell queues list --json | jq -r 'select(.counts.dead > 0) | .name'`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withQueues(cmd.Context(), "", func(k world.Messenger, _ world.Notifier) error {
				all, err := k.Queues(cmd.Context())
				if err != nil {
					return err
				}
				return listQueues(c, all)
			})
		},
	}
	c.jsonFlag(cmd, "write one JSON object per queue")
	return cmd
}

func listQueues(c *cli, all []world.QueueStats) error {
	t := &table{Gap: "  "}
	t.Add(cell{Text: "QUEUE", Tone: dim}, cell{Text: "READY", Tone: dim, Right: true}, cell{Text: "DELAYED", Tone: dim, Right: true}, cell{Text: "OUT", Tone: dim, Right: true},
		cell{Text: "PARKED", Tone: dim, Right: true}, cell{Text: "DEAD", Tone: dim, Right: true}, cell{Text: "OLDEST", Tone: dim, Right: true}, cell{Text: "", Tone: dim})
	for i := range all {
		q := ops.QueueOf(&all[i])
		if c.json {
			if err := c.encoder().Encode(q); err != nil {
				return err
			}
			continue
		}
		count := func(n int64) cell { return cell{Text: strconv.FormatInt(n, 10), Right: true} }
		dead, oldest, state := count(q.Counts.Dead), "", cell{}
		if q.Counts.Dead > 0 {
			dead.Tone = bad
		}
		if !q.Oldest.IsZero() {
			oldest = human.Age(c.now().Sub(q.Oldest))
		}
		if q.Paused != nil {
			state = cell{Text: pausedText(c, q.Paused), Tone: busy}
		}
		t.Add(cell{Text: q.Name}, count(q.Counts.Ready), count(q.Counts.Delayed), count(q.Counts.Out), count(q.Counts.Parked), dead, cell{Text: oldest, Right: true}, state)
	}
	switch {
	case c.json:
	case len(all) == 0:
		fmt.Fprintf(c.stderr, "no queues in %s\n", c.place())
	default:
		t.Write(c.stdout, c.style())
	}
	return nil
}

// pausedText says who paused a queue, when and why.
func pausedText(c *cli, p *api.QueuePause) string {
	text := "paused"
	if p.By != "" {
		text += " by " + p.By
	}
	if !p.Since.IsZero() {
		text += " " + human.Age(c.now().Sub(p.Since)) + " ago"
	}
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}

func queuesShowCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show QUEUE",
		Short: "Show a queue: its settings, its messages, and what you can do",
		Long: `Show a queue: how long a received message is hidden from others, how often one is received before it becomes a dead
letter, and its limits as they were declared. You also see how many messages there are, and what you can do about those
that are stuck.

` + exitHelp,
		Example: `  stepwell queues show mails
  stepwell queues show mails --json | jq .counts.ready`,
		Args:              arguments(1, 1, "QUEUE"),
		ValidArgsFunction: c.completeQueue,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withQueues(cmd.Context(), args[0], func(k world.Messenger, _ world.Notifier) error {
				all, err := k.Queues(cmd.Context(), args[0])
				if err == nil && len(all) == 0 {
					err = world.NoQueue(args[0])
				}
				if err != nil {
					return err
				}
				q := ops.QueueOf(&all[0])
				if c.json {
					return c.encoder().Encode(q)
				}
				showQueue(c, &q)
				return nil
			})
		},
	}
	c.jsonFlag(cmd, "write one JSON object")
	return cmd
}

func showQueue(c *cli, q *api.MessageQueue) {
	t := &table{Gap: "  ", Wrap: true}
	line := func(name, text string) { t.Add(cell{Text: name, Tone: dim}, cell{Text: text}) }
	line("queue", q.Name)
	line("visibility", q.Visibility.String())
	line("receives", strconv.Itoa(q.MaxReceives)+" at most, then a dead letter")
	for i := range q.Limits {
		l := &q.Limits[i]
		line("limit", l.Name+": "+ops.QueueLimitText(l))
	}
	n := q.Counts
	line("messages", fmt.Sprintf("%d ready, %d delayed, %d out, %d parked, %d dead", n.Ready, n.Delayed, n.Out, n.Parked, n.Dead))
	if !q.Oldest.IsZero() {
		line("oldest", "ready for "+human.Span(c.now().Sub(q.Oldest)))
	}
	if q.Paused != nil {
		line("state", pausedText(c, q.Paused))
	}
	t.Write(c.stdout, c.style())
	a := &proposal{t: &table{Indent: "  ", Gap: "  ", Wrap: true, Lead: "# "}, command: c.command}
	for i := range q.Limits {
		a.note("limit:", "limits show "+q.Limits[i].Name, "its number now, and who is in line")
	}
	if q.Paused != nil {
		a.do("resume:", "queues resume "+q.Name)
	}
	if n.Dead > 0 {
		a.do("see:", "queues peek "+q.Name+" --state dead")
		a.note("redrive:", "queues redrive "+q.Name, "dead letters are messages again")
	}
	if a.t.Rows() > 0 {
		fmt.Fprintln(c.stdout)
		a.t.Write(c.stdout, c.style())
	}
}

// somePeeked is how many messages are looked at, unless more are asked for.
const somePeeked = 20

func queuesPeekCommand(c *cli) *cobra.Command {
	var state string
	limit := somePeeked
	cmd := &cobra.Command{
		Use:   "peek QUEUE",
		Short: "Look at the messages of a queue without changing anything",
		Long: `Look at the messages of a queue in the order in which they were sent. This does not count as a receive and changes
nothing. With --json each message is one line.

` + exitHelp,
		Example: `  stepwell queues peek mails
  stepwell queues peek mails --state dead --json | jq -r '.error'`,
		Args:              arguments(1, 1, "QUEUE"),
		ValidArgsFunction: c.completeQueue,
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return usagef("see stepwell queues peek --help", "--limit %d: want 1 or more", limit)
			}
			return c.withQueues(cmd.Context(), args[0], func(k world.Messenger, _ world.Notifier) error {
				return peekAt(c, cmd.Context(), k, world.PeekQuery{Queue: args[0], State: world.MessageState(state)}, limit)
			})
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "only messages of this `state`: ready, delayed, out, parked or dead")
	cmd.Flags().IntVar(&limit, "limit", limit, "show at most this many")
	states := cobra.FixedCompletions([]string{"ready", "delayed", "out", "parked", "dead"}, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("state", states) // it is there
	c.jsonFlag(cmd, "write one JSON object per message")
	return cmd
}

func peekAt(c *cli, ctx context.Context, k world.Messenger, q world.PeekQuery, limit int) error {
	n := 0
	t := messageTable("STATE")
	for {
		q.Limit = min(limit-n, 100)
		page, err := k.PeekMessages(ctx, q)
		if err != nil {
			return err
		}
		for _, m := range ops.MessagesOf(page.Messages) {
			if c.json {
				if err := c.encoder().Encode(m); err != nil {
					return err
				}
			} else {
				addMessage(c, t, &m, cell{Text: string(m.State), Tone: messageTones[m.State]})
			}
			n++
		}
		if q.Cursor = page.Cursor; q.Cursor == "" || n >= limit {
			break
		}
	}
	switch {
	case c.json:
	case n == 0:
		fmt.Fprintf(c.stderr, "queue %s has no such messages\n", q.Queue)
	default:
		t.Write(c.stdout, c.style())
	}
	if q.Cursor != "" && !c.json {
		fmt.Fprintln(c.stderr, "there may be more: --limit, --state")
	}
	return nil
}

var messageTones = map[world.MessageState]tone{world.MessageReady: good, world.MessageOut: busy, world.MessageDead: bad}

// messageTable is a table of messages, whose second column is state or receipt.
func messageTable(second string) *table {
	t := &table{Gap: "  "}
	t.Add(cell{Text: "MESSAGE", Tone: dim}, cell{Text: second, Tone: dim}, cell{Text: "AGE", Tone: dim, Right: true}, cell{Text: "RECEIVES", Tone: dim, Right: true},
		cell{Text: "GROUP", Tone: dim}, cell{Text: "PAYLOAD", Tone: dim})
	return t
}

func addMessage(c *cli, t *table, m *api.Message, second cell) {
	payload := human.Fold(string(m.Payload), draw.PayloadWidth)
	switch {
	case m.Sealed != "":
		payload = "encrypted with key " + m.Sealed
	case m.Damage != "":
		payload = m.Damage
	}
	if m.Error != "" {
		payload += "  " + strings.TrimSpace(human.Cut(m.Error, draw.PayloadWidth))
	}
	t.Add(cell{Text: m.ID}, second, cell{Text: human.Age(c.now().Sub(m.SentAt)), Right: true}, cell{Text: strconv.Itoa(m.Receives), Right: true},
		cell{Text: m.Group}, cell{Text: payload})
}
