package cli

// This file brings a database's schema up to date, or shows what would do it.

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/world"
)

// migrated is what --json says of a step of a schema: done, or pending with its SQL.
type migrated struct {
	acted
	Version int    `json:"version"`
	Name    string `json:"name"`
	SQL     string `json:"sql,omitempty"`
}

func migrateCommand(c *cli) *cobra.Command {
	plan := false
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the schema of a database up to date",
		Long: `Bring the schema of a database up to date, and create it if it does not exist. Programs do this when they open the
database, unless you told them not to. Use this command if they lack the rights for it.

Migrations only add to the schema, so programs of the previous release continue to work: migrate first, then deploy. One
process at a time migrates; others wait, and find nothing left to do.

With --plan nothing changes: the command prints the SQL for you to run by hand. Each step is a transaction that also
records that it was applied.

` + exitHelp,
		Example: `  stepwell migrate --db postgres://owner@db.internal/app
  stepwell migrate --plan | psql postgres://owner@db.internal/app`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.forDatabase()
			if err := c.locate(); err != nil {
				return err
			}
			return runMigrate(cmd.Context(), c, plan)
		},
	}
	cmd.Flags().BoolVar(&plan, "plan", false, "change nothing; print the SQL")
	c.jsonFlag(cmd, "write one JSON object per step")
	return cmd
}

func runMigrate(ctx context.Context, c *cli, plan bool) error {
	d, err := world.DriverOf(c.url())
	if err != nil {
		return err
	}
	m, ok := d.(world.Migrator)
	if !ok {
		return usagef(validDB, "%s has no schema", c.place())
	}
	do := m.Migrate
	if plan {
		do = m.Pending
	}
	steps, err := do(ctx, c.url())
	if err != nil {
		return err
	}
	for _, s := range steps {
		is, text := migrated{acted{Action: "migrate", Result: "done"}, s.Version, s.Name, ""}, fmt.Sprintf("%04d %s: done", s.Version, s.Name)
		if plan {
			is.Result, is.SQL = "pending", s.SQL
			text = fmt.Sprintf("-- %04d %s\n%s", s.Version, s.Name, s.SQL)
		}
		if err := c.tell(is, text); err != nil {
			return err
		}
	}
	switch {
	case len(steps) > 0:
	case c.json:
		return c.encoder().Encode(acted{Action: "migrate", Result: "up_to_date"})
	default:
		fmt.Fprintf(c.stderr, "%s is up to date\n", c.place())
	}
	return nil
}
