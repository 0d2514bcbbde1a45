package cli

// This file is the group of commands about limits.

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/ops"
	"github.com/stepwell/stepwell/world"
)

func limitsCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "limits",
		Short: "List limits, show the state of their keys and what holds them, and change their numbers",
		Long: `List limits, show the state of their keys and what holds them, and change their numbers. A limit says how many may be at work
at once: runs of a workflow, attempts of a registered step or messages of a queue, for each key. A rate says how many may
begin in a period. The others wait in line. Limits are defined in code; you can change their numbers while programs run.

` + exitHelp,
		Example: `  stepwell limits list
  stepwell limits show import
  stepwell limits holders import acme
  stepwell limits set import 3`,
		Args:                       known,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(limitsListCommand(c), limitsShowCommand(c), limitsHoldersCommand(c), limitsSetCommand(c))
	return cmd
}

// aboutLimits is what the commands about limits share.
func aboutLimits(c *cli) *subject {
	return &subject{
		kind: "limit",
		missing: func(string) string {
			return "the first definition, start or send under it creates it; see all:  " +
				c.command("limits list")
		},
		complete: completes(c, api.ListLimitsOp, func(l *api.Limit) string {
			return l.Name + "\t" + numberText(l)
		}),
	}
}

func limitsListCommand(c *cli) *cobra.Command {
	return list(c, aboutLimits(c), api.ListLimitsOp, &api.ListLimits{}, &cobra.Command{
		Use: "list",
		Long: `List the limits: how many of each key may be at work at once or begin in a period, the number in the code if an operator
has set another one, and what counts: runs, steps, messages. With --json each limit is one line.`,
		Example: `  stepwell limits list`,
	}, heads("LIMIT", ">NUMBER", ">CODE SAYS", "COUNTS"), func(l *api.Limit) []cell {
		return []cell{{Text: l.Name}, number(l.Number), number(l.Said), {Text: countsText(l)}}
	}, none(c, "no limits"))
}

// countsText says what counts for a limit.
func countsText(l *api.Limit) string {
	switch {
	case world.SingleOf(l.Name) != "":
		return "live runs: a singleton"
	case l.Per > 0 && l.Refuse:
		return "runs that begin in " + l.Per.String() + burstText(l) + "; others are refused"
	case l.Per > 0:
		return ops.LimitCounts(l) + " that begin in " + l.Per.String() + burstText(l)
	case l.UntilEnd:
		return "runs until their end" + weightText(l)
	}
	return ops.LimitCounts(l) + " at work" + weightText(l)
}

func weightText(l *api.Limit) string {
	if n := len(l.Weights); n > 0 {
		return "; weights: " + human.Count(n, "key")
	}
	return ""
}

func burstText(l *api.Limit) string {
	if l.Burst > 1 {
		return fmt.Sprintf(", %d at one moment", l.Burst)
	}
	return ""
}

// numberText says how many a limit lets in.
func numberText(l *api.Limit) string {
	if l.Per > 0 {
		return fmt.Sprintf("%d in %s", l.Number, l.Per)
	}
	return fmt.Sprintf("%d at once", l.Number)
}

// mostKeysShown is how many keys or holders of a limit are read at once.
const mostKeysShown = 1000

func limitsShowCommand(c *cli) *cobra.Command {
	in := api.GetLimit{Most: 100}
	cmd := show(c, aboutLimits(c), api.GetLimitOp, &in, &cobra.Command{
		Use: "show LIMIT",
		Long: `Show a limit and the state of its keys: how many places are held, how many runs, steps and messages wait in line (counted up
to 10,000), and how long the first one has waited. For a rate you see how many were let in and have not begun, and when
the next one may begin. Where keys have weights you see them: a key has as many times the places as its weight says. Keys
that nothing needs are not listed. With --json the output is one object.`,
		Example: `  stepwell limits show import
  stepwell limits show import --limit 1000 --json | jq '.keys[] | select(.waiting > 0)'`,
	}, showLimit)
	numberFlag(cmd, &in.Most, "limit", 1, mostKeysShown,
		"at most this many `keys`, in alphabetical order: 1 to 1000")
	return cmd
}

func showLimit(c *cli, page *api.LimitPage) {
	said := ""
	if page.Set != nil {
		said = fmt.Sprintf("; the code says %d", page.Said)
	}
	fmt.Fprintf(c.stdout, "limit %s: %s of each key%s; counts %s\n", page.Name, numberText(&page.Limit), said, countsText(&page.Limit))
	if len(page.Keys) == 0 {
		fmt.Fprintln(c.stdout, "nothing needs it now")
		return
	}
	next, weight := "", ""
	if page.Per > 0 {
		next = "NEXT"
	}
	if len(page.Weights) > 0 {
		weight = "WEIGHT"
	}
	t := &table{Gap: "  "}
	t.Add(heads("KEY", ">IN USE", ">IN LINE", "OLDEST", next, ">"+weight)...)
	for _, k := range page.Keys {
		key := human.Visible(k.Key)
		if k.Key == "" {
			key = "(none)"
		}
		if weight != "" {
			weight = strconv.Itoa(max(k.Weight, 1))
		}
		t.Add(cell{Text: key}, number(k.Used), number(k.Waiting), cell{Text: turnText(k.Oldest)},
			cell{Text: turnText(k.Next)}, cell{Text: weight, Right: true})
	}
	t.Write(c.stdout, c.style())
}

// turnText says since when one waits, or when a rate lets in the next.
func turnText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Format(time.RFC3339)
}

func limitsHoldersCommand(c *cli) *cobra.Command {
	in := api.ListLimitHolders{Most: 100}
	cmd := list(c, aboutLimits(c), api.ListLimitHoldersOp, &in, &cobra.Command{
		Use: "holders LIMIT [KEY]",
		Long: `List what holds the places of a key of a limit: runs, steps of runs and messages of queues, of each the oldest first. A
limit without keys needs no KEY. Nothing holds a place of a rate for long: what it let in and has not begun is listed. The
command reads all runs and messages under limits. With --json each holder is one line.`,
		Example: `  stepwell limits holders import
  stepwell limits holders import acme --json | jq -r .run`,
		Args:   arguments(1, 2, "LIMIT [KEY]"),
		PreRun: func(_ *cobra.Command, args []string) { in.Key = strings.Join(args[1:], "") },
	}, heads("HOLDER", "IS"), func(h *world.LimitHolder) []cell {
		holder, is := h.Run+h.Message, ops.HolderText(h)
		return []cell{{Text: human.Visible(holder)}, {Text: human.Visible(is)}}
	}, func(n int, _ bool) string {
		switch {
		case n == in.Most && n < mostKeysShown:
			return fmt.Sprintf("there may be more: --limit %d", mostKeysShown)
		case n > 0:
			return ""
		case in.Key == "":
			return fmt.Sprintf("nothing holds a place of limit %s without a key; its keys:  %s",
				in.Limit, c.command("limits show "+shellWord(in.Limit)))
		}
		return "nothing holds a place of key " + human.Visible(in.Key) + " of limit " + in.Limit
	})
	numberFlag(cmd, &in.Most, "limit", 1, mostKeysShown, "at most this `many` holders: 1 to 1000")
	return cmd
}

func limitsSetCommand(c *cli) *cobra.Command {
	var in api.SetLimit
	return act(c, aboutLimits(c), api.SetLimitOp, &in, &cobra.Command{
		Use:   "set LIMIT NUMBER|code",
		Short: "Set how many of a key may be at work at once, or begin in a period",
		Long: `Set how many of a key may be at work at once or, for a rate, begin in its period: runs, attempts of registered steps and
messages, whatever the limit counts. Your number replaces the one in the code; "code" restores that one. If you lower the
number, nothing is stopped, but nothing is let in until there is room. 0 lets in nothing. Starts and sends are accepted all
the time.`,
		Example: `  stepwell limits set import 3
  stepwell limits set import 0
  stepwell limits set import code`,
		Args: arguments(2, 2, "LIMIT NUMBER"),
		PreRunE: func(_ *cobra.Command, args []string) error {
			if args[1] == "code" {
				return nil
			}
			n, err := strconv.Atoi(args[1])
			if err != nil {
				return usagef("nothing was changed", "number %s: want a number, or code to restore the number in the code", human.Visible(args[1]))
			}
			in.Number = &n
			return nil
		},
	}, "set", func(out *api.Limit, is *actedOn) string {
		is.Number = &out.Number
		text := fmt.Sprintf("limit %s: %s", out.Name, numberText(out))
		if in.Number == nil {
			text += ", as in the code"
		}
		return text
	})
}
