package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/internal/operate"
)

// bulkAct is one thing that can be done to many runs, as a command.
type bulkAct struct {
	*operate.Act
	done, short string
	use         string
	args        cobra.PositionalArgs
	more        string // of its help
}

func bulkActs() []bulkAct {
	none := arguments(0, 0, "no arguments")
	return []bulkAct{
		{operate.Find("cancel"), "cancel requested", "Ask runs to end", "cancel", none, ""},
		{operate.Find("pause"), "paused", "Stop runs until they are resumed", "pause", none, ""},
		{operate.Find("resume"), "resumed", "Let paused runs go on", "resume", none, ""},
		{operate.Find("wake"), "woken", "End the retry delays and sleeps of runs now", "wake", none, "\n\n" + wakeHelp},
		{operate.Find("retry"), "retried", "Continue failed runs from the step that failed, in new runs", "retry", none, ""},
		{operate.Find("restart"), "restarted", "Begin failed runs again, in new runs that replace them", "restart", none, ""},
		{operate.Find("signal"), "sent", "Send an event to runs", "signal EVENT [JSON|-]", arguments(1, 2, "EVENT and optional JSON"), ""},
	}
}

// words are what the act is told, from the command's arguments.
func (a *bulkAct) words(c *cli, args []string, flags *bulkFlags) (w operate.Words, err error) {
	if a.Name != "signal" {
		return operate.Words{Reason: flags.word, Wake: flags.wake.what()}, nil
	}
	var payload json.RawMessage
	payload, err = payloadOf(c, args[1:])
	return operate.Words{Event: args[0], Payload: payload, Delivery: flags.word}, err
}
