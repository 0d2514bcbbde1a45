package cli

// This file holds what operators do to a queue.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// queueCommand is a command that does one thing to a queue; f says what was done, for programs and for people.
func queueCommand(c *cli, cmd *cobra.Command, f func(ctx context.Context, k world.Messenger, queue string) (is queueActed, text string, err error)) *cobra.Command {
	action := cmd.Use
	cmd.Use += " QUEUE"
	cmd.Long += "\n\n" + exitHelp
	cmd.Args, cmd.ValidArgsFunction = arguments(1, 1, "QUEUE"), c.completeQueue
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.withQueues(cmd.Context(), args[0], func(k world.Messenger, _ world.Notifier) error {
			is, text, err := f(cmd.Context(), k, args[0])
			if err != nil {
				return err
			}
			is.Action, is.Queue = action, args[0]
			return c.tell(is, text)
		})
	}
	c.actFlag(cmd)
	return cmd
}

func did(result string) queueActed { return queueActed{acted: acted{Result: result}} }

func queuesDeclareCommand(c *cli) *cobra.Command {
	var q world.MessageQueue
	var limits []string
	var unlimited bool
	cmd := queueCommand(c, &cobra.Command{
		Use:   "declare",
		Short: "Create a queue, or change its settings",
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
	}, func(ctx context.Context, k world.Messenger, queue string) (queueActed, string, error) {
		q.Name = queue
		if unlimited {
			if q.Limits = []world.SaidLimit{}; len(limits) > 0 {
				return queueActed{}, "", usagef("nothing was changed", "give --limit or --no-limits, not both")
			}
		}
		for _, text := range limits {
			var l api.QueueLimit
			if err := readLimit(text, &l); err != nil {
				return queueActed{}, "", usagef(`want an object like {"number": 3, "path": "customer.id"}`, "--limit %s: %w", human.Cut(human.Visible(text), 100), err)
			}
			q.Limits = append(q.Limits, l.World(queue))
		}
		return did("declared"), "declared queue " + queue, k.DeclareQueue(ctx, q)
	})
	spanFlag(cmd, func(d time.Duration) { q.Visibility = d }, "visibility", "how `long` a received message is hidden from others: 1s to 12h (default 30s)")
	cmd.Flags().IntVar(&q.MaxReceives, "max-receives", 0, "how often a message can be received before it becomes a dead letter: 1 to 1000 (default 20)")
	cmd.Flags().StringArrayVar(&limits, "limit", nil, "a `limit`, as JSON; may be repeated")
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
	return queueCommand(c, &cobra.Command{
		Use: "drop", Short: "Delete a queue that has no messages",
		Long:    `Delete a queue that has no messages; those that it has are purged before.`,
		Example: `  stepwell queues drop mails`,
	}, func(ctx context.Context, k world.Messenger, queue string) (queueActed, string, error) {
		return did("dropped"), "dropped queue " + queue, k.DropQueue(ctx, queue)
	})
}

func queuesPauseCommand(c *cli) *cobra.Command {
	var reason string
	cmd := queueCommand(c, &cobra.Command{
		Use: "pause", Short: "Stop receives from a queue until you resume it",
		Long:    `Stop all receives from a queue until you resume it. You can still send messages, and settle those that were received.`,
		Example: `  stepwell queues pause mails --reason "the mail server moves"`,
	}, func(ctx context.Context, k world.Messenger, queue string) (queueActed, string, error) {
		return did("paused"), "paused queue " + queue, k.PauseQueue(ctx, queue, &world.QueuePause{By: c.who, Reason: reason, Since: c.now().UTC()})
	})
	cmd.Flags().StringVar(&reason, "reason", "", "the `reason`, for people")
	return cmd
}

func queuesResumeCommand(c *cli) *cobra.Command {
	return queueCommand(c, &cobra.Command{
		Use: "resume", Short: "Allow receives from a paused queue again",
		Long:    `Allow receives from a paused queue again.`,
		Example: `  stepwell queues resume mails`,
	}, func(ctx context.Context, k world.Messenger, queue string) (queueActed, string, error) {
		return did("resumed"), "resumed queue " + queue, k.PauseQueue(ctx, queue, nil)
	})
}

func queuesPurgeCommand(c *cli) *cobra.Command {
	var all, dead bool
	cmd := queueCommand(c, &cobra.Command{
		Use: "purge", Short: "Delete the messages of a queue, or its dead letters",
		Long: `Delete the messages of a queue, all with --all, those that are out with their receivers too, or its dead letters alone with --dead. They cannot be
brought back.`,
		Example: `  stepwell queues purge mails --dead
  stepwell queues purge mails --all`,
	}, func(ctx context.Context, k world.Messenger, queue string) (queueActed, string, error) {
		if all == dead {
			return queueActed{}, "", usagef("nothing was changed; give --dead for dead letters, or --all for all messages", "purge queue %s: which messages?", queue)
		}
		n, err := every(func() (int, bool, error) { return k.PurgeMessages(ctx, queue, dead) })
		is := did("purged")
		is.Messages = n
		return is, fmt.Sprintf("purged %s of queue %s", human.Count(n, "message"), queue), err
	})
	cmd.Flags().BoolVar(&all, "all", false, "all messages")
	cmd.Flags().BoolVar(&dead, "dead", false, "only dead letters")
	return cmd
}

func queuesRedriveCommand(c *cli) *cobra.Command {
	var ids []string
	cmd := queueCommand(c, &cobra.Command{
		Use: "redrive", Short: "Turn dead letters back into messages",
		Long: `Turn dead letters back into messages that were never received: all of them, or those that you name. Use it after you
have fixed what made them fail.`,
		Example: `  stepwell queues redrive mails
  stepwell queues redrive mails --message mesg_01JD3V7Q5ZJ8K2M4N6P8R0T2V4`,
	}, func(ctx context.Context, k world.Messenger, queue string) (queueActed, string, error) {
		for _, id := range ids {
			if _, ok := world.MessageNumber(id); !ok {
				return queueActed{}, "", usagef("see them:  "+c.command("queues peek "+queue+" --state dead"), "--message %q is not the ID of a message", id)
			}
		}
		n, err := every(func() (int, bool, error) { return k.RedriveMessages(ctx, queue, ids...) })
		is := did("redriven")
		is.Messages = n
		return is, fmt.Sprintf("redrove %s of queue %s", human.Count(n, "dead letter"), queue), err
	})
	cmd.Flags().StringArrayVar(&ids, "message", nil, "only the message with this `ID`; may be repeated")
	return cmd
}

// every repeats what is done piece by piece.
func every(some func() (n int, more bool, err error)) (all int, err error) {
	for more := true; more && err == nil; {
		var n int
		n, more, err = some()
		all += n
	}
	return all, err
}
