package cli

// This file says to a hook that somebody is still at it.

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/internal/human"
)

func hooksHeartbeatCommand(c *cli) *cobra.Command {
	var details string
	cmd := &cobra.Command{
		Use:   "heartbeat TOKEN",
		Short: "Tell a hook that someone is still working on it",
		Long: `Tell a hook that whoever has its token is still working on it, so that the run keeps waiting. It is for hooks whose
workflow set a HeartbeatTimeout. Send heartbeats as often as you like: at most one per eighth of that time is written.
Details are JSON, at most 4 KiB; they are shown with the run.

` + exitHelp,
		Example: `  stepwell hooks heartbeat order-7
  stepwell hooks heartbeat order-7 --details '{"page":3}'`,
		Args:              arguments(1, 1, "TOKEN"),
		ValidArgsFunction: c.completeToken,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), func(db *database) error {
				if err := db.app.HeartbeatHook(cmd.Context(), args[0], json.RawMessage(details)); err != nil {
					return c.explainHook(err, args[0])
				}
				is := hookSent{acted{Action: "heartbeat", Result: "sent"}, args[0]}
				return c.tell(is, "the hook with the token "+human.Visible(args[0])+" knows that you are still working on it")
			})
		},
	}
	cmd.Flags().StringVar(&details, "details", "null", "details to show with the run, as `JSON`")
	c.actFlag(cmd)
	return cmd
}
