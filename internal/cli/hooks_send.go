package cli

// This file sends a payload to a hook.

import (
	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
)

// hookSent is what --json says of a payload that was sent to a hook.
type hookSent struct {
	acted
	Token string `json:"token"`
}

func hooksSendCommand(c *cli) *cobra.Command {
	var delivery string
	cmd := &cobra.Command{
		Use:   "send TOKEN [JSON|-]",
		Short: "Send a payload to a hook",
		Long: `Send a JSON payload to the active hook with a token. With - the payload is read from standard input; without JSON it is
null. Payloads are kept in order until the run receives them.

To send it again safely, give a delivery ID: a payload with the same ID is delivered once, for at least 24 hours and the
last 10,000 deliveries of the run. A different payload with the same ID is refused.

` + exitHelp,
		Example: `  stepwell hooks send order-7 '{"approved":true}'
  stepwell hooks send order-7 - < approval.json
  stepwell hooks send order-7 '"yes"' --delivery-id mail-4711`,
		Args:              arguments(1, 2, "TOKEN and optional JSON"),
		ValidArgsFunction: c.completeToken,
		RunE: func(cmd *cobra.Command, args []string) error {
			payload, err := payloadOf(c, args[1:])
			if err != nil {
				return err
			}
			return c.with(cmd.Context(), func(db *database) error {
				var opts []stepwell.SendOption
				if cmd.Flags().Changed("delivery-id") {
					opts = append(opts, stepwell.DeliveryID(delivery))
				}
				is := hookSent{acted{Action: "send", Result: "sent"}, args[0]}
				if c.json { // nobody else wants to know
					hooks, err := db.app.Hooks(cmd.Context(), "", args[0])
					if err != nil {
						return c.explainHook(err, args[0])
					}
					for _, h := range hooks {
						is.Run = h.Run
					}
				}
				if err := db.app.SendHook(cmd.Context(), args[0], payload, opts...); err != nil {
					return c.explainHook(err, args[0])
				}
				return c.tell(is, "sent a payload to the hook with the token "+human.Visible(args[0]))
			})
		},
	}
	cmd.Flags().StringVar(&delivery, "delivery-id", "", "`ID` of this delivery: with the same ID, it is delivered only once")
	c.actFlag(cmd)
	return cmd
}
