package cli

// This file is the group of commands about queues of messages, and what they share.

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

func queuesCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queues",
		Short: "List queues of messages; send, receive and settle messages; pause, purge and redrive",
		Long: `List queues of messages; send, receive and settle messages; pause, purge and redrive. Queues need no workflow. A message
is delivered at least once, until it is acknowledged. One that is received too often becomes a dead letter and stays in
its queue.

` + exitHelp,
		Example: `  stepwell queues list
  stepwell queues send mails '{"to":"ann@example.com"}'
  stepwell queues receive mails --wait 20s
  stepwell queues redrive mails`,
		Args:                       known,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(queuesListCommand(c), queuesShowCommand(c), queuesPeekCommand(c), queuesSendCommand(c), queuesReceiveCommand(c))
	cmd.AddCommand(queuesAckCommand(c), queuesNackCommand(c), queuesExtendCommand(c), queuesBuryCommand(c))
	cmd.AddCommand(queuesDeclareCommand(c), queuesDropCommand(c), queuesPauseCommand(c), queuesResumeCommand(c), queuesPurgeCommand(c), queuesRedriveCommand(c))
	return cmd
}

// withQueues opens the queues of the database for f. queue is what the command is about; "": none.
func (c *cli) withQueues(ctx context.Context, queue string, f func(k world.Messenger, by world.Notifier) error) error {
	if queue != "" {
		if err := world.CheckQueueName(queue); err != nil {
			return c.explainQueue(err, queue)
		}
	}
	return c.with(ctx, func(db *database) error {
		w := db.app.World()
		return c.explainQueue(f(w.Messages(), w), queue)
	})
}

// explainQueue says what went wrong with a queue, and what next.
func (t *target) explainQueue(err error, queue string) error {
	var f *fault
	switch {
	case err == nil || errors.As(err, &f):
		return err
	case errors.Is(err, stepwell.ErrNotFound):
		return &fault{exitNotFound, coded{fmt.Errorf("there is no queue %s in %s", human.Visible(queue), t.place()), err},
			"a program declares it on first use, or:  " + t.command("queues declare "+shellWord(queue))}
	case errors.Is(err, world.ErrConflict):
		return &fault{exitFailure, coded{fmt.Errorf("queue %s has messages", queue), err},
			"nothing was changed; see them:  " + t.command("queues peek "+queue) + "\n  delete them:  " + t.command("queues purge "+queue+" --all")}
	case errors.Is(err, world.ErrInvalid), errors.Is(err, world.ErrTooLarge):
		return &fault{exitUsage, err, "nothing was changed"}
	}
	return err
}

// completeQueue offers queues for the first argument.
func (c *cli) completeQueue(cmd *cobra.Command, args []string, begins string) (names []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	// A shell has no place for an error.
	_ = c.withQueues(cmd.Context(), "", func(k world.Messenger, _ world.Notifier) error {
		all, err := k.Queues(cmd.Context())
		for _, q := range all {
			if strings.HasPrefix(q.Name, begins) && len(names) < mostCompleted {
				names = append(names, q.Name+"\t"+strconv.FormatInt(q.Counts[world.MessageReady], 10)+" messages are ready")
			}
		}
		return err
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}

// queueActed is what --json says of something that was done to a queue.
type queueActed struct {
	acted
	Queue    string `json:"queue"`
	Messages int    `json:"messages,omitempty"` // how many were purged, or are messages again
}
