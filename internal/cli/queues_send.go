package cli

// This file sends messages to a queue, receives them, and settles them.

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/ops"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/world"
)

// messageSent is what --json says of a message that was sent.
type messageSent struct {
	acted
	Queue     string `json:"queue"`
	Message   string `json:"message"`
	Duplicate bool   `json:"duplicate,omitempty"`
}

func queuesSendCommand(c *cli) *cobra.Command {
	m := world.Message{}
	priority, headers := 2, []string(nil)
	cmd := &cobra.Command{
		Use:   "send QUEUE [JSON|-]",
		Short: "Send a message to a queue",
		Long: `Send a JSON message to a queue. With - it is read from standard input; without JSON it is null.

To send it again safely, give a dedupe ID: within the window (default 5 minutes) the same ID is the message that was
already sent.

` + exitHelp,
		Example: `  stepwell queues send mails '{"to":"ann@example.com"}'
  stepwell queues send mails - --dedupe-id mail-4711 < mail.json
  stepwell queues send orders '{"order":7}' --group order-7 --header trace=4bf92f`,
		Args:              arguments(1, 2, "QUEUE and optional JSON"),
		ValidArgsFunction: c.completeQueue,
		RunE: func(cmd *cobra.Command, args []string) error {
			payload, err := payloadOf(c, args[1:])
			if err != nil {
				return err
			}
			m.Queue, m.Payload, m.Priority = args[0], payload, priority
			if m.Headers, err = headersOf(headers); err != nil {
				return err
			}
			if priority < 1 || priority > 4 {
				return usagef("see stepwell queues send --help", "--priority %d: want 1 to 4", priority)
			}
			return c.withQueues(cmd.Context(), m.Queue, func(k world.Messenger, _ world.Notifier) error {
				sent, err := k.SendMessages(cmd.Context(), []world.Message{m})
				if err != nil {
					return err
				}
				is := messageSent{acted{Action: "send", Result: "sent"}, m.Queue, sent[0].ID, sent[0].Duplicate}
				text := "sent message " + is.Message + " to queue " + m.Queue
				if is.Duplicate {
					is.Result, text = "known", "message "+is.Message+" was sent to queue "+m.Queue+" earlier, with this dedupe ID"
				}
				return c.tell(is, text)
			})
		},
	}
	cmd.Flags().StringVar(&m.Group, "group", "", "messages of a `group` are received one at a time, in the order in which they were sent")
	spanFlag(cmd, func(d time.Duration) { m.Delay = d }, "delay", "how `long` to delay it: 90s, 5m, 2h, 7d")
	cmd.Flags().IntVar(&priority, "priority", priority, "from 1 to 4, which is received first")
	cmd.Flags().StringVar(&m.Dedupe, "dedupe-id", "", "`ID` of this message: with the same ID, it is sent only once")
	spanFlag(cmd, func(d time.Duration) { m.Window = d }, "dedupe-window", "how `long` the ID is remembered, 7d at most (default 5m)")
	cmd.Flags().StringArrayVar(&headers, "header", nil, "`name=value` to send with the payload; may be repeated")
	c.actFlag(cmd)
	return cmd
}

// headersOf reads headers.
func headersOf(all []string) (map[string]string, error) {
	if len(all) == 0 {
		return nil, nil
	}
	headers := make(map[string]string, len(all))
	for _, text := range all {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usagef("write it as name=value", "--header %q has no name", text)
		}
		headers[name] = value
	}
	return headers, nil
}

func queuesReceiveCommand(c *cli) *cobra.Command {
	q := world.ReceiveQuery{Limit: 1}
	var wait time.Duration
	var match string
	cmd := &cobra.Command{
		Use:   "receive QUEUE",
		Short: "Receive messages, each with the receipt that settles it",
		Long: `Receive messages that are ready, each with the receipt that settles it: ack when the work is done, nack to give the
message back. If you do neither in time, the message is received again, and becomes a dead letter after too many
receives. An empty queue is not an error.

` + exitHelp,
		Example: `  stepwell queues receive mails
  stepwell queues receive mails --most 10 --wait 20s --json
  stepwell queues receive mails --match '{"to":"ann@example.com"}' --visibility 5m`,
		Args:              arguments(1, 1, "QUEUE"),
		ValidArgsFunction: c.completeQueue,
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Queue = args[0]
			if match != "" {
				if err := checkJSON("--match", []byte(match), `quote it for the shell: '{"to":"ann@example.com"}'`); err != nil {
					return err
				}
				q.Match = json.RawMessage(match)
			}
			return c.withQueues(cmd.Context(), q.Queue, func(k world.Messenger, by world.Notifier) error {
				got, err := queue.Await(cmd.Context(), k, by, q, wait)
				if err != nil {
					return err
				}
				return showReceived(c, q.Queue, ops.MessagesOf(got.Messages))
			})
		},
	}
	cmd.Flags().IntVar(&q.Limit, "most", q.Limit, "receive at most this many, 1 to 100")
	spanFlag(cmd, func(d time.Duration) { wait = d }, "wait", "how `long` to wait if there is no message: 20s")
	spanFlag(cmd, func(d time.Duration) { q.Visibility = d }, "visibility", "how `long` they are hidden from others: 90s, 5m (default: as the queue says)")
	cmd.Flags().StringVar(&match, "match", "", "only messages whose payload contains this `JSON`, of the first 1,000 that are ready")
	c.jsonFlag(cmd, "write one JSON object per message")
	return cmd
}

func showReceived(c *cli, queue string, all []api.Message) error {
	if c.json {
		for i := range all {
			if err := c.encoder().Encode(all[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if len(all) == 0 {
		fmt.Fprintf(c.stderr, "queue %s has no messages that are ready\n", queue)
		return nil
	}
	t := messageTable("RECEIPT")
	for i := range all {
		addMessage(c, t, &all[i], cell{Text: all[i].Receipt, Whole: true})
	}
	t.Write(c.stdout, c.style())
	fmt.Fprintf(c.stderr, "when the work is done, before %s:  %s\n", human.Moment(all[0].Until, c.now()), c.command("queues ack "+queue+" "+all[0].Receipt))
	return nil
}

// settling is what --json says of a receipt.
type settling struct {
	queueActed
	Receipt string `json:"receipt"`
}

// settleCommand is a command that ends receives by like, which flags may change until it runs.
func settleCommand(c *cli, use, short, long, example string, like *world.Settlement, done string) *cobra.Command {
	cmd := &cobra.Command{
		Use: use + " QUEUE RECEIPT…", Short: short, Long: long + ` An expired receipt changes nothing, and the exit code is 1: the message was received again, or it no longer exists.

` + exitHelp,
		Example:           example,
		Args:              arguments(2, 1+world.MaxBatch, "QUEUE and the receipts of messages"),
		ValidArgsFunction: c.completeQueue,
		RunE: func(cmd *cobra.Command, args []string) error {
			all := make([]world.Settlement, len(args)-1)
			for i, receipt := range args[1:] {
				all[i] = *like
				all[i].Receipt = receipt
			}
			return c.withQueues(cmd.Context(), args[0], func(k world.Messenger, _ world.Notifier) error {
				held, err := k.SettleMessages(cmd.Context(), all)
				if err != nil {
					return err
				}
				return tellSettled(c, args[0], use, done, all, held)
			})
		},
	}
	c.actFlag(cmd)
	return cmd
}

func tellSettled(c *cli, queue, action, done string, all []world.Settlement, held []bool) error {
	old := 0
	for i, s := range all {
		is := settling{queueActed{acted: acted{Action: action, Result: done}, Queue: queue}, s.Receipt}
		text := done + " " + s.Receipt
		if !held[i] {
			old++
			is.Result, text = "old", s.Receipt+" has expired"
		}
		if err := c.tell(is, text); err != nil {
			return err
		}
	}
	if old > 0 {
		return &fault{exitFailure, coded{fmt.Errorf("%s of %d: the message was received again, or no longer exists", human.Count(old, "old receipt"), len(all)), world.ErrReceipt},
			"these receipts changed nothing; see the messages:  " + c.command("queues peek "+queue)}
	}
	return nil
}

func queuesAckCommand(c *cli) *cobra.Command {
	return settleCommand(c, "ack", "Acknowledge messages: their work is done, and they are deleted", "Acknowledge messages that you received: their work is done, and they are deleted.",
		`  stepwell queues ack mails rcpt_040g`, &world.Settlement{Kind: world.Ack}, "acknowledged")
}

func queuesNackCommand(c *cli) *cobra.Command {
	like := &world.Settlement{Kind: world.Nack}
	cmd := settleCommand(c, "nack", "Give messages back, to be received again at once or later", "Give messages back, to be received again at once or later.",
		`  stepwell queues nack mails rcpt_040g
  stepwell queues nack mails rcpt_040g --delay 5m --error "the mail server is busy"`, like, "returned")
	spanFlag(cmd, func(d time.Duration) { like.After = d }, "delay", "how `long` to wait before they are ready: 90s, 5m")
	cmd.Flags().StringVar(&like.Error, "error", "", "the `reason`, for people")
	return cmd
}

func queuesExtendCommand(c *cli) *cobra.Command {
	like := &world.Settlement{Kind: world.Extend, After: world.DefaultVisibility}
	cmd := settleCommand(c, "extend", "Keep messages hidden from others for longer",
		"Keep messages that you received hidden from others for longer, counted from now.",
		`  stepwell queues extend mails rcpt_040g --visibility 10m`, like, "extended")
	spanFlag(cmd, func(d time.Duration) { like.After = d }, "visibility", "how `long` from now, 1s to 12h (default 30s)")
	return cmd
}

func queuesBuryCommand(c *cli) *cobra.Command {
	like := &world.Settlement{Kind: world.Bury}
	cmd := settleCommand(c, "bury", "Make messages dead letters", "Make messages that you received dead letters: they stay in the queue until you redrive or purge them.",
		`  stepwell queues bury mails rcpt_040g --error "no such address"`, like, "buried")
	cmd.Flags().StringVar(&like.Error, "error", "", "the `reason`, for people")
	return cmd
}
