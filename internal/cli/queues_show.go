package cli

// This file lists queues, shows one, and looks at messages.

import (
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
	head := heads("QUEUE", ">READY", ">DELAYED", ">OUT", ">PARKED", ">DEAD", ">OLDEST", "")
	return list(c, aboutQueues(c), api.ListQueuesOp, &api.ListQueues{}, &cobra.Command{
		Use: "list",
		Long: `List the queues, and how many messages each has: ready, delayed, out (received and not settled), parked (behind another
message of their group, or in line for a limit) and dead. Each count stops at 100,000. OLDEST is how long the first ready message has waited.
With --json each queue is one line.`,
		Example: `  stepwell queues list
  stepwell queues list --json | jq -r 'select(.counts.dead > 0) | .name'`,
	}, head, func(q *api.MessageQueue) []cell {
		n, oldest := q.Counts, ""
		if !q.Oldest.IsZero() {
			oldest = human.Age(c.now().Sub(q.Oldest))
		}
		return []cell{{Text: q.Name}, number(n.Ready), number(n.Delayed), number(n.Out), number(n.Parked),
			deadCell(n.Dead), {Text: oldest, Right: true}, pausedCell(c, q.Paused)}
	}, none(c, "no queues"))
}

// deadCell is how many dead letters there are.
func deadCell(n int64) cell {
	dead := number(n)
	if n > 0 {
		dead.Tone = bad
	}
	return dead
}

// pausedCell says who paused a queue, when and why; nothing: nobody.
func pausedCell(c *cli, p *api.QueuePause) cell {
	if p == nil {
		return cell{}
	}
	return cell{Text: pausedText(c, p), Tone: busy}
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
	return show(c, aboutQueues(c), api.GetQueueOp, &api.GetQueue{}, &cobra.Command{
		Use: "show QUEUE", Short: "Show a queue: its settings, its messages, and what you can do",
		Long: `Show a queue: how long a received message is hidden from others, how often one is received before it becomes a dead
letter, and its limits as they were declared. You also see how many messages there are, and what you can do about those
that are stuck.`,
		Example: `  stepwell queues show mails
  stepwell queues show mails --json | jq .counts.ready`,
	}, showQueue)
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
	in := api.PeekMessages{Limit: somePeeked}
	cmd := list(c, aboutQueues(c), api.PeekMessagesOp, &in, &cobra.Command{
		Use: "peek QUEUE", Short: "Look at the messages of a queue without changing anything",
		Long: `Look at the messages of a queue in the order in which they were sent. This does not count as a receive and changes
nothing. With --json each message is one line.`,
		Example: `  stepwell queues peek mails
  stepwell queues peek mails --state dead --json | jq -r '.error'`,
	}, messageHeads("STATE"), func(m *api.Message) []cell {
		return messageRow(c, m, cell{Text: string(m.State), Tone: messageTones[m.State]})
	}, func(n int, more bool) string {
		switch {
		case more:
			return "there may be more: --limit, --state"
		case n == 0:
			return "queue " + in.Queue + " has no such messages"
		}
		return ""
	})
	cmd.Flags().StringVar((*string)(&in.State), "state", "",
		"only messages of this `state`: ready, delayed, out, parked or dead")
	numberFlag(cmd, &in.Limit, "limit", 1, 0, "show at most this many")
	states := cobra.FixedCompletions([]string{"ready", "delayed", "out", "parked", "dead"}, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("state", states) // it is there
	return cmd
}

var messageTones = map[world.MessageState]tone{world.MessageReady: good, world.MessageOut: busy, world.MessageDead: bad}

// messageHeads are the heads of a table of messages, whose second column is state or receipt.
func messageHeads(second string) []cell {
	return heads("MESSAGE", second, ">AGE", ">RECEIVES", "GROUP", "PAYLOAD")
}

func messageRow(c *cli, m *api.Message, second cell) []cell {
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
	age := cell{Text: human.Age(c.now().Sub(m.SentAt)), Right: true}
	return []cell{{Text: m.ID}, second, age, number(m.Receives), {Text: m.Group}, {Text: payload}}
}
