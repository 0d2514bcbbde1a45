package cli

// This file lists active hooks.

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/internal/draw"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/webhook"
	"github.com/stepwell/stepwell/world"
)

// mostHooks is how many App.Hooks lists.
const mostHooks = 1000

func hooksListCommand(c *cli) *cobra.Command {
	var run, token string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List active hooks",
		Long: `List active hooks, at most 1,000 and at most 2 MiB of metadata. For each hook you see its token, its run, the metadata
that the code gave it, and the URL of a webhook. Anyone who knows a token can send to its hook. With --json each hook is
one line.

` + exitHelp,
		Example: `  stepwell hooks list
  stepwell hooks list --run wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4
  stepwell hooks list --token order-7 --json | jq -r .run`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd.Context(), func(db *database) error { return listHooks(cmd.Context(), c, db, run, token) })
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "only hooks of this `RUN`")
	cmd.Flags().StringVar(&token, "token", "", "only the hook with this `token`")
	c.jsonFlag(cmd, "write one JSON object per hook")
	return cmd
}

func listHooks(ctx context.Context, c *cli, db *database, run, token string) error {
	if run != "" {
		var err error
		if run, err = c.find(ctx, db, run); err != nil {
			return err
		}
	}
	rows, err := db.app.Hooks(ctx, run, token)
	if err != nil {
		return c.explain(err, run)
	}
	hooks, bytes := make([]hookLine, len(rows)), 0
	for i := range rows {
		hooks[i].HookRow = rows[i]
		bytes += len(rows[i].Metadata)
		if is, ok := webhook.Of(&rows[i]); ok {
			hooks[i].Metadata, hooks[i].URL = is.Metadata, is.URL
		}
	}
	switch {
	case c.json:
		enc := c.encoder()
		for i := range hooks {
			if err := enc.Encode(hooks[i]); err != nil {
				return err
			}
		}
	case len(hooks) > 0:
		writeHooks(c.output, hooks)
	}
	switch {
	case c.json:
	case len(hooks) == 0:
		fmt.Fprintf(c.stderr, "no active hooks in %s match\n", c.place())
	case len(hooks) == mostHooks || bytes >= world.PageBytes:
		fmt.Fprintln(c.stderr, "there may be more: --run, --token")
	}
	return nil
}

// hookLine is a hook, and where requests are sent to if it is a webhook.
type hookLine struct {
	world.HookRow
	URL string `json:"url,omitempty"`
}

// metadata is what the table shows of a hook's.
func (h *hookLine) metadata() string {
	if h.Encrypted != "" {
		return "encrypted with key " + h.Encrypted
	}
	return human.Fold(string(h.Metadata), draw.PayloadWidth)
}

func writeHooks(o *output, hooks []hookLine) {
	t := &table{Gap: "  "}
	t.Add(cell{Text: "TOKEN", Tone: dim}, cell{Text: "RUN", Tone: dim}, cell{Text: "AGE", Tone: dim, Right: true}, cell{Text: "METADATA", Tone: dim})
	for _, h := range hooks {
		if h.URL != "" { // it has the token
			t.Add(cell{Text: human.Visible(h.URL)}, cell{Text: h.Run}, cell{Text: human.Age(o.now().Sub(h.CreatedAt)), Right: true},
				cell{Text: h.metadata(), Tone: dim})
			continue
		}
		t.Add(cell{Text: human.Visible(h.Token)}, cell{Text: h.Run}, cell{Text: human.Age(o.now().Sub(h.CreatedAt)), Right: true},
			cell{Text: h.metadata(), Tone: dim})
	}
	t.Write(o.stdout, o.style())
}
