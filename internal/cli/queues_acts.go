package cli

// This file holds what operators do to a queue.

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/human"
)

func queuesDeclareCommand(c *cli) *cobra.Command {
	var in api.DeclareQueue
	var unlimited bool
	cmd := act(c, aboutQueues(c), api.DeclareQueueOp, &in, &cobra.Command{
		Use: "declare QUEUE",
		Long: `Create a queue, or change its settings: a setting without a flag gets its default, but limits stay as they are. Its
messages stay, and a paused queue stays paused. A program that defines the queue also declares it, on first use.

--limit is a JSON object, as over REST. It says how many messages of each key may be worked on at once, or received in a
period. Its members are number, path (of the key in the payload), name (the queue's), weights, and per and burst (of a
rate). The limits that you give replace those that the queue had, for messages that are sent from then on.`,
		Example: `  stepwell queues declare mails
  stepwell queues declare mails --visibility 5m --max-receives 5
  stepwell queues declare mails --limit '{"number": 3, "path": "customer.id"}'
  stepwell queues declare mails --limit '{"number": 100, "per": "1m", "name": "mail-server"}'
  stepwell queues declare mails --no-limits`,
		PreRunE: func(*cobra.Command, []string) error {
			switch {
			case unlimited && len(in.Limits) > 0:
				return usagef("nothing was changed", "give --limit or --no-limits, not both")
			case unlimited:
				in.Limits = []api.QueueLimit{}
			}
			return nil
		},
	}, "declared", nil)
	durationFlag(cmd, &in.Visibility, "visibility",
		"how `long` a received message is hidden from others: 1s to 12h (default 30s)")
	cmd.Flags().IntVar(&in.MaxReceives, "max-receives", 0,
		"how often a message can be received before it becomes a dead letter: 1 to 1000 (default 20)")
	cmd.Flags().Func("limit", "a `limit`, as JSON; may be repeated", func(text string) error {
		var l api.QueueLimit
		if err := readLimit(text, &l); err != nil {
			return usagef(`want an object like {"number": 3, "path": "customer.id"}`,
				"--limit %s: %w", human.Cut(human.Visible(text), 100), err)
		}
		in.Limits = append(in.Limits, l)
		return nil
	})
	cmd.Flags().BoolVar(&unlimited, "no-limits", false, "the queue has no limits from now on")
	return cmd
}

// readLimit reads a limit of a queue as JSON: one object, with the members of a limit alone.
func readLimit(text string, into *api.QueueLimit) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after the object")
	}
	return nil
}

func queuesDropCommand(c *cli) *cobra.Command {
	return act(c, aboutQueues(c), api.DropQueueOp, &api.DropQueue{}, &cobra.Command{
		Use:     "drop QUEUE",
		Long:    `Delete a queue that has no messages; those that it has are purged before.`,
		Example: `  stepwell queues drop mails`,
	}, "dropped", nil)
}

func queuesPauseCommand(c *cli) *cobra.Command {
	var in api.PauseQueue
	cmd := act(c, aboutQueues(c), api.PauseQueueOp, &in, &cobra.Command{
		Use:     "pause QUEUE",
		Long:    `Stop all receives from a queue until you resume it. You can still send messages, and settle those that were received.`,
		Example: `  stepwell queues pause mails --reason "the mail server moves"`,
	}, "paused", nil)
	cmd.Flags().StringVar(&in.Reason, "reason", "", "the `reason`, for people")
	return cmd
}

func queuesResumeCommand(c *cli) *cobra.Command {
	return act(c, aboutQueues(c), api.ResumeQueueOp, &api.ResumeQueue{}, &cobra.Command{
		Use:     "resume QUEUE",
		Long:    `Allow receives from a paused queue again.`,
		Example: `  stepwell queues resume mails`,
	}, "resumed", nil)
}

func queuesPurgeCommand(c *cli) *cobra.Command {
	var in api.PurgeQueue
	var all bool
	cmd := act(c, aboutQueues(c), api.PurgeQueueOp, &in, &cobra.Command{
		Use: "purge QUEUE", Short: "Delete the messages of a queue, or its dead letters",
		Long: `Delete the messages of a queue, all with --all, those that are out with their receivers too, or its dead letters alone with --dead. They cannot be
brought back.`,
		Example: `  stepwell queues purge mails --dead
  stepwell queues purge mails --all`,
		PreRunE: func(_ *cobra.Command, args []string) error {
			if all == in.Dead {
				return usagef("nothing was changed; give --dead for dead letters, or --all for all messages",
					"purge queue %s: which messages?", args[0])
			}
			return nil
		},
	}, "purged", func(out *api.QueueChanged, is *actedOn) string {
		is.Messages = out.Messages
		return "purged " + human.Count(out.Messages, "message") + " of queue " + in.Queue
	})
	cmd.Flags().BoolVar(&all, "all", false, "all messages")
	cmd.Flags().BoolVar(&in.Dead, "dead", false, "only dead letters")
	return cmd
}

func queuesRedriveCommand(c *cli) *cobra.Command {
	var in api.RedriveQueue
	cmd := act(c, aboutQueues(c), api.RedriveQueueOp, &in, &cobra.Command{
		Use: "redrive QUEUE", Short: "Turn dead letters back into messages",
		Long: `Turn dead letters back into messages that were never received: all of them, or those that you name. Use it after you
have fixed what made them fail.`,
		Example: `  stepwell queues redrive mails
  stepwell queues redrive mails --message mesg_01JD3V7Q5ZJ8K2M4N6P8R0T2V4`,
	}, "redriven", func(out *api.QueueChanged, is *actedOn) string {
		is.Messages = out.Messages
		return "redrove " + human.Count(out.Messages, "dead letter") + " of queue " + in.Queue
	})
	cmd.Flags().StringArrayVar(&in.IDs, "message", nil,
		"only the message with this `ID`; may be repeated")
	return cmd
}
