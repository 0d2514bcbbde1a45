package cli

// This file sends an event to a run.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// signalled is what --json says of an event that was sent.
type signalled struct {
	acted
	Event string `json:"event"`
}

func runsSignalCommand(c *cli) *cobra.Command {
	var delivery string
	cmd := &cobra.Command{
		Use:   "signal RUN EVENT [JSON|-]",
		Short: "Send an event to a run",
		Long: `Send an event with a JSON payload to a run. With - the payload is read from standard input; without JSON it is null. The
event is kept until a wait takes it, so you can send it before the run waits.

To send it again safely, give a delivery ID: an event with the same ID is delivered once, for at least 24 hours and the
last 10,000 deliveries of the run. A different payload with the same ID is refused.

` + exitHelp,
		Example: `  stepwell runs signal wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4 verify '{"userId":"42"}'
  stepwell runs signal wrun_01JD3V approve - < approval.json
  stepwell runs signal wrun_01JD3V paid '"invoice-7"' --delivery-id bank-4711`,
		Args:              arguments(2, 3, "RUN, EVENT and optional JSON"),
		ValidArgsFunction: c.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			payload, err := payloadOf(c, args[2:])
			if err != nil {
				return err
			}
			return actOn(c, cmd, args[0], func(db *database, run string) (any, string, error) {
				var opts []stepwell.SendOption
				if cmd.Flags().Changed("delivery-id") {
					opts = append(opts, stepwell.DeliveryID(delivery))
				}
				err := db.app.Signal(cmd.Context(), run, args[1], payload, opts...)
				return signalled{acted{Run: run, Action: "signal", Result: "sent"}, args[1]}, fmt.Sprintf("sent event %q to run %s", args[1], run), err
			})
		},
	}
	cmd.Flags().StringVar(&delivery, "delivery-id", "", "`ID` of this delivery: with the same ID, it is delivered only once")
	c.actFlag(cmd)
	return cmd
}

// payloadOf reads the JSON to send.
func payloadOf(c *cli, args []string) (json.RawMessage, error) {
	return jsonOf(c, args, world.MaxCommit)
}

// mostInput is how many bytes of an input are read: as many as a value of a run may have.
const mostInput = 64 << 20

// jsonOf reads JSON of most bytes, of an argument or of standard input.
func jsonOf(c *cli, args []string, most int64) (json.RawMessage, error) {
	if len(args) == 0 {
		return json.RawMessage("null"), nil
	}
	b := []byte(args[0])
	if args[0] == "-" {
		var err error
		if b, err = io.ReadAll(io.LimitReader(c.stdin, most+1)); err != nil {
			return nil, fmt.Errorf("read the payload from standard input: %w", err)
		}
		if int64(len(b)) > most { // what was read is not all
			return nil, &fault{exitUsage, fmt.Errorf("%w: the payload has more than %d bytes", world.ErrTooLarge, most), "nothing was changed"}
		}
	}
	b = bytes.TrimSpace(b)
	return b, checkJSON("the payload", b, `quote it for the shell; a text needs both quotes: '{"userId":"42"}', '"text"', 42`)
}

// checkJSON refuses what is not JSON, and says how to write it.
func checkJSON(what string, b []byte, next string) error {
	if err := world.CheckJSON(what, b); err != nil {
		return usagef(next, "%s", strings.TrimPrefix(err.Error(), world.ErrInvalid.Error()+": "))
	}
	return nil
}
