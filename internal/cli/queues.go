package cli

// This file is the group of commands about queues of messages, and what they share.

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/api"
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

// aboutQueues is what the commands about queues share.
func aboutQueues(c *cli) *subject {
	return &subject{
		kind: "queue", before: "queue ",
		missing: func(name string) string {
			return "a program declares it on first use, or:  " +
				c.command("queues declare "+shellWord(name))
		},
		conflict: func(name string) string {
			return "nothing was changed; see them:  " + c.command("queues peek "+name) +
				"\n  delete them:  " + c.command("queues purge "+name+" --all")
		},
		complete: completes(c, api.ListQueuesOp, func(q *api.MessageQueue) string {
			return fmt.Sprintf("%s\t%d messages are ready", q.Name, q.Counts.Ready)
		}),
	}
}
