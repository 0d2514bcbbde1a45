package cli

// This file tells what input a workflow takes.

import (
	"context"
	"fmt"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/schema"
)

// helpInput prints an input to fill in, which fits as it is, and beside it, for people, what each member takes.
func helpInput(ctx context.Context, c *cli, app *stepwell.App, workflow string, version int) error {
	known, err := app.Schemas(ctx, workflow, version)
	if err != nil {
		return c.explain(err, "")
	}
	switch {
	case known.Version == 0 && version > 0:
		return &fault{exitNotFound, fmt.Errorf("no live worker has version %d of workflow %s, so its input type is unknown", version, workflow), "see the workers:  " + c.command("workers")}
	case known.Version == 0:
		return &fault{exitNotFound, fmt.Errorf("no live worker has workflow %s, so its input type is unknown", workflow), "see the workers:  " + c.command("workers")}
	case known.Input == nil:
		return &fault{exitNotFound, fmt.Errorf("workflow %s, version %d, does not describe its input: its worker is older, or its type is too large", workflow, known.Version), ""}
	case c.json:
		return c.encoder().Encode(known.Input)
	}
	s, err := schema.Parse(known.Input)
	if err != nil {
		return fmt.Errorf("the input type of workflow %s, version %d, cannot be read: %w", workflow, known.Version, err)
	}
	t := &table{Indent: "  ", Gap: "  ", Wrap: true}
	for _, line := range s.Lines() {
		if line.Path == "" {
			line.Path = "input"
		}
		t.Add(cell{Text: line.Path}, cell{Text: line.Accepts})
	}
	fmt.Fprintf(c.stderr, "%s, version %d, takes this input:\n", human.Visible(workflow), known.Version)
	t.Write(c.stderr, c.style())
	_, err = fmt.Fprintln(visibleJSON{c.stdout}, string(s.Skeleton()))
	return err
}
