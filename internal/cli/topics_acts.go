package cli

// This file holds what operators do to a subscription.

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/internal/courier"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/world"
)

// subscriptionCommand is a command that does one thing to a subscription; f says what was done.
func subscriptionCommand(c *cli, cmd *cobra.Command, f func(ctx context.Context, t *spread.Spreader, name string) (is subscriptionActed, text string, err error)) *cobra.Command {
	action := cmd.Use
	cmd.Use += " NAME"
	cmd.Long += "\n\n" + exitHelp
	cmd.Args, cmd.ValidArgsFunction = arguments(1, 1, "NAME"), c.completeSubscription
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.withTopics(cmd.Context(), args[0], func(t *spread.Spreader) error {
			is, text, err := f(cmd.Context(), t, args[0])
			if err != nil {
				return err
			}
			is.Action, is.Subscription = action, args[0]
			return tellSecret(c, is, text)
		})
	}
	c.actFlag(cmd)
	return cmd
}

func didSubscription(result string) subscriptionActed {
	return subscriptionActed{acted: acted{Result: result}}
}

func topicsUnsubscribeCommand(c *cli) *cobra.Command {
	return subscriptionCommand(c, &cobra.Command{
		Use: "unsubscribe", Short: "End a subscription, and delete the unprocessed messages in its own queue",
		Long: `End a subscription and delete the unprocessed messages in its own queue. What was published earlier is delivered first.
A queue that a program declared stays.`,
		Example: `  stepwell topics unsubscribe billing`,
	}, func(ctx context.Context, t *spread.Spreader, name string) (subscriptionActed, string, error) {
		return didSubscription("unsubscribed"), "unsubscribed " + name, t.Unsubscribe(ctx, name)
	})
}

func pauseOwn(ctx context.Context, t *spread.Spreader, name string, pause *world.QueuePause) error {
	own, err := courier.Own(ctx, t, name)
	if err != nil {
		return err
	}
	return t.Queues.PauseQueue(ctx, own, pause)
}

func topicsPauseCommand(c *cli) *cobra.Command {
	var reason string
	cmd := subscriptionCommand(c, &cobra.Command{
		Use: "pause", Short: "Stop the deliveries of a subscription until you resume it",
		Long: `Stop the deliveries of a subscription until you resume it: publications wait in its queue. If a program declared that
queue, use queues pause instead.`,
		Example: `  stepwell topics pause billing --reason "they move"`,
	}, func(ctx context.Context, t *spread.Spreader, name string) (subscriptionActed, string, error) {
		return didSubscription("paused"), "paused " + name, pauseOwn(ctx, t, name, &world.QueuePause{By: c.who, Reason: reason, Since: c.now().UTC()})
	})
	cmd.Flags().StringVar(&reason, "reason", "", "the `reason`, for people")
	return cmd
}

func topicsResumeCommand(c *cli) *cobra.Command {
	return subscriptionCommand(c, &cobra.Command{
		Use: "resume", Short: "Resume the deliveries of a subscription",
		Long:    `Resume the deliveries of a subscription, also of one that was paused automatically because its endpoint was gone.`,
		Example: `  stepwell topics resume billing`,
	}, func(ctx context.Context, t *spread.Spreader, name string) (subscriptionActed, string, error) {
		return didSubscription("resumed"), "resumed " + name, pauseOwn(ctx, t, name, nil)
	})
}

func topicsRedeliverCommand(c *cli) *cobra.Command {
	var ids []string
	cmd := subscriptionCommand(c, &cobra.Command{
		Use: "redeliver", Short: "Deliver dead letters of a subscription again, all or some",
		Long: `Deliver dead letters of a subscription again: all of them, or those that you name. Use it after you have fixed what made
them fail. If a program declared the queue, use queues redrive instead.`,
		Example: `  stepwell topics redeliver billing
  stepwell topics redeliver billing --message mesg_01JD3V7Q5ZJ8K2M4N6P8R0T2V4`,
	}, func(ctx context.Context, t *spread.Spreader, name string) (subscriptionActed, string, error) {
		own, err := courier.Own(ctx, t, name)
		if err != nil {
			return subscriptionActed{}, "", err
		}
		for _, id := range ids {
			if _, ok := world.MessageNumber(id); !ok {
				return subscriptionActed{}, "", usagef("see them:  "+c.command("queues peek "+own+" --state dead"), "--message %q is not the ID of a message", id)
			}
		}
		n, err := every(func() (int, bool, error) { return t.Queues.RedriveMessages(ctx, own, ids...) })
		is := didSubscription("redelivered")
		is.Messages = n
		return is, fmt.Sprintf("redelivered %s of %s", human.Count(n, "dead letter"), name), err
	})
	cmd.Flags().StringArrayVar(&ids, "message", nil, "only the message with this `ID`; may be repeated")
	return cmd
}

func topicsRotateCommand(c *cli) *cobra.Command {
	return subscriptionCommand(c, &cobra.Command{
		Use: "rotate-secret", Short: "Create a new secret for a subscription's endpoint; the previous one is valid until the next rotation",
		Long: `Create a new secret for a subscription's endpoint, and show it once. Posts are signed with both the new and the previous
secret until the next rotation. So give the endpoint the new one, then rotate again to end the old one.`,
		Example: `  stepwell topics rotate-secret billing`,
	}, func(ctx context.Context, t *spread.Spreader, name string) (subscriptionActed, string, error) {
		secret, err := courier.Rotate(ctx, t, name)
		is := didSubscription("rotated")
		is.Secret = string(secret)
		return is, "rotated the secret of " + name, err
	})
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
