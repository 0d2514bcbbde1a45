package cli

// This file is the group of commands about topics, and what they share.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/courier"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/spread"
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

// withTopics opens the topics of the database for f. name is the subscription that the command is about; "": none.
func (c *cli) withTopics(ctx context.Context, name string, f func(t *spread.Spreader) error) error {
	return c.with(ctx, func(db *database) error {
		return c.explainTopic(f(spread.Of(db.app.World())), name)
	})
}

// explainTopic says what went wrong with a topic or a subscription, and what next.
func (t *target) explainTopic(err error, name string) error {
	var f *fault
	switch {
	case err == nil || errors.As(err, &f):
		return err
	case errors.Is(err, stepwell.ErrNotFound) && strings.Contains(err.Error(), "queue"):
		return &fault{exitNotFound, err, "nothing was changed; create the queue first:  " + t.command("queues declare QUEUE")}
	case errors.Is(err, stepwell.ErrNotFound):
		return &fault{exitNotFound, coded{fmt.Errorf("there is no subscription %s in %s", human.Visible(name), t.place()), err}, "see them all:  " + t.command("topics list")}
	case errors.Is(err, world.ErrConflict):
		return &fault{exitFailure, err, "nothing was changed; see it:  " + t.command("topics show "+shellWord(name))}
	case errors.Is(err, world.ErrInvalid), errors.Is(err, world.ErrTooLarge):
		return &fault{exitUsage, err, "nothing was changed"}
	}
	return err
}

// completeSubscription offers subscriptions for the first argument.
func (c *cli) completeSubscription(cmd *cobra.Command, args []string, begins string) (names []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	// A shell has no place for an error.
	_ = c.withTopics(cmd.Context(), "", func(t *spread.Spreader) error {
		all, err := t.Topics.Subscriptions(cmd.Context())
		for _, s := range all {
			if strings.HasPrefix(s.Name, begins) && len(names) < mostCompleted {
				names = append(names, s.Name+"\t"+s.Pattern)
			}
		}
		return err
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}

// published is what --json says of what was published.
type published struct {
	acted
	Topic       string `json:"topic"`
	Publication string `json:"publication"`
	Duplicate   bool   `json:"duplicate,omitempty"`
}

func topicsPublishCommand(c *cli) *cobra.Command {
	p := world.Publication{}
	var headers []string
	cmd := &cobra.Command{
		Use:   "publish TOPIC [JSON|-]",
		Short: "Publish under a topic, to all of its current subscriptions",
		Long: `Publish JSON under a topic, which is words with dots between. With - the JSON is read from standard input; without it the
payload is null. Every subscription that exists now gets it.

To publish it again safely, give an ID: the same topic and ID within 24 hours is the same publication.

` + exitHelp,
		Example: `  stepwell topics publish order.paid '{"order":"o-7"}' --id pay-7
  stepwell topics publish order.reminded - --delay 2h < order.json`,
		Args: arguments(1, 2, "TOPIC and optional JSON"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			p.Topic = args[0]
			if p.Payload, err = payloadOf(c, args[1:]); err != nil {
				return err
			}
			if p.Headers, err = headersOf(headers); err != nil {
				return err
			}
			return c.withTopics(cmd.Context(), "", func(t *spread.Spreader) error {
				sent, err := t.Topics.Publish(cmd.Context(), []world.Publication{p})
				if err != nil {
					return err
				}
				is := published{acted{Action: "publish", Result: "published"}, p.Topic, sent[0].ID, sent[0].Duplicate}
				text := "published " + is.Publication + " under " + p.Topic
				if is.Duplicate {
					is.Result, text = "known", is.Publication+" was published under "+p.Topic+" earlier, with this ID"
				}
				return c.tell(is, text)
			})
		},
	}
	cmd.Flags().StringVar(&p.Dedupe, "id", "", "`ID` of this publication: with the same ID, it is published only once")
	cmd.Flags().StringVar(&p.Source, "source", "", "`name` of the source: ordered subscriptions get the publications of one source in order")
	spanFlag(cmd, func(d time.Duration) { p.Delay = d }, "delay", "how `long` to delay it: 90s, 5m, 2h, 7d")
	cmd.Flags().StringArrayVar(&headers, "header", nil, "`name=value` to publish with the payload; may be repeated")
	c.actFlag(cmd)
	return cmd
}

// subscriptionActed is what --json says of something that was done to a subscription.
type subscriptionActed struct {
	acted
	Subscription string `json:"subscription"`
	Messages     int    `json:"messages,omitempty"` // how many are delivered again
	Secret       string `json:"secret,omitempty"`   // that was made just now
}

// tellSecret tells of a secret, once.
func tellSecret(c *cli, is subscriptionActed, text string) error {
	if is.Secret != "" {
		text += "\nthe secret of its endpoint; it is not shown again: " + is.Secret
	}
	return c.tell(is, text)
}

func topicsSubscribeCommand(c *cli) *cobra.Command {
	sub := world.Subscription{}
	var start world.StartTarget
	var post world.PostTarget
	var match string
	var attributes []string
	cmd := &cobra.Command{
		Use:   "subscribe NAME PATTERN",
		Short: "Create a subscription, or change its settings",
		Long: `Create a subscription, or replace the settings of the one with this name. It gets what is published from now on under the
topics that match the pattern: * stands for any one word, # for any number of words. Give one of --queue, --workflow and
--url.

` + exitHelp,
		Example: `  stepwell topics subscribe books 'order.#' --queue books --match '{"land":"de"}'
  stepwell topics subscribe ship order.paid --workflow ship --key 'ship-{payload.order}'
  stepwell topics subscribe billing 'order.*' --url https://billing.example.com/events`,
		Args:              arguments(2, 2, "NAME and PATTERN"),
		ValidArgsFunction: c.completeSubscription,
		RunE: func(cmd *cobra.Command, args []string) error {
			sub.Name, sub.Pattern = args[0], args[1]
			sub.Made = world.Provenance{By: c.who, At: c.now().UTC()}
			if match != "" {
				if err := checkJSON("--match", []byte(match), `quote it for the shell: '{"order":"o-7"}'`); err != nil {
					return err
				}
				sub.Match = json.RawMessage(match)
			}
			if start.Name != "" {
				for _, text := range attributes {
					name, value, ok := strings.Cut(text, "=")
					if !ok || name == "" {
						return usagef("write it as name=template", "--attribute %q has no name", text)
					}
					if start.Attributes == nil {
						start.Attributes = map[string]string{}
					}
					start.Attributes[name] = value
				}
				sub.Workflow = &start
			} else if start.Key != "" || start.Version != 0 || len(attributes) > 0 {
				return usagef("see stepwell topics subscribe --help", "--key, --version and --attribute are for --workflow")
			}
			if post.URL != "" {
				sub.Endpoint = &post
			} else if post.Private || post.GiveUp != 0 {
				return usagef("see stepwell topics subscribe --help", "--private and --give-up are for --url")
			}
			return c.withTopics(cmd.Context(), sub.Name, func(t *spread.Spreader) error {
				secret, err := courier.Subscribe(cmd.Context(), t, sub)
				if err != nil {
					return err
				}
				is := subscriptionActed{acted: acted{Action: "subscribe", Result: "subscribed"}, Subscription: sub.Name, Secret: string(secret)}
				return tellSecret(c, is, "subscribed "+sub.Name+" to "+sub.Pattern)
			})
		},
	}
	cmd.Flags().StringVar(&sub.Queue, "queue", "", "put publications into this `queue`")
	cmd.Flags().StringVar(&start.Name, "workflow", "", "start a run of this `workflow` for each publication")
	cmd.Flags().StringVar(&post.URL, "url", "", "post publications to this `URL`")
	cmd.Flags().StringVar(&match, "match", "", "only publications that contain this `JSON`")
	cmd.Flags().BoolVar(&sub.Ordered, "ordered", false, "keep the order of what one source publishes under one topic")
	cmd.Flags().IntVar(&sub.Revision, "revision", 0, "a `number` that grows with each change: a lower one than the current is refused")
	cmd.Flags().StringVar(&start.Key, "key", "", "`template` of the runs' idempotency key: {payload.a.b}, {topic}, {id}, {header.name}")
	cmd.Flags().StringArrayVar(&attributes, "attribute", nil, "`name=template` of an attribute of the runs; may be repeated")
	cmd.Flags().IntVar(&start.Version, "version", 0, "`version` of the workflow (default: the highest that a live worker has)")
	cmd.Flags().BoolVar(&post.Private, "private", false, "the URL may be in a private network, if the server allows that too")
	spanFlag(cmd, func(d time.Duration) { post.GiveUp = d }, "give-up", "how `long` to retry a post before it becomes a dead letter, 30d at most (default 3d)")
	c.actFlag(cmd)
	return cmd
}
