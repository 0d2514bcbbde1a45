package cli

// This file is the group of commands about topics: it publishes, and makes subscriptions.

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/world"
)

func topicsCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "topics",
		Short: "Publish; list, create, change and end subscriptions; redeliver",
		Long: `Publish under topics, and choose who gets it: a queue, a workflow (each publication starts a run), or an HTTP endpoint
(the publication is posted). Workers and servers on the database deliver; only servers post to endpoints. See
docs/topics.md.

` + exitHelp,
		Example: `  stepwell topics subscribe ship 'order.*' --workflow ship --key 'ship-{payload.order}'
  stepwell topics publish order.paid '{"order":"o-7"}'
  stepwell topics list`,
		Args:                       known,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(topicsPublishCommand(c), topicsPublicationsCommand(c), topicsListCommand(c), topicsShowCommand(c), topicsSubscribeCommand(c))
	cmd.AddCommand(topicsUnsubscribeCommand(c), topicsPauseCommand(c), topicsResumeCommand(c), topicsRedeliverCommand(c), topicsRotateCommand(c))
	return cmd
}

// aboutTopics is what the commands about subscriptions share.
func aboutTopics(c *cli) *subject {
	return &subject{
		kind: "subscription",
		own: func(err error) error {
			if errors.Is(err, world.ErrNotFound) && strings.Contains(err.Error(), "queue") {
				return &fault{exitNotFound, err,
					"nothing was changed; create the queue first:  " + c.command("queues declare QUEUE")}
			}
			return err
		},
		missing: func(string) string { return "see them all:  " + c.command("topics list") },
		conflict: func(name string) string {
			return "nothing was changed; see it:  " + c.command("topics show "+shellWord(name))
		},
		complete: completes(c, api.ListSubscriptionsOp, func(s *api.Subscription) string {
			return s.Name + "\t" + s.Pattern
		}),
	}
}

func topicsPublishCommand(c *cli) *cobra.Command {
	var in api.Publish
	cmd := act(c, aboutTopics(c), api.PublishOp, &in, &cobra.Command{
		Use: "publish TOPIC [JSON|-]",
		Long: `Publish JSON under a topic, which is words with dots between. With - the JSON is read from standard input; without it the
payload is null. Every subscription that exists now gets it.

To publish it again safely, give an ID: the same topic and ID within 24 hours is the same publication.`,
		Example: `  stepwell topics publish order.paid '{"order":"o-7"}' --id pay-7
  stepwell topics publish order.reminded - --delay 2h < order.json`,
		Args: arguments(1, 2, "TOPIC and optional JSON"),
		PreRunE: func(_ *cobra.Command, args []string) (err error) {
			in.Payload, err = payloadOf(c, args[1:])
			return err
		},
	}, "published", func(out *api.SentMessage, is *actedOn) string {
		if is.Publication, is.Duplicate = out.ID, out.Duplicate; out.Duplicate {
			is.Result = "known"
			return out.ID + " was published under " + in.Topic + " earlier, with this ID"
		}
		return "published " + out.ID + " under " + in.Topic
	})
	cmd.Flags().StringVar(&in.DeliveryID, "id", "",
		"`ID` of this publication: with the same ID, it is published only once")
	cmd.Flags().StringVar(&in.Source, "source", "",
		"`name` of the source: ordered subscriptions get the publications of one source in order")
	durationFlag(cmd, &in.Delay, "delay", "how `long` to delay it: 90s, 5m, 2h, 7d")
	pairFlag(cmd, &in.Headers, "header", "value",
		"`name=value` to publish with the payload; may be repeated")
	return cmd
}

func topicsSubscribeCommand(c *cli) *cobra.Command {
	var in api.Subscribe
	var start api.SubscribeWorkflow
	var post api.SubscribeEndpoint
	cmd := act(c, aboutTopics(c), api.SubscribeOp, &in, &cobra.Command{
		Use: "subscribe NAME PATTERN",
		Long: `Create a subscription, or replace the settings of the one with this name. It gets what is published from now on under the
topics that match the pattern: * stands for any one word, # for any number of words. Give one of --queue, --workflow and
--url.`,
		Example: `  stepwell topics subscribe books 'order.#' --queue books --match '{"land":"de"}'
  stepwell topics subscribe ship order.paid --workflow ship --key 'ship-{payload.order}'
  stepwell topics subscribe billing 'order.*' --url https://billing.example.com/events`,
		Args: arguments(2, 2, "NAME and PATTERN"),
		PreRunE: func(cmd *cobra.Command, args []string) error {
			in.Pattern = args[1]
			see := "see " + cmd.CommandPath() + " --help"
			if start.Name != "" {
				in.Workflow = &start
			} else if start.Key != "" || start.Version != 0 || len(start.Attributes) > 0 {
				return usagef(see, "--key, --version and --attribute are for --workflow")
			}
			if post.URL != "" {
				in.Endpoint = &post
			} else if post.Private || post.GiveUp != 0 {
				return usagef(see, "--private and --give-up are for --url")
			}
			return nil
		},
	}, "subscribed", func(out *api.Subscribed, is *actedOn) string {
		return secretText("subscribed "+in.Subscription+" to "+in.Pattern, out.Secret, is)
	})
	cmd.Flags().StringVar(&in.Queue, "queue", "", "put publications into this `queue`")
	cmd.Flags().StringVar(&start.Name, "workflow", "",
		"start a run of this `workflow` for each publication")
	cmd.Flags().StringVar(&post.URL, "url", "", "post publications to this `URL`")
	rawFlag(cmd, &in.Match, "match",
		"only publications that contain this `JSON`", `{"order":"o-7"}`)
	cmd.Flags().BoolVar(&in.Ordered, "ordered", false,
		"keep the order of what one source publishes under one topic")
	cmd.Flags().IntVar(&in.Revision, "revision", 0,
		"a `number` that grows with each change: a lower one than the current is refused")
	cmd.Flags().StringVar(&start.Key, "key", "",
		"`template` of the runs' idempotency key: {payload.a.b}, {topic}, {id}, {header.name}")
	pairFlag(cmd, &start.Attributes, "attribute", "template",
		"`name=template` of an attribute of the runs; may be repeated")
	cmd.Flags().IntVar(&start.Version, "version", 0,
		"`version` of the workflow (default: the highest that a live worker has)")
	cmd.Flags().BoolVar(&post.Private, "private", false,
		"the URL may be in a private network, if the server allows that too")
	durationFlag(cmd, &post.GiveUp, "give-up",
		"how `long` to retry a post before it becomes a dead letter, 30d at most (default 3d)")
	return cmd
}

// secretText adds a new secret to what was done. It is shown only once.
func secretText(text, secret string, is *actedOn) string {
	if is.Secret = secret; secret != "" {
		text += "\nthe secret of its endpoint; it is not shown again: " + secret
	}
	return text
}
