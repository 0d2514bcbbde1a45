package cli

// This file is the group of commands about hooks, and what they share.

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

func hooksCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hooks",
		Short: "List hooks, and send to them",
		Long: `List hooks, and send to them. A hook is a point of a run that receives payloads from outside, under a token.

` + exitHelp,
		Example: `  stepwell hooks list --run RUN
  stepwell hooks send TOKEN '{"approved":true}'
  stepwell hooks heartbeat TOKEN`,
		Args:                       known,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(hooksListCommand(c), hooksSendCommand(c), hooksHeartbeatCommand(c))
	return cmd
}

// explainHook says what went wrong with a hook, and what next.
func (t *target) explainHook(err error, token string) error {
	known, _ := world.CodeOf(err)
	list, next := "list the open hooks:  "+t.command("hooks list"), ""
	says := func(format string, args ...any) error {
		return &fault{known.Exit, coded{fmt.Errorf(format, args...), err}, next}
	}
	switch token = human.Visible(token); known.Err {
	case world.ErrNotFound:
		next = "it was disposed of, its run is over, or it is not open yet; " + list
		return says("there is no active hook with the token %s in %s", token, t.place())
	case world.ErrTerminal:
		next = list
		return says("the run of the hook with the token %s is over", token)
	case world.ErrDeliveryUsed:
		next = "nothing was sent; use a new delivery ID for a new payload"
		return says("the hook with the token %s has already received a different payload with this delivery ID", token)
	case world.ErrInboxFull:
		next = "send it again later, with the same --delivery-id"
		return says("the run of the hook with the token %s has too many unread payloads", token)
	}
	return t.explain(err, "")
}

// completeToken offers the tokens of active hooks for the first argument.
func (t *target) completeToken(cmd *cobra.Command, args []string, begins string) (tokens []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	_ = t.with(cmd.Context(), func(db *database) error { // a shell has no place for an error
		hooks, err := db.app.Hooks(cmd.Context(), "", "")
		for _, h := range hooks {
			if strings.HasPrefix(h.Token, begins) && len(tokens) < mostCompleted {
				tokens = append(tokens, h.Token+"\trun "+h.Run)
			}
		}
		return err
	})
	return tokens, cobra.ShellCompDirectiveNoFileComp
}
