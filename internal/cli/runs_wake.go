package cli

// This file ends what a run waits for that is nothing but time.

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
)

// woken is what --json says of delays that were ended.
type woken struct {
	acted
	Retries int `json:"retries"`
	Starts  int `json:"starts"`
	Sleeps  int `json:"sleeps"`
}

// wakeHelp says what the choices of a wake are.
const wakeHelp = `--retries ends the delays of steps that failed and wait for their next attempt: they are tried again now. Attempts still
count, and later delays stay the same. A blocked run is tried again, too. --starts ends the delays of starts. --sleeps
ends the sleeps and timers of the code. Without any of them you get --retries and --sleeps. A sleep is often part of the
program's purpose, such as two weeks before a reminder: after an outage you want --retries only.`

// wakeFlags are what a wake is to end.
type wakeFlags struct{ retries, starts, sleeps bool }

func (f *wakeFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&f.retries, "retries", false, "end the delays before the next attempts of steps")
	fl.BoolVar(&f.starts, "starts", false, "end the delays of starts")
	fl.BoolVar(&f.sleeps, "sleeps", false, "end sleeps and timers")
}

func (f *wakeFlags) what() []world.Waking { return operate.Waking(f.retries, f.starts, f.sleeps) }

// triedAgain says that a blocked run is tried again, and what else can be done where that does not help by itself.
func (t *target) triedAgain(run string, b *world.Block) string {
	text := "run " + run + " is blocked: it is tried again now"
	if b.Code == world.CodeCorrupt {
		text += "\n  its log is damaged, so this helps only after the rows are restored: " + human.Visible(b.Message) + "\n  " + t.aroundDamage(run, b.Seq)
	}
	return text
}

func runsWakeCommand(c *cli) *cobra.Command {
	var flags wakeFlags
	cmd := &cobra.Command{
		Use:   "wake RUN",
		Short: "End the retry delays and sleeps of a run now",
		Long: `End the retry delays and sleeps of a run now, and print how many there were. Waits for events, hooks and other runs
continue. A blocked run is tried again at once, even one whose log cannot be read. The request is durable when the
command returns; a worker carries it out.

` + wakeHelp + "\n\n" + exitHelp,
		Example: `  stepwell runs wake wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4
  stepwell runs wake wrun_01JD3V --retries`,
		Args:              arguments(1, 1, "RUN"),
		ValidArgsFunction: c.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return actOn(c, cmd, args[0], func(db *database, run string) (any, string, error) {
				n, err := db.app.Wake(cmd.Context(), run, flags.what()...)
				if err != nil {
					return nil, "", err
				}
				told := woken{acted{Run: run, Action: "wake", Result: "woken"}, n.Retries, n.Starts, n.Sleeps}
				row, again := db.app.Get(cmd.Context(), run)
				switch q := row.Queue; {
				case again == nil && n.Tried && q != nil && q.Blocked != nil:
					return told, c.triedAgain(run, q.Blocked), nil
				case n.Total() > 0:
					return told, fmt.Sprintf("ended %s of run %s", n, run), nil
				case again == nil && !flags.starts && row.Status == world.Pending && q != nil && q.WakeAt.After(time.Now()):
					told.Result = "unchanged"
					return told, fmt.Sprintf("run %s begins later: nothing to end; to begin it now:  %s", run, c.command("runs wake "+run+" --starts")), nil
				}
				told.Result = "unchanged"
				return told, fmt.Sprintf("run %s has no such wait: nothing to end; see what it waits for:  %s", run, c.command("runs show "+run)), nil
			})
		},
	}
	flags.add(cmd)
	c.actFlag(cmd)
	return cmd
}
