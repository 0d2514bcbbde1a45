package cli

// This file sends messages to a queue, receives them, and settles them.

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

func queuesSendCommand(c *cli) *cobra.Command {
	in := api.SendMessages{NewMessage: api.NewMessage{Priority: 2}}
	cmd := act(c, aboutQueues(c), api.SendMessagesOp, &in, &cobra.Command{
		Use: "send QUEUE [JSON|-]", Short: "Send a message to a queue",
		Long: `Send a JSON message to a queue. With - it is read from standard input; without JSON it is null.

To send it again safely, give a dedupe ID: within the window (default 5 minutes) the same ID is the message that was
already sent.`,
		Example: `  stepwell queues send mails '{"to":"ann@example.com"}'
  stepwell queues send mails - --dedupe-id mail-4711 < mail.json
  stepwell queues send orders '{"order":7}' --group order-7 --header trace=4bf92f`,
		Args: arguments(1, 2, "QUEUE and optional JSON"),
		PreRunE: func(_ *cobra.Command, args []string) (err error) {
			in.Payload, err = payloadOf(c, args[1:])
			return err
		},
	}, "sent", func(out *api.Sent, is *actedOn) string {
		m := out.Messages[0]
		if is.Message, is.Duplicate = m.ID, m.Duplicate; m.Duplicate {
			is.Result = "known"
			return fmt.Sprintf("message %s was sent to queue %s earlier, with this dedupe ID", m.ID, in.Queue)
		}
		return "sent message " + m.ID + " to queue " + in.Queue
	})
	cmd.Flags().StringVar(&in.Group, "group", "",
		"messages of a `group` are received one at a time, in the order in which they were sent")
	durationFlag(cmd, &in.Delay, "delay", "how `long` to delay it: 90s, 5m, 2h, 7d")
	numberFlag(cmd, &in.Priority, "priority", 1, 4, "from 1 to 4, which is received first")
	cmd.Flags().StringVar(&in.DedupeID, "dedupe-id", "",
		"`ID` of this message: with the same ID, it is sent only once")
	durationFlag(cmd, &in.DedupeWindow, "dedupe-window",
		"how `long` the ID is remembered, 7d at most (default 5m)")
	pairFlag(cmd, &in.Headers, "header", "value",
		"`name=value` to send with the payload; may be repeated")
	return cmd
}

func queuesReceiveCommand(c *cli) *cobra.Command {
	in := api.ReceiveMessages{Most: 1}
	var first *api.Message
	cmd := list(c, aboutQueues(c), api.ReceiveMessagesOp, &in, &cobra.Command{
		Use: "receive QUEUE", Short: "Receive messages, each with the receipt that settles it",
		Long: `Receive messages that are ready, each with the receipt that settles it: ack when the work is done, nack to give the
message back. If you do neither in time, the message is received again, and becomes a dead letter after too many
receives. An empty queue is not an error.`,
		Example: `  stepwell queues receive mails
  stepwell queues receive mails --most 10 --wait 20s --json
  stepwell queues receive mails --match '{"to":"ann@example.com"}' --visibility 5m`,
	}, messageHeads("RECEIPT"), func(m *api.Message) []cell {
		if first == nil {
			first = m
		}
		return messageRow(c, m, cell{Text: m.Receipt, Whole: true})
	}, func(n int, _ bool) string {
		if n == 0 {
			return "queue " + in.Queue + " has no messages that are ready"
		}
		return "when the work is done, before " + human.Moment(first.Until, c.now()) + ":  " +
			c.command("queues ack "+in.Queue+" "+first.Receipt)
	})
	numberFlag(cmd, &in.Most, "most", 1, 100, "receive at most this many, 1 to 100")
	durationFlag(cmd, &in.Wait, "wait", "how `long` to wait if there is no message: 20s")
	durationFlag(cmd, &in.Visibility, "visibility",
		"how `long` they are hidden from others: 90s, 5m (default: as the queue says)")
	rawFlag(cmd, &in.Match, "match",
		"only messages whose payload contains this `JSON`, of the first 1,000 that are ready", `{"to":"ann@example.com"}`)
	return cmd
}

// settle makes a command that ends receives. receipts is a field of in, and result is the word for
// it in --json.
func settle[In any](
	c *cli, op api.Op[In, api.Settled], in *In, receipts *[]string, cmd *cobra.Command,
	result string,
) *cobra.Command {
	cmd.Use += " QUEUE RECEIPT…"
	cmd.Long += " An expired receipt changes nothing, and the exit code is 1: " +
		"the message was received again, or it no longer exists."
	cmd.Args = arguments(2, 1+world.MaxBatch, "QUEUE and the receipts of messages")
	cmd.PreRunE = func(_ *cobra.Command, args []string) error {
		*receipts = args[1:]
		return nil
	}
	c.actFlag(cmd)
	f := func(ctx context.Context, do api.Caller, queue string) error {
		out, err := api.Do(ctx, do, op, *in)
		if err != nil {
			return err
		}
		for _, receipt := range *receipts {
			is := actedOn{Queue: queue, Receipt: receipt}
			is.Action, is.Result = cmd.Name(), result
			text := result + " " + receipt
			if slices.Contains(out.Old, receipt) {
				is.Result, text = "old", receipt+" has expired"
			}
			if err := c.tell(is, text); err != nil {
				return err
			}
		}
		if n := len(out.Old); n > 0 {
			err := fmt.Errorf("%s of %d: the message was received again, or no longer exists",
				human.Count(n, "old receipt"), len(*receipts))
			return &fault{exitFailure, coded{err, world.ErrReceipt},
				"these receipts changed nothing; see the messages:  " + c.command("queues peek "+queue)}
		}
		return nil
	}
	return operation(c, aboutQueues(c), op, in, cmd, f)
}

func queuesAckCommand(c *cli) *cobra.Command {
	var in api.AckMessages
	return settle(c, api.AckMessagesOp, &in, &in.Receipts, &cobra.Command{
		Use:     "ack",
		Long:    "Acknowledge messages that you received: their work is done, and they are deleted.",
		Example: `  stepwell queues ack mails rcpt_040g`,
	}, "acknowledged")
}

func queuesNackCommand(c *cli) *cobra.Command {
	var in api.NackMessages
	cmd := settle(c, api.NackMessagesOp, &in, &in.Receipts, &cobra.Command{
		Use:  "nack",
		Long: "Give messages back, to be received again at once or later.",
		Example: `  stepwell queues nack mails rcpt_040g
  stepwell queues nack mails rcpt_040g --delay 5m --error "the mail server is busy"`,
	}, "returned")
	durationFlag(cmd, &in.Delay, "delay", "how `long` to wait before they are ready: 90s, 5m")
	cmd.Flags().StringVar(&in.Error, "error", "", "the `reason`, for people")
	return cmd
}

func queuesExtendCommand(c *cli) *cobra.Command {
	in := api.ExtendMessages{Visibility: api.Span(world.DefaultVisibility)}
	cmd := settle(c, api.ExtendMessagesOp, &in, &in.Receipts, &cobra.Command{
		Use: "extend", Short: "Keep messages hidden from others for longer",
		Long:    "Keep messages that you received hidden from others for longer, counted from now.",
		Example: `  stepwell queues extend mails rcpt_040g --visibility 10m`,
	}, "extended")
	durationFlag(cmd, &in.Visibility, "visibility", "how `long` from now, 1s to 12h (default 30s)")
	return cmd
}

func queuesBuryCommand(c *cli) *cobra.Command {
	var in api.BuryMessages
	cmd := settle(c, api.BuryMessagesOp, &in, &in.Receipts, &cobra.Command{
		Use:     "bury",
		Long:    "Make messages that you received dead letters: they stay in the queue until you redrive or purge them.",
		Example: `  stepwell queues bury mails rcpt_040g --error "no such address"`,
	}, "buried")
	cmd.Flags().StringVar(&in.Error, "error", "", "the `reason`, for people")
	return cmd
}
