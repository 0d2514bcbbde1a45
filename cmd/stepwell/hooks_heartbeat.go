package main

// This file says to a hook that somebody is still at it.

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
)

func hooksHeartbeatCommand(c *cli) *cobra.Command {
	var details string
	cmd := &cobra.Command{
		Use:   "heartbeat TOKEN",
		Short: "Say that whoever has a hook's token is still at it",
		Long: `Say that whoever has the token of a hook is still at it, so that the run goes on waiting: for hooks whose workflow gave
them a HeartbeatTimeout. Say it as often as you like; at most one in an eighth of that time is written. Details, as JSON of
4 KiB at most, are shown with the run.

` + exitHelp,
		Example: `  stepwell hooks heartbeat order-7
  stepwell hooks heartbeat order-7 --details '{"page":3}'`,
		Args:              arguments(1, 1, "TOKEN"),
		ValidArgsFunction: c.completeToken,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), func(db *database) error {
				if err := stepwell.HeartbeatHook(cmd.Context(), db.app, args[0], json.RawMessage(details)); err != nil {
					return c.explainHook(err, args[0])
				}
				is := hookSent{acted{Action: "heartbeat", Result: "sent"}, args[0]}
				return c.tell(is, "the hook with the token "+human.Visible(args[0])+" knows that you are still at it")
			})
		},
	}
	cmd.Flags().StringVar(&details, "details", "null", "what people are to see, as `JSON`")
	c.actFlag(cmd)
	return cmd
}
