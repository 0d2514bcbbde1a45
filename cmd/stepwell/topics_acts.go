package main

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
		Use: "unsubscribe", Short: "End a subscription, and delete what nobody has worked on in its own queue",
		Long:    `End a subscription, when it has all that was published before, and delete what nobody has worked on in its own queue. A queue of the program's stays.`,
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
		Use: "pause", Short: "Have nothing done with what a subscription gets until it is resumed",
		Long:    `Have nothing done with what a subscription gets until it is resumed: it waits in the subscription's queue. A queue of the program's is paused by queues pause.`,
		Example: `  stepwell topics pause billing --reason "they move"`,
	}, func(ctx context.Context, t *spread.Spreader, name string) (subscriptionActed, string, error) {
		return didSubscription("paused"), "paused " + name, pauseOwn(ctx, t, name, &world.QueuePause{By: c.who, Reason: reason, Since: c.now().UTC()})
	})
	cmd.Flags().StringVar(&reason, "reason", "", "`why`, for people")
	return cmd
}

func topicsResumeCommand(c *cli) *cobra.Command {
	return subscriptionCommand(c, &cobra.Command{
		Use: "resume", Short: "Have what a subscription gets worked on again",
		Long:    `Have what a subscription gets worked on again, also where it has paused itself because its endpoint was gone.`,
		Example: `  stepwell topics resume billing`,
	}, func(ctx context.Context, t *spread.Spreader, name string) (subscriptionActed, string, error) {
		return didSubscription("resumed"), "resumed " + name, pauseOwn(ctx, t, name, nil)
	})
}

func topicsRedeliverCommand(c *cli) *cobra.Command {
	var ids []string
	cmd := subscriptionCommand(c, &cobra.Command{
		Use: "redeliver", Short: "Have dead letters of a subscription delivered again, all or some",
		Long: `Have dead letters of a subscription delivered again, all or those that are named: for when what they failed of is mended. A queue of the program's has
queues redrive for that.`,
		Example: `  stepwell topics redeliver billing
  stepwell topics redeliver billing --message mesg_01JD3V7Q5ZJ8K2M4N6P8R0T2V4`,
	}, func(ctx context.Context, t *spread.Spreader, name string) (subscriptionActed, string, error) {
		own, err := courier.Own(ctx, t, name)
		if err != nil {
			return subscriptionActed{}, "", err
		}
		for _, id := range ids {
			if _, ok := world.MessageNumber(id); !ok {
				return subscriptionActed{}, "", usagef("see them:  "+c.command("queues peek "+own+" --state dead"), "--message %q is no ID of a message", id)
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
		Use: "rotate-secret", Short: "Make a new secret for a subscription's endpoint; the one before signs too until the next",
		Long: `Make a new secret for a subscription's endpoint, and show it once. What is posted is signed with the new one and with the one before, until the next
rotation: so the endpoint takes the new one first, and rotates again to end the old one.`,
		Example: `  stepwell topics rotate-secret billing`,
	}, func(ctx context.Context, t *spread.Spreader, name string) (subscriptionActed, string, error) {
		secret, err := courier.Rotate(ctx, t, name)
		is := didSubscription("rotated")
		is.Secret = string(secret)
		return is, "rotated the secret of " + name, err
	})
}
