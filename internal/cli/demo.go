package cli

// This file is the demo as a command, on a SQLite file or on PostgreSQL. Package demo has the play.

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/internal/demo"
	"github.com/stepwell/stepwell/world/postgres"
)

func demoCommand(c *cli) *cobra.Command {
	keep := false
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run workflows in a process, kill it in the middle of a step, and watch them continue",
		Long: `Run two workflows on a fresh SQLite file in a worker process, kill that process in the middle of a step (SIGKILL), start
it again, and watch the runs continue where they stopped. No finished step runs twice. It takes a few seconds.

With --db postgres://… it does the same on PostgreSQL, in a schema of its own that it drops at the end. It ignores
STEPWELL_DB.

Exit codes:
  0    everything worked
  1    something failed, and the message says what`,
		Example: `  stepwell demo
  stepwell demo --keep
  stepwell demo --db postgres://postgres@localhost/postgres`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := demo.Options{
				Out: c.stdout, Style: c.style(), Zone: c.zone, Who: c.who, Worker: []string{"demo-worker"}, Keep: keep, NextRun: "stepwell init hello",
				Look: func(url string) string {
					c.setDatabase(url)
					return c.command("runs list")
				},
			}
			if c.json {
				o.JSON = c.encoder()
			}
			var err error
			if o.Stage, err = stageOf(c.named()); err != nil {
				return err
			}
			return demo.Run(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the files or the schema, and print where they are")
	c.jsonFlag(cmd, "write one JSON object for each thing that happens")
	return cmd
}

func demoWorkerCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "demo-worker DIR", Short: "The worker process of the demo", Hidden: true,
		Args: arguments(1, 1, "DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return demo.Work(cmd.Context(), args[0], c.stdin, c.stderr)
		},
	}
}

// stageOf is a new schema of a PostgreSQL database; nil: no database is named, and it is a file.
func stageOf(named string) (*demo.Stage, error) {
	if named == "" {
		return nil, nil
	}
	u, err := url.Parse(named)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, usagef("it creates a SQLite file of its own; use --db only for postgres://user@host/database", "demo: it cannot use that --db")
	}
	schema := "stepwell_demo_" + strings.ToLower(rand.Text()[:8])
	q := u.Query()
	q.Set("stepwell_schema", schema)
	u.RawQuery = q.Encode()
	return &demo.Stage{
		URL: u.String(), What: fmt.Sprintf("PostgreSQL, in the fresh schema %s", schema),
		Limit: 40 * time.Second, // a death is seen by the end of a lease alone
		Drop:  func(ctx context.Context) error { return postgres.Drop(ctx, u.String()) },
	}, nil
}
