package cli

// This file holds what operators do to a subscription.

import (
	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/human"
)

func topicsUnsubscribeCommand(c *cli) *cobra.Command {
	return act(c, aboutTopics(c), api.UnsubscribeOp, &api.Unsubscribe{}, &cobra.Command{
		Use: "unsubscribe NAME",
		Long: `End a subscription and delete the unprocessed messages in its own queue. What was published earlier is delivered first.
A queue that a program declared stays.`,
		Example: `  stepwell topics unsubscribe billing`,
	}, "unsubscribed", nil)
}

func topicsPauseCommand(c *cli) *cobra.Command {
	var in api.PauseSubscription
	cmd := act(c, aboutTopics(c), api.PauseSubscriptionOp, &in, &cobra.Command{
		Use: "pause NAME",
		Long: `Stop the deliveries of a subscription until you resume it: publications wait in its queue. If a program declared that
queue, use queues pause instead.`,
		Example: `  stepwell topics pause billing --reason "they move"`,
	}, "paused", nil)
	cmd.Flags().StringVar(&in.Reason, "reason", "", "the `reason`, for people")
	return cmd
}

func topicsResumeCommand(c *cli) *cobra.Command {
	var in api.ResumeSubscription
	return act(c, aboutTopics(c), api.ResumeSubscriptionOp, &in, &cobra.Command{
		Use:     "resume NAME",
		Long:    `Resume the deliveries of a subscription, also of one that was paused automatically because its endpoint was gone.`,
		Example: `  stepwell topics resume billing`,
	}, "resumed", nil)
}

func topicsRedeliverCommand(c *cli) *cobra.Command {
	var in api.Redeliver
	cmd := act(c, aboutTopics(c), api.RedeliverOp, &in, &cobra.Command{
		Use: "redeliver NAME",
		Long: `Deliver dead letters of a subscription again: all of them, or those that you name. Use it after you have fixed what made
them fail. If a program declared the queue, use queues redrive instead.`,
		Example: `  stepwell topics redeliver billing
  stepwell topics redeliver billing --message mesg_01JD3V7Q5ZJ8K2M4N6P8R0T2V4`,
	}, "redelivered", func(out *api.QueueChanged, is *actedOn) string {
		is.Messages = out.Messages
		return "redelivered " + human.Count(out.Messages, "dead letter") + " of " + in.Subscription
	})
	cmd.Flags().StringArrayVar(&in.IDs, "message", nil,
		"only the message with this `ID`; may be repeated")
	return cmd
}

func topicsRotateCommand(c *cli) *cobra.Command {
	var in api.RotateSecret
	return act(c, aboutTopics(c), api.RotateSecretOp, &in, &cobra.Command{
		Use: "rotate-secret NAME",
		Long: `Create a new secret for a subscription's endpoint, and show it once. Posts are signed with both the new and the previous
secret until the next rotation. So give the endpoint the new one, then rotate again to end the old one.`,
		Example: `  stepwell topics rotate-secret billing`,
	}, "rotated", func(out *api.NewSecret, is *actedOn) string {
		return secretText("rotated the secret of "+in.Subscription, out.Secret, is)
	})
}
