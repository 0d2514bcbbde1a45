package cli

// This file is the group of commands about limits: how many runs of what are at work at once, or begin in a period.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
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

// withLimits opens the limits of the database for f. name is the limit that the command is about; "": none.
func withLimits(ctx context.Context, c *cli, name string, f func(l world.Limiter) error) error {
	return c.with(ctx, func(db *database) error {
		err := f(db.app.World().Limits())
		switch {
		case errors.Is(err, stepwell.ErrNotFound):
			return &fault{exitNotFound, coded{fmt.Errorf("there is no limit %s in %s", human.Visible(name), c.place()), err},
				"the first definition, start or send under it creates it; see all:  " + c.command("limits list")}
		case errors.Is(err, world.ErrInvalid):
			return &fault{exitUsage, err, "nothing was changed"}
		}
		return err
	})
}

// completeLimit offers limits for the first argument.
func completeLimit(c *cli) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begins string) (names []string, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		// A shell has no place for an error.
		_ = withLimits(cmd.Context(), c, "", func(l world.Limiter) error {
			all, err := l.ListLimits(cmd.Context())
			for i := range all {
				if strings.HasPrefix(all[i].Name, begins) && len(names) < mostCompleted {
					l := ops.LimitOf(&all[i])
					names = append(names, l.Name+"\t"+numberText(&l))
				}
			}
			return err
		})
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

func limitsListCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the limits",
		Long: `List the limits: how many of each key may be at work at once or begin in a period, the number in the code if an operator
has set another one, and what counts: runs, steps, messages. With --json each limit is one line.

` + exitHelp,
		Example: `  stepwell limits list`,
		Args:    arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withLimits(cmd.Context(), c, "", func(l world.Limiter) error {
				all, err := l.ListLimits(cmd.Context())
				if err != nil {
					return err
				}
				return listLimits(c, all)
			})
		},
	}
	c.jsonFlag(cmd, "write one JSON object per limit")
	return cmd
}

func listLimits(c *cli, all []world.Limit) error {
	t := &table{Gap: "  "}
	t.Add(cell{Text: "LIMIT", Tone: dim}, cell{Text: "NUMBER", Tone: dim, Right: true}, cell{Text: "CODE SAYS", Tone: dim, Right: true}, cell{Text: "COUNTS", Tone: dim})
	for i := range all {
		l := ops.LimitOf(&all[i])
		if c.json {
			if err := c.encoder().Encode(l); err != nil {
				return err
			}
			continue
		}
		t.Add(cell{Text: l.Name}, cell{Text: strconv.Itoa(l.Number), Right: true}, cell{Text: strconv.Itoa(l.Said), Right: true}, cell{Text: countsText(&l)})
	}
	switch {
	case c.json:
	case len(all) == 0:
		fmt.Fprintf(c.stderr, "no limits in %s\n", c.place())
	default:
		t.Write(c.stdout, c.style())
	}
	return nil
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

// mostKeysShown is how many keys of a limit are read at once.
const mostKeysShown = 1000

func limitsShowCommand(c *cli) *cobra.Command {
	var most int
	cmd := &cobra.Command{
		Use:   "show LIMIT",
		Short: "Show a limit and the state of its keys",
		Long: `Show a limit and the state of its keys: how many places are held, how many runs, steps and messages wait in line (counted up
to 10,000), and how long the first one has waited. For a rate you see how many were let in and have not begun, and when
the next one may begin. Where keys have weights you see them: a key has as many times the places as its weight says. Keys
that nothing needs are not listed. With --json the output is one object.

` + exitHelp,
		Example: `  stepwell limits show import
  stepwell limits show import --limit 1000 --json | jq '.keys[] | select(.waiting > 0)'`,
		Args: arguments(1, 1, "LIMIT"), ValidArgsFunction: completeLimit(c),
		RunE: func(cmd *cobra.Command, args []string) error {
			if most < 1 || most > mostKeysShown {
				return usagef("nothing was read", "--limit %d: want 1 to %d", most, mostKeysShown)
			}
			return withLimits(cmd.Context(), c, args[0], func(l world.Limiter) error {
				is, err := limitNamed(cmd.Context(), l, args[0])
				if err != nil {
					return err
				}
				page := api.LimitPage{Limit: is, Keys: []api.LimitKey{}}
				keys, err := l.ListLimitKeys(cmd.Context(), args[0], "", most)
				if err != nil {
					return err
				}
				for _, k := range keys {
					page.Keys = append(page.Keys, api.LimitKey(k))
				}
				return showLimit(c, &page)
			})
		},
	}
	cmd.Flags().IntVar(&most, "limit", 100, "at most this many `keys`, in alphabetical order: 1 to 1000")
	c.jsonFlag(cmd, "write one JSON object")
	return cmd
}

// limitNamed is one limit.
func limitNamed(ctx context.Context, l world.Limiter, name string) (is api.Limit, err error) {
	all, err := l.ListLimits(ctx)
	if err != nil {
		return is, err
	}
	i := slices.IndexFunc(all, func(l world.Limit) bool { return l.Name == name })
	if i < 0 {
		return is, world.NoLimit(name)
	}
	return ops.LimitOf(&all[i]), nil
}

func showLimit(c *cli, page *api.LimitPage) error {
	if c.json {
		return c.encoder().Encode(page)
	}
	said := ""
	if page.Set != nil {
		said = fmt.Sprintf("; the code says %d", page.Said)
	}
	fmt.Fprintf(c.stdout, "limit %s: %s of each key%s; counts %s\n", page.Name, numberText(&page.Limit), said, countsText(&page.Limit))
	if len(page.Keys) == 0 {
		fmt.Fprintln(c.stdout, "nothing needs it now")
		return nil
	}
	next, weight := "", ""
	if page.Per > 0 {
		next = "NEXT"
	}
	if len(page.Weights) > 0 {
		weight = "WEIGHT"
	}
	t := &table{Gap: "  "}
	t.Add(cell{Text: "KEY", Tone: dim}, cell{Text: "IN USE", Tone: dim, Right: true}, cell{Text: "IN LINE", Tone: dim, Right: true}, cell{Text: "OLDEST", Tone: dim}, cell{Text: next, Tone: dim}, cell{Text: weight, Tone: dim, Right: true})
	for _, k := range page.Keys {
		key := human.Visible(k.Key)
		if k.Key == "" {
			key = "(none)"
		}
		if weight != "" {
			weight = strconv.Itoa(max(k.Weight, 1))
		}
		t.Add(cell{Text: key}, cell{Text: strconv.Itoa(k.Used), Right: true}, cell{Text: strconv.Itoa(k.Waiting), Right: true}, cell{Text: turnText(k.Oldest)}, cell{Text: turnText(k.Next)}, cell{Text: weight, Right: true})
	}
	t.Write(c.stdout, c.style())
	return nil
}

// turnText says since when one waits, or when a rate lets in the next.
func turnText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Format(time.RFC3339)
}

// limitActed is what --json says of something that was done to a limit.
type limitActed struct {
	acted
	Limit  string `json:"limit"`
	Number int    `json:"number"` // that holds now
}

func limitsSetCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set LIMIT NUMBER|code",
		Short: "Set how many of a key may be at work at once, or begin in a period",
		Long: `Set how many of a key may be at work at once or, for a rate, begin in its period: runs, attempts of registered steps and
messages, whatever the limit counts. Your number replaces the one in the code; "code" restores that one. If you lower the
number, nothing is stopped, but nothing is let in until there is room. 0 lets in nothing. Starts and sends are accepted all
the time.

` + exitHelp,
		Example: `  stepwell limits set import 3
  stepwell limits set import 0
  stepwell limits set import code`,
		Args: arguments(2, 2, "LIMIT NUMBER"), ValidArgsFunction: completeLimit(c),
		RunE: func(cmd *cobra.Command, args []string) error {
			var number *int
			if args[1] != "code" {
				n, err := strconv.Atoi(args[1])
				if err != nil {
					return usagef("nothing was changed", "number %s: want a number, or code to restore the number in the code", human.Visible(args[1]))
				}
				number = &n
			}
			return withLimits(cmd.Context(), c, args[0], func(l world.Limiter) error {
				if err := l.SetLimit(cmd.Context(), args[0], number); err != nil {
					return err
				}
				is, err := limitNamed(cmd.Context(), l, args[0])
				if err != nil {
					return err
				}
				text := fmt.Sprintf("limit %s: %s", is.Name, numberText(&is))
				if number == nil {
					text += ", as in the code"
				}
				return c.tell(limitActed{acted{Action: "set", Result: "set"}, is.Name, is.Number}, text)
			})
		},
	}
	c.actFlag(cmd)
	return cmd
}
